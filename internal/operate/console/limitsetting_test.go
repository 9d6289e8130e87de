package console

import (
	"reflect"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/limits/limit"
)

// TestEveryFigureOfAPolicyIsInTheTable: one that is added to limit.Policy or
// limit.Rule must be shown, or the record would not say that it changed.
func TestEveryFigureOfAPolicyIsInTheTable(t *testing.T) {
	t.Parallel()
	p := limit.Policy{
		Name: "p", Rules: []limit.Rule{{Algorithm: limit.TokenBucket, Limit: 2, WindowSeconds: 3, Burst: 4}},
	}.WithDefaults()
	names := " "
	for _, x := range policyTable(p) {
		names += x.Name + " "
		if x.Label == "" || x.Words(p) == "" || x.At != nil && x.Hint == "" {
			t.Errorf("%s: no label, hint or words", x.Name)
		}
	}
	for f := range reflect.TypeFor[limit.Rule]().Fields() {
		if name := f.Tag.Get("json"); !strings.Contains(names, "default.1.token_bucket."+strings.Split(name, ",")[0]) && name != "algorithm" {
			t.Errorf("a rule's %s is not in %s", name, names)
		}
	}
	for f := range reflect.TypeFor[limit.Policy]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "name" && name != "rules" && name != "tiers" && !strings.Contains(names, " "+name+" ") {
			t.Errorf("a policy's %s is not in %s", name, names)
		}
	}
}

func TestPoliciesOfAnotherShape(t *testing.T) {
	t.Parallel()
	rule := limit.Rule{Algorithm: limit.LeakyBucket, Limit: 10, WindowSeconds: 1, Burst: 5}
	was := limit.Policy{Name: "p", Rules: []limit.Rule{rule}}.WithDefaults()
	now := was.Clone()
	now.Tiers = map[string][]limit.Rule{"pro": {rule, {Algorithm: limit.FixedWindow, Limit: 1, WindowSeconds: 86_400}}}
	table := policyTable(was, now)
	got := differences(table, was, now)
	if len(got) != 1 || got[0].Label != "Rules of pro" || got[0].Was != "none" ||
		got[0].Now != "10 in 1 s, evenly, while 5 wait (leaky bucket), and 1 in each 24 h of the clock (fixed window)" {
		t.Errorf("a tier more: %+v", got)
	}
	current := was.Clone()
	current.OnStoreFailure = limit.FailureOpen
	next, others := merge(policyTable(current, was, now), current.Clone(), was, now)
	if len(others) > 0 || len(next.Tiers["pro"]) != 2 || next.OnStoreFailure != limit.FailureOpen {
		t.Errorf("both: %+v %+v", next, others)
	}
	next.Tiers["pro"][0].Limit = 11
	if now.Tiers["pro"][0].Limit != 10 {
		t.Error("what was merged shares its rules with what it was merged from")
	}
	back, others := merge(policyTable(now, was), now.Clone(), now, was)
	if len(others) > 0 || len(back.Tiers) != 0 || len(now.Tiers) != 1 {
		t.Errorf("the tier is taken away: %+v %+v", back, others)
	}
}
