package lua

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/openqueue/waitingroom/internal/check/process"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/policyset"
	"github.com/openqueue/waitingroom/internal/serve"
)

// bookServer is the policies of one server, as its limiter goes by them.
type bookServer struct {
	*policyset.Set
	uses atomic.Pointer[limit.PolicySet]
}

func newBookServer(t *testing.T, url, prefix string, seeds ...limit.Policy) *bookServer {
	t.Helper()
	s := openPatient(t, url, nil)
	s.prefix = prefix
	out := &bookServer{}
	out.Set = policyset.New(policyset.SetOptions{Store: s, Seeds: seeds, Use: func(b limit.PolicySet) { out.uses.Store(&b) }})
	out.Start(t.Context())
	t.Cleanup(func() {
		out.Stop()
		s.close(t)
	})
	return out
}

// obeys waits until the policy has that limit on this server.
func (s *bookServer) obeys(t *testing.T, name string, want int64) {
	t.Helper()
	var p limit.Policy
	if !process.Soon(t.Context(), patient, process.LookEvery, func() bool {
		p, _ = s.uses.Load().Find(name)
		return len(p.Rules) == 1 && p.Rules[0].Limit == want || len(p.Rules) == 0 && want == 0
	}) {
		t.Fatalf("policy %s is %+v, want a limit of %d", name, p, want)
	}
}

func aPolicy(name string, n int64) limit.Policy {
	return limit.Policy{Name: name, Rules: []limit.Rule{{Algorithm: limit.FixedWindow, Limit: n, WindowSeconds: 60}}}
}

// TestTwoServersObeyOneBook: a change is in force on both, and what Redis lost comes
// back, the newest version of it.
func TestTwoServersObeyOneBook(t *testing.T) {
	t.Parallel()
	redis := openStore(t, nil)
	url := redisServer.address(t)
	one := newBookServer(t, url, redis.prefix, aPolicy("seed", 7))
	two := newBookServer(t, url, redis.prefix, aPolicy("seed", 7))
	two.obeys(t, "seed", 7)
	change := func(by *bookServer, p limit.Policy) {
		t.Helper()
		if _, _, err := by.Put(t.Context(), p, "Ada", serve.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	change(one, aPolicy("a", 5))
	one.obeys(t, "a", 5)
	two.obeys(t, "a", 5)

	redis.forgetAll(t)
	if p, err := two.Get(t.Context(), "a"); err != nil || p.Rules[0].Limit != 5 {
		t.Errorf("after a loss: %+v, %v", p, err)
	}
	change(two, aPolicy("a", 10))
	one.obeys(t, "a", 10)
	redis.forgetAll(t)
	third := newBookServer(t, url, redis.prefix, aPolicy("seed", 7)) // which knows the seed alone
	third.obeys(t, "a", 10)
	if b, err := redis.Policies(t.Context()); err != nil || fmt.Sprint(b) != fmt.Sprint(*one.uses.Load()) {
		t.Errorf("the book is %+v, %v; server one has %+v", b, err, one.uses.Load())
	}
	if err := third.Delete(t.Context(), "a", "Bob", serve.Condition{}); err != nil {
		t.Fatal(err)
	}
	one.obeys(t, "a", 0)
}
