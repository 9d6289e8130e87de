package conformance

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/policyset"
)

// RunPolicies runs the stories of policies, each on an empty store.
func RunPolicies(t *testing.T, open func(t *testing.T, now func() time.Time) policyset.PolicyStore) {
	t.Helper()
	for name, story := range policiesStories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := NewClock()
			story(&policiesFixture{T: t, PolicyStore: open(t, clock.Now), Clock: clock})
		})
	}
}

// policiesFixture is a store of policies under test.
type policiesFixture struct {
	*testing.T
	policyset.PolicyStore
	*Clock
}

func (l *policiesFixture) has(want limit.PolicySet) {
	l.Helper()
	got, err := l.Policies(l.Context())
	if err != nil || !reflect.DeepEqual(got, want) {
		l.Errorf("the set is %+v, %v; want %+v", got, err, want)
	}
}

// puts has a set replace the one that was read, and recorded as somebody's.
func (l *policiesFixture) puts(b, was limit.PolicySet, by string, want error) {
	l.Helper()
	if err := l.PutPolicies(l.Context(), b, was.Version, limit.Changes(was, b, audit.By{Name: by})...); !errors.Is(err, want) {
		l.Errorf("put version %d over %d: %v, want %v", b.Version, was.Version, err, want)
	}
}

func (l *policiesFixture) recorded(want ...limit.Change) {
	l.Helper()
	got, err := l.PolicyChanges(l.Context())
	if err != nil || !reflect.DeepEqual(append([]limit.Change{}, got...), append([]limit.Change{}, want...)) {
		l.Errorf("recorded %+v, %v; want %+v", got, err, want)
	}
}

func policy(name string, perMinute int64) limit.Policy {
	return limit.Policy{
		Name:  name,
		Rules: []limit.Rule{{Algorithm: limit.SlidingLog, Limit: perMinute, WindowSeconds: 60}},
		Tiers: map[string][]limit.Rule{"pro": {{Algorithm: limit.TokenBucket, Limit: 10, WindowSeconds: 1, Burst: 20}}},
	}.WithDefaults()
}

var policiesStories = map[string]func(l *policiesFixture){
	"a set is read as it was written": func(l *policiesFixture) {
		l.has(limit.PolicySet{})
		b := limit.PolicySet{}.Put(policy("a", 1)).Put(policy("b", 2)).Delete("b")
		l.puts(b, limit.PolicySet{}, "Ada", nil)
		l.has(b)
		now := b.Policies[0]
		l.recorded(limit.Change{AtMillis: l.Now().UnixMilli(), Policy: "a", By: audit.By{Name: "Ada"}, Now: &now})
	},

	"of two who change one version, the second is told": func(l *policiesFixture) {
		first := limit.PolicySet{}.Put(policy("a", 1))
		l.puts(first, limit.PolicySet{}, "Ada", nil)
		mine, other := first.Put(policy("b", 1)), first.Put(policy("c", 1))
		l.puts(mine, first, "Ada", nil)
		l.puts(other, first, "Bob", limit.ErrPoliciesChanged)
		l.has(mine)
		l.puts(mine, first, "Ada", nil) // its reply was lost
		if got, _ := l.PolicyChanges(l.Context()); len(got) != 2 {
			l.Errorf("%d changes, want 2", len(got))
		}
	},

	"each change is recorded, with who made it": func(l *policiesFixture) {
		one, two := policy("a", 1), policy("a", 2)
		b := limit.PolicySet{}.Put(one)
		l.puts(b, limit.PolicySet{}, `<Ada "the \ first" O'Hara>, 川口`, nil)
		made := limit.Change{AtMillis: l.Now().UnixMilli(), Policy: "a", By: audit.By{Name: `<Ada "the \ first" O'Hara>, 川口`}, Now: &one}
		l.Add(time.Second)
		next := b.Put(two)
		l.puts(next, b, "", nil)
		changed := limit.Change{AtMillis: l.Now().UnixMilli(), Policy: "a", Was: &one, Now: &two}
		l.Add(time.Second)
		l.puts(next.Delete("a"), next, "Bob", nil)
		gone := limit.Change{AtMillis: l.Now().UnixMilli(), Policy: "a", By: audit.By{Name: "Bob"}, Was: &two}
		l.recorded(gone, changed, made)
	},

	"a set that was lost is put back without a record": func(l *policiesFixture) {
		old := limit.PolicySet{}.Put(policy("a", 1))
		newer := old.Put(policy("a", 2))
		for range 2 { // the second time, since the reply was lost
			if err := l.PutPolicies(l.Context(), newer, 0); err != nil {
				l.Errorf("put back: %v", err)
			}
		}
		l.puts(old, limit.PolicySet{}, "Ada", limit.ErrPoliciesChanged)
		l.has(newer)
		l.recorded()
	},

	"what a newer server has put is kept, and can be taken out": func(l *policiesFixture) {
		one, two := policy("a", 1), policy("b", 1)
		one.Rules[0].Algorithm, two.Scope = "quantum", "galaxy"
		b := limit.PolicySet{}.Put(one).Put(two)
		l.puts(b, limit.PolicySet{}, "", nil)
		l.has(b)
		l.puts(b.Delete("a"), b, "", nil)
		l.has(b.Delete("a"))
	},
}
