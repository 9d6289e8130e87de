package policyset

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve"
)

func rule(n int64) []limit.Rule {
	return []limit.Rule{{Algorithm: limit.SlidingLog, Limit: n, WindowSeconds: 60}}
}

func policy(name string, n int64) limit.Policy {
	return limit.Policy{Name: name, Rules: rule(n)}.WithDefaults()
}

// server is a Set, and the policies that its limiter got last.
type server struct {
	*Set
	used limit.PolicySet
}

func newServer(s line.Keeper, seeds ...limit.Policy) *server {
	out := &server{}
	out.Set = New(SetOptions{Store: s, Seeds: seeds, Use: func(b limit.PolicySet) { out.used = b }})
	return out
}

func (s *server) puts(t *testing.T, p limit.Policy, only serve.Condition) {
	t.Helper()
	if _, _, err := s.Put(t.Context(), p, audit.By{Name: "Ada"}, only); err != nil {
		t.Fatal(err)
	}
}

// has checks that these policies are in force, each given as "name limit".
func (s *server) has(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for _, p := range s.used.Policies {
		got = append(got, fmt.Sprint(p.Name, " ", p.Rules[0].Limit))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("in force: %v, want %v", got, want)
	}
}

// TestAChangeIsInForceEverywhereWithinASecond: on a server that nobody tells of it.
func TestAChangeIsInForceEverywhereWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := parts.OpenStore(t, time.Now, nil)
		one, two := newServer(store), newServer(store)
		two.Start(t.Context())
		defer two.Stop()
		synctest.Wait()
		one.puts(t, policy("a", 1), serve.Condition{})
		<-time.After(time.Second)
		synctest.Wait()
		two.has(t, "a 1")
	})
}

func TestAChangeIsSeenByTheOthers(t *testing.T) {
	t.Parallel()
	store := parts.OpenStore(t, time.Now, nil)
	one, two := newServer(store), newServer(store)
	one.puts(t, policy("a", 1), serve.Condition{})
	one.has(t, "a 1")
	two.runOnce(t.Context())
	two.has(t, "a 1")
	two.puts(t, policy("a", 2), serve.Condition{})
	one.runOnce(t.Context())
	one.has(t, "a 2")
	parts.Must(t, one.Delete(t.Context(), "a", audit.By{Name: "Bob"}, serve.Condition{}))
	two.runOnce(t.Context())
	two.has(t)
	if err := two.Delete(t.Context(), "a", audit.By{Name: "Bob"}, serve.Condition{}); !errors.Is(err, ErrUnknown) {
		t.Errorf("deleted twice: %v", err)
	}
	changes, err := two.Changes(t.Context(), "a", 10)
	if err != nil || len(changes) != 3 || changes[0].Name != "Bob" || changes[0].Now != nil || changes[2].Was != nil {
		t.Errorf("%+v, %v", changes, err)
	}
}

func TestSeedsAreMadeWhenAbsent(t *testing.T) {
	t.Parallel()
	store := parts.OpenStore(t, time.Now, nil)
	one := newServer(store, policy("a", 1), policy("b", 1))
	one.has(t, "a 1", "b 1") // before the store was asked
	one.runOnce(t.Context())
	one.puts(t, policy("a", 7), serve.Condition{})
	parts.Must(t, one.Delete(t.Context(), "b", audit.By{}, serve.Condition{}))
	again := newServer(store, policy("a", 1), policy("b", 1), policy("c", 1))
	again.runOnce(t.Context())
	again.has(t, "a 7", "c 1")
	changes, err := again.Changes(t.Context(), "c", 10)
	if err != nil || len(changes) != 1 || changes[0].Name != "QUEUE_CONFIG" {
		t.Errorf("%+v, %v", changes, err)
	}
}

func TestWhatIsRememberedStaysInForce(t *testing.T) {
	t.Parallel()
	store := parts.OpenStore(t, time.Now, nil)
	one := newServer(store, policy("a", 1))
	store.Fail(line.ErrStoreUnavailable)
	one.runOnce(t.Context())
	one.has(t, "a 1")
	if _, _, err := one.Put(t.Context(), policy("a", 2), audit.By{}, serve.Condition{}); !errors.Is(err, line.ErrStoreUnavailable) {
		t.Errorf("put: %v", err)
	}
	if p, err := one.Get(t.Context(), "a"); err != nil || p.Rules[0].Limit != 1 {
		t.Errorf("get: %+v, %v", p, err)
	}
	store.Fail(nil)
	one.runOnce(t.Context())
	one.has(t, "a 1")
}

