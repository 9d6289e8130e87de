package limiter

import (
	"math"
	"testing"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limit/local"
)

// TestRemaining: the mean share that clients had left in the last minute, of the rule that leaves
// the least. It is 1 if nobody asked, and answers of failure policies do not count.
func TestRemaining(t *testing.T) {
	t.Parallel()
	l := New(Dependencies{Local: local.New(local.CountersOptions{})})
	rules := []limit.Rule{
		{Algorithm: limit.FixedWindow, Limit: 1000, WindowSeconds: limit.MaxWindowSeconds},
		{Algorithm: limit.FixedWindow, Limit: 10, WindowSeconds: limit.MaxWindowSeconds},
	}
	l.Use(limit.PolicySet{}.Put(limit.Policy{
		Name: "api", Scope: limit.ScopeServer, Rules: rules, Tiers: map[string][]limit.Rule{"idle": rules},
	}))
	is := func(want float64) {
		t.Helper()
		for _, c := range l.Counts() {
			if c.Tier == "idle" {
				if c.Remaining != 1 {
					t.Errorf("nobody asked, and %v is left", c.Remaining)
				}
				continue
			}
			if math.Abs(c.Remaining-want) > 0.001 {
				t.Errorf("%v is left, want %v", c.Remaining, want)
			}
		}
	}
	ask := func(key string, cost int64) {
		t.Helper()
		if _, err := l.Check(t.Context(), Question{Policy: "api", Key: key, Cost: cost}); err != nil {
			t.Fatal(err)
		}
	}
	is(1)
	ask("member:1", 1)
	is(0.9)
	ask("member:1", 1)
	is(0.85)
	ask("ip:203.0.113.9", 10)
	is((0.9 + 0.8 + 0) / 3)
	ask("ip:203.0.113.9", 1) // refused
	is((0.9 + 0.8) / 4)
	ask("ip:203.0.113.9", 1) // from memory
	is((0.9 + 0.8) / 5)
	ask("member:1", 9) // refused, and 8 are left
	is((0.9 + 0.8 + 0.8) / 6)
}

// TestRemainingIsOfAMinute: questions that are older than a minute do not count.
func TestRemainingIsOfAMinute(t *testing.T) {
	t.Parallel()
	l := New(Dependencies{Local: local.New(local.CountersOptions{})})
	l.Use(limit.PolicySet{}.Put(limit.Policy{
		Name: "api", Scope: limit.ScopeServer, Rules: []limit.Rule{{Algorithm: limit.FixedWindow, Limit: 2, WindowSeconds: limit.MaxWindowSeconds}},
	}))
	for range 2 { // a half is left, then nothing
		if _, err := l.Check(t.Context(), Question{Policy: "api", Key: "all"}); err != nil {
			t.Fatal(err)
		}
	}
	for second := range minute {
		l.note()
		if got := l.Counts()[0].Remaining; got != 0.25 {
			t.Fatalf("after %d s %v is left, want a quarter", second+1, got)
		}
	}
	l.note()
	if got := l.Counts()[0].Remaining; got != 1 {
		t.Errorf("a minute after the last question %v is left", got)
	}
}

// TestRefusalsByKind: each refusal is counted by what its client was told apart by.
func TestRefusalsByKind(t *testing.T) {
	t.Parallel()
	l := New(Dependencies{Local: local.New(local.CountersOptions{})})
	l.Use(limit.PolicySet{}.Put(limit.Policy{
		Name: "api", Scope: limit.ScopeServer, Rules: []limit.Rule{{Algorithm: limit.FixedWindow, Limit: 1, WindowSeconds: limit.MaxWindowSeconds}},
	}))
	for key, kind := range map[string]Kind{
		"member:1": Member, "apikey:x": APIKey, "ip:2001:db8::/64": Address, "client:Z/1": ClientID,
		"zone:Z/ip:203.0.113.9": Address, "partner:7": Other, "all": Other, "member": Other,
	} {
		before := l.Refusals()[0].Refused
		for range 3 { // the third is refused from memory
			if _, err := l.Check(t.Context(), Question{Policy: "api", Key: key}); err != nil {
				t.Fatal(err)
			}
		}
		before[kind] += 2
		if got := l.Refusals(); len(got) != 1 || got[0].Policy != "api" || got[0].Refused != before {
			t.Errorf("%s: %v, want %v", key, got, before)
		}
	}
}
