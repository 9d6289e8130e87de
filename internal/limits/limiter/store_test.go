package limiter

import (
	"context"
	"sync"
	"time"

	"github.com/openqueue/waitingroom/internal/limits/limit"
)

// counting is a store with nothing but the arithmetic, on the test's clock, that can fail or
// hang. The real stores have tests of their own.
type counting struct {
	now func() time.Time

	mu     sync.Mutex
	states map[string][]*limit.State
	calls  int
	probes int
	err    error
	hangs  bool
	// delay is how long an answer takes.
	delay time.Duration
	// partition returns the partition of a request; nil stands for 0.
	partition func(limit.Request) int
}

func newCounting(now func() time.Time) *counting {
	return &counting{now: now, states: make(map[string][]*limit.State)}
}

func (s *counting) Partition(r limit.Request) int {
	if s.partition == nil {
		return 0
	}
	return s.partition(r)
}

func (s *counting) Allow(ctx context.Context, r limit.Request) (limit.Verdict, error) {
	if s.delay > 0 {
		pass(s.delay)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Rules[0].WindowSeconds > limit.MaxWindowSeconds {
		s.probes++
	} else {
		s.calls++
	}
	if s.hangs {
		s.mu.Unlock()
		<-ctx.Done()
		s.mu.Lock()
		return limit.Verdict{}, ctx.Err()
	}
	if s.err != nil {
		return limit.Verdict{}, s.err
	}
	key := r.Policy + ":" + r.Tier + ":" + r.Subject
	for _, rule := range r.Rules {
		key += ":" + string(rule.Algorithm)
	}
	if s.states[key] == nil {
		for range r.Rules {
			s.states[key] = append(s.states[key], &limit.State{})
		}
	}
	return limit.Decide(r.Rules, s.states[key], s.now().UnixMilli(), r.Cost), nil
}

func (s *counting) set(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *counting) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

func (s *counting) probed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.probes
}