func TestTheNewestVersionIsPutBack(t *testing.T) {
	t.Parallel()
	store := parts.OpenStore(t, time.Now, nil)
	old, newer := newServer(store, policy("a", 1)), newServer(store, policy("a", 1))
	old.runOnce(t.Context())
	newer.runOnce(t.Context())
	newer.puts(t, policy("a", 2), serve.Condition{})
	store.Store = parts.OpenStore(t, time.Now, nil).Store
	old.runOnce(t.Context()) // old has not seen the change
	old.has(t, "a 1")
	newer.runOnce(t.Context())
	newer.has(t, "a 2")
	old.runOnce(t.Context())
	old.has(t, "a 2")
	if changes, _ := old.Changes(t.Context(), "", 10); len(changes) != 0 {
		t.Errorf("putting back is recorded as a change: %+v", changes)
	}
}

func TestConditions(t *testing.T) {
	t.Parallel()
	store := parts.OpenStore(t, time.Now, nil)
	one, two := newServer(store), newServer(store)
	one.puts(t, policy("a", 1), serve.Condition{IfNoneMatch: "*"})
	seen := serve.Condition{IfMatch: Version(policy("a", 1))}
	two.puts(t, policy("a", 2), seen)
	for name, err := range map[string]error{
		"put": func() error { _, _, err := one.Put(t.Context(), policy("a", 3), audit.By{}, seen); return err }(),
		"make": func() error {
			_, _, err := one.Put(t.Context(), policy("a", 3), audit.By{}, serve.Condition{IfNoneMatch: "*"})
			return err
		}(),
		"delete": one.Delete(t.Context(), "a", audit.By{}, seen),
		"absent": one.Delete(t.Context(), "b", audit.By{}, seen),
	} {
		if !errors.Is(err, ErrPrecondition) {
			t.Errorf("%s: %v", name, err)
		}
	}
	one.has(t, "a 2")
}

// If two operators have seen the same version, the second change is refused, even if the first
// one is made while the second one is under way.
func TestAConditionIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	store := parts.OpenStore(t, time.Now, nil)
	one, two := newServer(store), newServer(store)
	one.puts(t, policy("a", 1), serve.Condition{})
	seen := serve.Condition{IfMatch: Version(policy("a", 1))}
	first := func(do func()) {
		store.Do(func(_ context.Context, call string) error {
			if call == "put_document" {
				store.Do(nil)
				do()
			}
			return nil
		})
	}
	first(func() { two.puts(t, policy("a", 2), seen) })
	if _, _, err := one.Put(t.Context(), policy("a", 3), audit.By{}, seen); !errors.Is(err, ErrPrecondition) {
		t.Errorf("put: %v", err)
	}
	// A change of another policy does not matter.
	first(func() { two.puts(t, policy("b", 1), serve.Condition{}) })
	one.puts(t, policy("a", 3), serve.Condition{IfMatch: Version(policy("a", 2))})
	one.has(t, "a 3", "b 1")
}

func TestThereIsAMost(t *testing.T) {
	t.Parallel()
	kept := parts.OpenStore(t, time.Now, nil)
	one := newServer(kept)
	b := limit.PolicySet{}
	for i := range limit.MaxPolicies {
		b = b.Put(policy(fmt.Sprint("p", i), 1))
	}
	parts.Must(t, Replace(t.Context(), kept.Store, b, 0))
	_, _, err := one.Put(t.Context(), policy("one-more", 1), audit.By{}, serve.Condition{})
	if list, ok := errors.AsType[*serve.InvalidError](err); !ok {
		t.Errorf("put: %v", err)
	} else if len(list.Faults) != 1 {
		t.Errorf("faults: %q", list.Faults)
	}
	one.puts(t, policy("p1", 2), serve.Condition{})
}

// TestAPolicyOfANewerServer: a policy that this version cannot use is not in force, and all
// others are.
func TestAPolicyOfANewerServer(t *testing.T) {
	t.Parallel()
	newer := policy("newer", 1)
	newer.Rules[0].Algorithm = "quantum"
	empty := policy("empty", 1)
	empty.Tiers = map[string][]limit.Rule{"pro": nil}
	b := limit.PolicySet{Version: 7, Policies: []limit.Policy{policy("api", 5), empty, newer}}
	kept := parts.OpenStore(t, time.Now, nil)
	parts.Must(t, Replace(t.Context(), kept, b, 0))
	if got, err := Stored(t.Context(), kept); err != nil || !reflect.DeepEqual(got, b) {
		t.Errorf("the store has %+v, %v; want %+v", got, err, b)
	}
	s := newServer(kept)
	s.runOnce(t.Context())
	if n := len(s.used.Policies); n != 1 || s.used.Policies[0].Name != "api" {
		t.Errorf("in force: %v", s.used.Policies)
	}
	if _, ok := s.Find("newer"); !ok {
		t.Error("forgotten, and so lost when the store loses it")
	}
}
