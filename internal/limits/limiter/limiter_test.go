package limiter

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/openqueue/waitingroom/internal/limits/limit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func perMinute(n int64) []limit.Rule {
	return []limit.Rule{{Algorithm: limit.SlidingLog, Limit: n, WindowSeconds: 60}}
}

func bookOf(policies ...limit.Policy) limit.PolicySet {
	var b limit.PolicySet
	for _, p := range policies {
		b = b.Put(p)
	}
	return b
}

// world is a Limiter over two stores that the test can break.
type world struct {
	*Limiter
	shared, local *counting
}

func newWorld(t *testing.T, servers int64, policies ...limit.Policy) world {
	t.Helper()
	w := world{shared: newCounting(time.Now), local: newCounting(time.Now)}
	w.Limiter = New(Dependencies{Store: w.shared, Local: w.local, Servers: servers})
	w.Use(bookOf(policies...))
	w.Start(t.Context())
	t.Cleanup(w.Stop)
	return w
}

// pass lets time pass. In the synctest bubble that takes no real time.
func pass(d time.Duration) { <-time.After(d) }

func (w world) ask(t *testing.T, q Question) Answer {
	t.Helper()
	a, err := w.Check(t.Context(), q)
	if err != nil {
		t.Fatalf("Check(%+v): %v", q, err)
	}
	return a
}

func TestBadQuestionsAskNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, limit.Policy{
			Name:  "p",
			Rules: []limit.Rule{{Algorithm: limit.TokenBucket, Limit: 10, Burst: 3, WindowSeconds: 1}},
			Tiers: map[string][]limit.Rule{"pro": perMinute(5)},
		})
		for _, tt := range []struct {
			name string
			ask  Question
			want error
		}{
			{"no policy", Question{Policy: "q", Key: "k"}, ErrPolicyUnknown},
			{"no key", Question{Policy: "p"}, ErrKey},
			{"long key", Question{Policy: "p", Key: strings.Repeat("k", MaxKey+1)}, ErrKey},
			{"negative cost", Question{Policy: "p", Key: "k", Cost: -1}, ErrCost},
			{"more than a bucket holds", Question{Policy: "p", Key: "k", Cost: 4}, ErrCost},
			{"more than the tier has", Question{Policy: "p", Key: "k", Tier: "pro", Cost: 6}, ErrCost},
		} {
			if _, err := w.Check(t.Context(), tt.ask); !errors.Is(err, tt.want) {
				t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
			}
		}
		if n := w.shared.asked(); n != 0 {
			t.Errorf("the store was asked %d times", n)
		}
	})
}

func TestTiersCountForThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, limit.Policy{Name: "p", Rules: perMinute(1), Tiers: map[string][]limit.Rule{"pro": perMinute(2)}})
		for i, tt := range []struct {
			tier, is string
			allowed  bool
		}{
			{"", limit.DefaultTier, true},
			{"nobody", limit.DefaultTier, false},
			{"pro", "pro", true},
			{"pro", "pro", true},
			{"pro", "pro", false},
		} {
			a := w.ask(t, Question{Policy: "p", Key: "k", Tier: tt.tier})
			if a.Tier != tt.is || a.Allowed != tt.allowed {
				t.Errorf("question %d: tier %q, allowed %t; want %q, %t", i, a.Tier, a.Allowed, tt.is, tt.allowed)
			}
		}
	})
}

func TestRefusalsAreRememberedUntilTheExactTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, limit.Policy{Name: "p", Rules: perMinute(1)})
		q := Question{Policy: "p", Key: "k"}
		w.ask(t, q)
		pass(10 * time.Second)
		if a := w.ask(t, q); a.Allowed || a.Source != SourceStore || a.RetryMillis != 50_000 {
			t.Fatalf("second: %+v", a)
		}
		pass(50*time.Second - time.Millisecond)
		if a := w.ask(t, q); a.Allowed || a.Source != SourceMemory || a.RetryMillis != 1 {
			t.Fatalf("a millisecond before: %+v", a)
		}
		if n := w.shared.asked(); n != 2 {
			t.Errorf("the store was asked %d times, want 2", n)
		}
		pass(time.Millisecond)
		if a := w.ask(t, q); !a.Allowed || a.Source != SourceStore {
			t.Fatalf("at the time: %+v", a)
		}
	})
}

func TestASmallerCostIsNotKnownToBeRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, limit.Policy{Name: "p", Rules: perMinute(3)})
		w.ask(t, Question{Policy: "p", Key: "k", Cost: 2})
		if a := w.ask(t, Question{Policy: "p", Key: "k", Cost: 2}); a.Allowed {
			t.Fatalf("2 of 1: %+v", a)
		}
		if a := w.ask(t, Question{Policy: "p", Key: "k", Cost: 3}); a.Source != SourceMemory {
			t.Errorf("more than what was refused: %+v", a)
		}
		if a := w.ask(t, Question{Policy: "p", Key: "k"}); !a.Allowed {
			t.Errorf("less than what was refused: %+v", a)
		}
	})
}

func TestARaisedLimitIsObeyedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, other := limit.Policy{Name: "p", Rules: perMinute(1)}, limit.Policy{Name: "q", Rules: perMinute(1)}
		w := newWorld(t, 1, p, other)
		for _, name := range []string{"p", "p", "q", "q"} {
			w.ask(t, Question{Policy: name, Key: "k"})
		}
		p.Rules = perMinute(2)
		w.Use(bookOf(p, other))
		if a := w.ask(t, Question{Policy: "p", Key: "k"}); !a.Allowed {
			t.Errorf("raised: %+v", a)
		}
		if a := w.ask(t, Question{Policy: "q", Key: "k"}); a.Source != SourceMemory {
			t.Errorf("the other was forgotten: %+v", a)
		}
	})
}

func TestScopeServerAsksNoStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 4, limit.Policy{Name: "p", Scope: limit.ScopeServer, Rules: perMinute(2)})
		q := Question{Policy: "p", Key: "k"}
		for _, want := range []bool{true, true, false} {
			if a := w.ask(t, q); a.Allowed != want || a.Source != SourceLocal {
				t.Errorf("%+v, want allowed %t", a, want)
			}
		}
		if a := w.ask(t, q); a.Source != SourceMemory {
			t.Errorf("%+v, want it from memory", a)
		}
		if w.shared.asked() != 0 {
			t.Error("the shared store was asked")
		}
		if c := w.Counts(); c[0].Counts != (Counts{Allowed: 2, Refused: 1, RefusedFromMemory: 1}) {
			t.Errorf("counts: %+v", c)
		}
	})
}

func TestACancelledRequestIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, limit.Policy{Name: "p", Rules: perMinute(1)})
		w.shared.hangs = true
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if _, err := w.Check(ctx, Question{Policy: "p", Key: "k"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Check: %v", err)
		}
		if w.Failing() != 0 {
			t.Error("the partition fails")
		}
		// A client who has waited for long enough makes the partition fail.
		ctx, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := w.Check(ctx, Question{Policy: "p", Key: "k"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Check: %v", err)
		}
		if w.Failing() != 1 {
			t.Error("the partition does not fail")
		}
	})
}

// TestCountsOutliveAChange: what was counted of a policy goes on when the policy is changed, but for tiers that it has no
// more.
func TestCountsOutliveAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		was := limit.Policy{Name: "p", Rules: perMinute(4), Tiers: map[string][]limit.Rule{"pro": perMinute(9)}}
		w := newWorld(t, 1, was)
		w.ask(t, Question{Policy: "p", Key: "k"})
		w.ask(t, Question{Policy: "p", Key: "k", Tier: "pro"})
		w.Use(bookOf(limit.Policy{Name: "p", Rules: perMinute(5)}))
		if c := w.Counts(); len(c) != 1 || c[0].Counts != (Counts{Allowed: 1}) {
			t.Errorf("without the tier: %+v", c)
		}
		w.Use(bookOf(was))
		if c := w.Counts(); len(c) != 2 || c[0].Counts != (Counts{Allowed: 1}) || c[1].Counts != (Counts{}) {
			t.Errorf("with the tier again: %+v", c)
		}
	})
}

// TestAScaledRefusalIsRemembered: once memory knows it, the store is not asked.
func TestAScaledRefusalIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, limit.Policy{Name: "p", Rules: perMinute(1)})
		q := Question{Policy: "p", Key: "k", Scale: &limit.Scale{By: 2, Of: 1, Least: 1, Most: 9}}
		for _, want := range []Source{SourceStore, SourceStore, SourceStore, SourceMemory} {
			if a := w.ask(t, q); a.Source != want {
				t.Errorf("%+v, want it from %s", a, want)
			}
		}
	})
}

// TestCheckAll: a request that has to be allowed by several policies asks the store about all of them at once.
func TestCheckAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, limit.Policy{Name: "p", Rules: perMinute(2)}, limit.Policy{Name: "q", Rules: perMinute(3)})
		w.shared.delay = 100 * time.Millisecond
		p, q := Question{Policy: "p", Key: "a"}, Question{Policy: "q", Key: "a"}
		for i, want := range []struct {
			policy  string
			allowed bool
			source  Source
			asked   int
			took    time.Duration
		}{
			{"q", true, SourceStore, 2, 100 * time.Millisecond},
			{"q", true, SourceStore, 4, 100 * time.Millisecond},
			{"p", false, SourceStore, 6, 100 * time.Millisecond}, // which takes the last permit of q
			{"p", false, SourceMemory, 6, 0},
		} {
			began := time.Now()
			a, err := w.CheckAll(t.Context(), p, Question{Policy: "none", Key: "a"}, q)
			if took := time.Since(began); err != nil || a.Policy != want.policy || a.Allowed != want.allowed || a.Source != want.source ||
				w.shared.asked() != want.asked || took != want.took {
				t.Errorf("%d: %+v, %v, after %v; the store was asked %d times; want %+v", i, a, err, took, w.shared.asked(), want)
			}
		}
		if a, err := w.CheckAll(t.Context()); err != nil || !a.Allowed {
			t.Errorf("nothing asked: %+v, %v", a, err)
		}
		if _, err := w.CheckAll(t.Context(), q, Question{Policy: "p"}); !errors.Is(err, ErrKey) {
			t.Errorf("a malformed key: %v", err)
		}
	})
}
