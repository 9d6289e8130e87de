package console

import (
	"context"
	"fmt"
	"net/http"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/policyset"
	"github.com/openqueue/waitingroom/internal/operate/change"
	"github.com/openqueue/waitingroom/internal/serve"
)

// newLimitEditor returns the editor of policies.
func newLimitEditor(c *Console) *editor[limit.Policy] {
	return &editor[limit.Policy]{
		Console: c, noun: "policy", parameter: "name", folder: limitFolder, home: root + "limits",
		table: change.Policies,
		blank: func(name string) limit.Policy { return limit.Policy{Name: name}.WithDefaults() },
		get:   c.Policies.Get,
		replace: func(ctx context.Context, was, now limit.Policy, by string) error {
			_, _, err := c.Policies.Put(ctx, now, by, serve.Condition{IfMatch: policyset.Version(was)})
			return err
		},
		overtaken: policyset.ErrPrecondition, remove: c.Policies.Delete, version: policyset.Version,
		changes: func(ctx context.Context, name string, most int) ([]entryOf[limit.Policy], error) {
			record, err := c.Policies.Changes(ctx, name, most)
			all := make([]entryOf[limit.Policy], len(record))
			for i, r := range record {
				all[i] = entryOf[limit.Policy]{r.AtMillis, r.Policy, r.By, r.Was, r.Now}
			}
			return all, err
		},
		mostChanges: limit.MaxChanges,
		propose:     proposePolicy, effects: c.policyEffects, loss: change.PolicyLoss,
	}
}

// policyEffects says what a change of a policy does, by what this server has seen of it.
func (c *Console) policyEffects(was, now limit.Policy) change.Says {
	seen, _ := c.Decisions.Stats(was.Name, 0) // nothing of one that is not in force here
	last := recent(seen)
	return change.Policy(was, now, change.Asked{Total: last.Total(), Refused: last.Refused(), Failing: seen.Failing})
}

// proposePolicy reads from a query what a policy is to be set to: its settings, and figures of its rules.
func proposePolicy(r *http.Request, current limit.Policy) (limit.Policy, []string) {
	next, faults := readSettings(change.Policies, r.URL.Query(), "", current.Clone())
	for _, tier := range change.Tiers(next) {
		rules := change.RulesOf(next, tier)
		for i := range rules {
			var more []string
			rules[i], more = readSettings(change.RuleFields(rules[i].Algorithm), r.URL.Query(), rulePrefix(tier, i, rules[i]), rules[i])
			faults = append(faults, more...)
		}
	}
	if len(faults) == 0 {
		if err := next.Validate(); err != nil {
			faults = policyset.Faults(err)
		}
	}
	return next, faults
}

// rulePrefix stands before the names of a rule's fields. The algorithm is in it, so that a form does not set
// the figures of a rule that has taken its place.
func rulePrefix(tier string, i int, r limit.Rule) string {
	return fmt.Sprintf("%s.%d.%s.", tier, i+1, r.Algorithm)
}

// group is a rule's fields in a form.
type group struct {
	// Path is the policy's page.
	Path, Title string
	Fields      []field
}

// groupsOf are the forms of a policy: one for the figures of each rule, and at last one for what is of all rules.
func groupsOf(p limit.Policy) []group {
	var all []group
	path := pathIn(limitFolder)(p.Name)
	for _, tier := range change.Tiers(p) {
		for i, r := range change.RulesOf(p, tier) {
			title := change.AlgorithmWord(r.Algorithm)
			if len(p.Tiers) > 0 {
				title = tier + ": " + title
			}
			all = append(all, group{path, title, fieldsOf(change.RuleFields(r.Algorithm), rulePrefix(tier, i, r), r)})
		}
	}
	return append(all, group{path, "For all of it", fieldsOf(change.Policies, "", p)})
}
