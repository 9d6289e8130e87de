package console

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/setting"
)

// policySetting is a setting of a policy.
type policySetting = setting.Setting[limit.Policy]

// policyTable is what differs between policies that have the same rules but for
// their figures: each figure. Where one has other tiers, rules or algorithms, all
// rules of a tier are one setting.
func policyTable(all ...limit.Policy) table[limit.Policy] {
	var rows table[limit.Policy]
	if len(all) > 0 && alike(all) {
		for _, tier := range tierNames(all[0]) {
			for i := range rulesIn(&all[0], tier) {
				rows = append(rows, ruleSettings(all[0], tier, i)...)
			}
		}
	} else {
		for _, tier := range tierNames(all...) {
			rows = append(rows, policySetting{
				Name: "tier." + tier, Label: tierLabel(tier),
				Copy: func(to *limit.Policy, from limit.Policy) { setRules(to, tier, rulesIn(&from, tier)) },
				Say:  func(p limit.Policy) string { return cmp.Or(exactly(rulesIn(&p, tier)), "none") },
			})
		}
	}
	return append(rows, policySettings...)
}

// policySettings are those besides the rules.
var policySettings = []policySetting{
	{
		Name: "onStoreFailure", Label: "When the store is away",
		Hint:    "Local has each server allow its share of the limit; open lets all through; closed refuses all.",
		Choices: []setting.Choice{{Value: "local", Label: "local: each server its share"}, {Value: "open", Label: "open: let all through"}, {Value: "closed", Label: "closed: refuse all"}},
		At:      func(p *limit.Policy) any { return (*string)(&p.OnStoreFailure) },
		Say:     func(p limit.Policy) string { return string(p.OnStoreFailure) },
	},
	{
		Name: "scope", Label: "Counted", Hint: "Shared counts for all servers together; server has each count for itself, without the store.",
		Choices: []setting.Choice{{Value: "shared", Label: "shared: by the store"}, {Value: "server", Label: "server: each for itself"}},
		At:      func(p *limit.Policy) any { return (*string)(&p.Scope) },
		Say:     func(p limit.Policy) string { return string(p.Scope) },
	},
	{
		Name: "key", Label: "Told apart by",
		Copy: func(to *limit.Policy, from limit.Policy) { to.Key = slices.Clone(from.Key) },
		Say:  func(p limit.Policy) string { return keyWord(p.Key) },
	},
}

// ruleSettings are the figures of one rule. The algorithm is in their names, so
// that a form does not set those of a rule that has taken its place.
func ruleSettings(p limit.Policy, tier string, i int) []policySetting {
	rules := rulesIn(&p, tier)
	r := rules[i]
	of := ""
	if len(rules) > 1 {
		of = fmt.Sprintf(" of rule %d", i+1)
	}
	if tier != limit.DefaultTier {
		of += ", " + tier
	}
	one := func(name, label, hint string, least, most int64, at func(*limit.Rule) *int64, word func(int64) string) policySetting {
		number := func(p *limit.Policy) *int64 { return at(&rulesIn(p, tier)[i]) }
		return policySetting{
			Name: fmt.Sprintf("%s.%d.%s.%s", tier, i+1, r.Algorithm, name), Label: label + of, Hint: hint,
			Least: least, Most: most, At: func(p *limit.Policy) any { return number(p) }, Say: func(p limit.Policy) string { return word(*number(&p)) },
		}
	}
	most := r.Algorithm.MaxLimit()
	all := []policySetting{
		one("limit", "Limit", fmt.Sprintf("How many in a window, 1 to %s.", count(most)), 1, most,
			func(r *limit.Rule) *int64 { return &r.Limit }, count),
		one("windowSeconds", "Window", "Seconds, 1 to 86,400. Another one begins all counts anew.", 1, limit.MaxWindowSeconds,
			func(r *limit.Rule) *int64 { return &r.WindowSeconds }, length),
	}
	if r.Algorithm.HasBurst() {
		hint := "How many at once after a quiet while. 0: as many as the limit."
		if r.Algorithm == limit.LeakyBucket {
			hint = "How many may wait for their turn. 0: nobody."
		}
		all = append(all, one("burst", "Burst", hint, 0, limit.MaxLimit, func(r *limit.Rule) *int64 { return &r.Burst }, count))
	}
	return all
}

// group is a rule's fields in a form.
type group struct {
	// Path is the policy's page.
	Path, Title string
	Fields      []field
}

// groupsOf are the figures of a policy that forms set, rule by rule, and at last
// what is of all rules.
func groupsOf(p limit.Policy) []group {
	var all []group
	path := pathIn(limitFolder)(p.Name)
	for _, tier := range tierNames(p) {
		for i, r := range rulesIn(&p, tier) {
			title := algorithmWord(r.Algorithm)
			if len(p.Tiers) > 0 {
				title = tier + ": " + title
			}
			all = append(all, group{path, title, fieldsOf(ruleSettings(p, tier, i), p)})
		}
	}
	forms := slices.DeleteFunc(slices.Clone(policySettings), func(x policySetting) bool { return x.At == nil })
	return append(all, group{path, "For all of it", fieldsOf(forms, p)})
}

// alike reports whether policies have the same rules but for their figures.
func alike(all []limit.Policy) bool {
	same := func(a, b []limit.Rule) bool {
		return slices.EqualFunc(a, b, func(a, b limit.Rule) bool { return a.Algorithm == b.Algorithm })
	}
	return !slices.ContainsFunc(all, func(p limit.Policy) bool {
		return !same(p.Rules, all[0].Rules) || !maps.EqualFunc(p.Tiers, all[0].Tiers, same)
	})
}

// tierNames are those of any of the policies, the default one first.
func tierNames(all ...limit.Policy) []string {
	tiers := map[string][]limit.Rule{}
	for _, p := range all {
		maps.Copy(tiers, p.Tiers)
	}
	return append([]string{limit.DefaultTier}, slices.Sorted(maps.Keys(tiers))...)
}

func tierLabel(tier string) string {
	if tier == limit.DefaultTier {
		return "Rules"
	}
	return "Rules of " + tier
}

// rulesIn are a tier's rules; none for one that the policy does not have.
func rulesIn(p *limit.Policy, tier string) []limit.Rule {
	if tier == limit.DefaultTier {
		return p.Rules
	}
	return p.Tiers[tier]
}

func setRules(p *limit.Policy, tier string, rules []limit.Rule) {
	switch {
	case tier == limit.DefaultTier:
		p.Rules = slices.Clone(rules)
	case len(rules) == 0:
		delete(p.Tiers, tier)
	default:
		if p.Tiers == nil {
			p.Tiers = map[string][]limit.Rule{}
		}
		p.Tiers[tier] = slices.Clone(rules)
	}
}

// exactly says all of rules: they differ if this does.
func exactly(rules []limit.Rule) string {
	return joined(rules, ", and ", func(r limit.Rule) string { return fmt.Sprintf("%s (%s)", ruleWord(r), algorithmWord(r.Algorithm)) })
}

func keyWord(key []limit.Source) string {
	return joined(key, ", else ", func(k limit.Source) string {
		switch k {
		case limit.SourceAPIKey:
			return "API key"
		case limit.SourceJWT:
			return "claim of a token"
		default:
			return "address"
		}
	})
}
