package console

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/policyset"
	"github.com/openqueue/waitingroom/internal/serve"
)

// newLimitEditor returns the editor of policies.
func newLimitEditor(c *Console) *editor[limit.Policy] {
	return &editor[limit.Policy]{
		Console: c, noun: "policy", parameter: "name", folder: limitFolder, home: root + "limits",
		now: func(_ context.Context, name string) (limit.Policy, error) {
			p, ok := c.Policies.Find(name)
			if !ok {
				return p, policyset.ErrUnknown
			}
			return p, nil
		},
		frame: c.policyFrame, table: policyTable, clone: limit.Policy.Clone,
		blank: func(name string) limit.Policy { return limit.Policy{Name: name}.WithDefaults() },
		get:   c.Policies.Get,
		replace: func(ctx context.Context, was, now limit.Policy, by string) error {
			_, _, err := c.Policies.Put(ctx, now, by, serve.Condition{IfMatch: policyset.Version(was)})
			return err
		},
		overtaken: policyset.ErrPrecondition, remove: c.Policies.Delete, version: policyset.Version,
		changes: func(ctx context.Context, name string, most int) ([]change[limit.Policy], error) {
			record, err := c.Policies.Changes(ctx, name, most)
			all := make([]change[limit.Policy], len(record))
			for i, r := range record {
				all[i] = change[limit.Policy]{r.AtMillis, r.Policy, r.By, r.Was, r.Now}
			}
			return all, err
		},
		mostChanges: limit.MaxChanges,
		propose:     proposePolicy, title: policyTitle, effects: c.policyEffects, loss: policyLoss,
		expand: func(_, _ limit.Policy, all []difference) []difference { return all },
	}
}

// proposePolicy reads from a query what a policy is to be set to.
func proposePolicy(r *http.Request, current limit.Policy) (limit.Policy, []string) {
	next, faults := readSettings(policyTable(current), r.URL.Query(), "", current)
	if len(faults) == 0 {
		if err := next.Validate(); err != nil {
			faults = policyset.Faults(err)
		}
	}
	return next, faults
}

func policyTitle(name string, _, now limit.Policy, diffs []difference) (title, button string) {
	if len(diffs) > 1 {
		return fmt.Sprintf("Change %d settings of %s?", len(diffs), name), "Change them"
	}
	if diffs[0].Name == "onStoreFailure" {
		return fmt.Sprintf("Set %s to %s while the store is away?", name, now.OnStoreFailure), "Set it"
	}
	return fmt.Sprintf("Set %s of %s to %s?", strings.ToLower(diffs[0].Label), name, diffs[0].Now), "Set it"
}

// policyLoss says what is lost with a policy.
func policyLoss(p limit.Policy) []say {
	return []say{
		{Warn: true, Text: "Nobody is limited by " + p.Name + " any more: the waiting room's own door lets everybody pass, " +
			"and services that ask for it are told that there is no such policy."},
		{Text: "It is not made again from the configuration. The record of changes keeps what it was."},
	}
}

// policyEffects says what a change of a policy will do.
func (c *Console) policyEffects(was, now limit.Policy) []say {
	var all says
	seen, err := c.Decisions.Stats(was.Name, 0)
	for _, tier := range tierNames(now) {
		before, rules := rulesIn(&was, tier), rulesIn(&now, tier)
		for i := range min(len(before), len(rules)) {
			if before[i] != rules[i] {
				all.rule(tier, before[i], rules[i])
			}
		}
	}
	if text := fitted(now); text != "" && len(all) > 0 {
		all.add("%s", text)
	}
	if now.Scope != was.Scope {
		all.warn("All counts begin anew: who has used up the limit may take all of it once more.")
	}
	if now.Scope != was.Scope && now.Scope == limit.ScopeServer {
		all.warn("Each server counts for itself: n servers together allow n times the limit.")
	}
	if now.OnStoreFailure != was.OnStoreFailure {
		_, away := awayWords(now)
		sentence := "While the store is away: " + strings.ToLower(away[:1]) + away[1:]
		if err == nil && seen.Failing > 0 {
			all.warn("%s It is away just now, for %d of its %d partitions. If it keeps this change, it holds there at once; "+
				"if not, the page says so, and all stays as it is.", sentence, seen.Failing, limit.Partitions)
		} else {
			all.add("%s", sentence)
		}
	}
	if last := recent(seen); err == nil && last.Total() > 0 {
		all.add("As it is now, %s of %s were refused in the last minute on this server, %s.",
			number(last.Refused()), number(last.Total()), percent(share(last)))
	}
	all.add("All servers go by it within a second. What they remember to be refused is asked anew.")
	return all
}

// rule says what other figures of a rule do.
func (s *says) rule(tier string, was, now limit.Rule) {
	who := "A client"
	if tier != limit.DefaultTier {
		who = "A client of " + tier
	}
	s.add("%s may take %s.", who, ruleWord(now))
	if now.WindowSeconds != was.WindowSeconds {
		s.warn("Another window begins the counts anew: who has used up the limit may take all of it once more.")
	}
	rate := func(r limit.Rule) float64 { return float64(r.Limit) / float64(r.WindowSeconds) }
	switch times := rate(now) / rate(was); {
	case times >= 2:
		s.warn("That is %.1f times as many as now. Be sure that what is behind can take it.", times)
	case times < 1 && now.WindowSeconds == was.WindowSeconds:
		s.add("What was taken counts: who has taken more than that is refused until enough of it is past.")
	}
}
