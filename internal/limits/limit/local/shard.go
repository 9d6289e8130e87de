package local

import (
	"container/heap"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/openqueue/waitingroom/internal/limits/limit"
)

const (
	// marksAKey is how many marks of a log take as much memory as a key.
	marksAKey = 16
	// wakeAfter is the least time between two runs of the timer, so that it does not run for
	// each key.
	wakeAfter = time.Second
	// forgetAtOnce is how many expired keys one decision removes at most, apart from those
	// that make room. It is more than a decision adds, so that expired keys do not pile up.
	forgetAtOnce = 2 * limit.MaxRules
	// minSlots is how many slots are not worth shrinking for.
	minSlots = 64
)

// slot is one key and its state.
type slot struct {
	id    id
	state limit.State
	// until is when the state has nothing left to remember, in Unix milliseconds.
	until int64
	// place is the slot's index in the heap.
	place int
	// weight is how many keys the slot counts as, by its memory.
	weight int
}

func weightOf(s limit.State) int { return 1 + s.Marks()/marksAKey }

// expiry is a heap of slots, the one that ends first on top.
type expiry []*slot

// Len implements heap.Interface.
func (e *expiry) Len() int { return len(*e) }

// Less implements heap.Interface.
func (e *expiry) Less(i, j int) bool { return (*e)[i].until < (*e)[j].until }

// Swap implements heap.Interface.
func (e *expiry) Swap(i, j int) {
	all := *e
	all[i], all[j] = all[j], all[i]
	all[i].place, all[j].place = i, j
}

// Push implements heap.Interface.
func (e *expiry) Push(v any) {
	if at, is := v.(*slot); is {
		at.place = len(*e)
		*e = append(*e, at)
	}
}

// Pop implements heap.Interface.
func (e *expiry) Pop() any {
	last := len(*e) - 1
	at := (*e)[last]
	(*e)[last] = nil
	*e = (*e)[:last]
	return at
}

// shard holds some of the keys, under one lock.
type shard struct {
	now  func() int64
	most int // the largest weight

	mu     sync.Mutex
	slots  map[id]*slot
	expiry expiry
	peak   int // the most slots since slots was made
	weight int
	timer  *time.Timer // nil unless it is armed
	wakes  int64       // when the timer is due
	// linger is how many milliseconds longer than needed keys are kept, for tests in which
	// the clock goes back.
	linger int64
}

// take decides a request.
func (s *shard) take(key id, q limit.Request) limit.Verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.forget(now, forgetAtOnce)
	var states [limit.MaxRules]limit.State
	var refs [limit.MaxRules]*limit.State
	var known [limit.MaxRules]bool
	for i, r := range q.Rules {
		at, found := s.slots[key.of(r)]
		if found {
			states[i] = at.state
		}
		refs[i], known[i] = &states[i], found
	}
	v := limit.Decide(q.Rules, refs[:len(q.Rules)], now, q.Cost)
	for i, r := range q.Rules {
		if v.Allowed || known[i] {
			s.put(key.of(r), states[i], now+v.Quotas[i].ResetMillis+s.linger)
		}
	}
	s.arm(now)
	return v
}

// put keeps a state. If that needs room, it removes the keys that expire first, and the key's
// own former state.
func (s *shard) put(key id, state limit.State, until int64) {
	weight := weightOf(state)
	if at, found := s.slots[key]; found {
		if more := weight - at.weight; more <= 0 || s.weight+more <= s.most {
			s.weight += more
			at.state, at.until, at.weight = state, until, weight
			heap.Fix(&s.expiry, at.place)
			return
		}
		s.remove(at)
	}
	for len(s.expiry) > 0 && s.weight+weight > s.most {
		s.remove(s.expiry[0])
	}
	if s.slots == nil {
		s.slots = make(map[id]*slot)
	}
	at := &slot{id: key, state: state, until: until, weight: weight}
	s.slots[key] = at
	heap.Push(&s.expiry, at)
	s.weight += weight
	s.peak = max(s.peak, len(s.slots))
}

// forget removes up to most keys that have nothing left to remember.
func (s *shard) forget(now int64, most int) {
	for ; most > 0 && len(s.expiry) > 0 && s.expiry[0].until <= now; most-- {
		s.remove(s.expiry[0])
	}
}

func (s *shard) remove(at *slot) {
	heap.Remove(&s.expiry, at.place)
	delete(s.slots, at.id)
	s.weight -= at.weight
	if n := len(s.slots); n == 0 {
		s.slots, s.expiry, s.peak = nil, nil, 0
	} else if s.peak > minSlots && 4*n <= s.peak {
		// Maps do not shrink by themselves.
		s.slots, s.expiry, s.peak = maps.Collect(maps.All(s.slots)), slices.Clone(s.expiry), n
	}
}

// arm sets the timer for the key that expires first, unless it is set for a time before that
// or up to wakeAfter later.
func (s *shard) arm(now int64) {
	if len(s.expiry) == 0 {
		return
	}
	// At most a day: a slow bucket may take longer than a Duration holds.
	millis := min(s.expiry[0].until-now, limit.MaxWindowSeconds*1000)
	in := max(time.Duration(millis)*time.Millisecond, wakeAfter)
	due := now + in.Milliseconds()
	switch {
	case s.timer == nil:
		s.timer = time.AfterFunc(in, s.wake)
	case due+wakeAfter.Milliseconds() < s.wakes:
		s.timer.Reset(in)
	default:
		return
	}
	s.wakes = due
}

// wake removes the keys that have nothing left to remember, and arms the timer again if
// there are others.
func (s *shard) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.forget(now, len(s.expiry))
	s.timer = nil
	s.arm(now)
}

func (s *shard) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
	s.timer, s.slots, s.expiry, s.peak, s.weight = nil, nil, nil, 0, 0
}

func (s *shard) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.slots)
}
