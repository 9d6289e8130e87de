package local

import (
	"maps"
	"sync"
	"time"

	"github.com/openqueue/waitingroom/internal/limits/limit"
)

const (
	// marksAKey is how many marks of a log take as much memory as a key.
	marksAKey = 16
	// sweepEvery is how long a key that has nothing left to remember takes up memory at most. To look at a
	// million keys takes some 30 ms, no shard longer than one.
	sweepEvery = 5 * time.Second
	// minSlots is how many slots are not worth shrinking for.
	minSlots = 64
)

// slot is what is kept of one key.
type slot struct {
	state limit.State
	// until is when the state has nothing left to remember, in Unix milliseconds.
	until int64
}

// weight is how many keys the slot counts as, by its memory.
func (s slot) weight() int { return 1 + s.state.Marks()/marksAKey }

// shard holds some of the keys, under one lock.
type shard struct {
	now  func() int64
	most int // the largest weight

	mu     sync.Mutex
	slots  map[id]slot
	peak   int // the most slots since the map was made
	weight int
	timer  *time.Timer // nil if there are no slots
	// linger is how many milliseconds longer than needed keys are kept, for tests in which
	// the clock goes back.
	linger int64
}

// take decides a request.
func (s *shard) take(key id, q limit.Request) limit.Verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	var states [limit.MaxRules]limit.State
	var refs [limit.MaxRules]*limit.State
	var known [limit.MaxRules]bool
	for i, r := range q.Rules {
		at, found := s.slots[key.of(r)]
		states[i], refs[i], known[i] = at.state, &states[i], found
	}
	v := limit.Decide(q.Rules, refs[:len(q.Rules)], now, q.Cost)
	for i, r := range q.Rules {
		if v.Allowed || known[i] {
			s.put(key.of(r), slot{states[i], now + v.Quotas[i].ResetMillis + s.linger})
		}
	}
	return v
}

// put keeps a slot. If that needs room, others are forgotten, whichever come first.
func (s *shard) put(key id, is slot) {
	if s.slots == nil {
		s.slots = make(map[id]slot)
		s.timer = time.AfterFunc(sweepEvery, s.sweep)
	}
	if was, found := s.slots[key]; found {
		s.weight -= was.weight()
	}
	s.weight += is.weight()
	s.slots[key] = is
	for other := range s.slots {
		if s.weight <= s.most {
			break
		}
		if other != key {
			s.remove(other)
		}
	}
	s.peak = max(s.peak, len(s.slots))
}

func (s *shard) remove(key id) {
	s.weight -= s.slots[key].weight()
	delete(s.slots, key)
}

// sweep removes the keys that have nothing left to remember. If there are others, it runs again.
func (s *shard) sweep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for key, at := range s.slots {
		if at.until <= now {
			s.remove(key)
		}
	}
	switch n := len(s.slots); {
	case n == 0:
		s.forget()
		return
	case s.peak > minSlots && 4*n <= s.peak:
		s.slots, s.peak = maps.Collect(maps.All(s.slots)), n // a map does not shrink by itself
	}
	s.timer.Reset(sweepEvery)
}

// clear forgets all keys.
func (s *shard) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
}

// forget is clear. The caller holds mu.
func (s *shard) forget() {
	if s.timer != nil {
		s.timer.Stop()
	}
	s.timer, s.slots, s.peak, s.weight = nil, nil, 0, 0
}

func (s *shard) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.slots)
}
