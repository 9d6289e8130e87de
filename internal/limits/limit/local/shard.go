package local

import (
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
	// minSlots is the largest capacity that is not worth shrinking.
	minSlots = 64
)

// slot is one key and its state.
type slot struct {
	id    id
	state limit.State
	// until is when the state has nothing left to remember, in Unix milliseconds.
	until int64
	// place is the slot's index in the heap.
	place int32
	// weight is how many keys the slot counts as, by its memory.
	weight int32
}

func weightOf(s limit.State) int32 { return int32(1 + s.Marks()/marksAKey) }

// shard holds some of the keys, under one lock.
type shard struct {
	now  func() int64
	most int // the largest weight

	mu     sync.Mutex
	index  map[id]int32 // into slots
	slots  []slot
	heap   []int32 // slots, by until
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
		at, found := s.index[key.of(r)]
		if found {
			states[i] = s.slots[at].state
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
	if at, found := s.index[key]; found {
		kept := &s.slots[at]
		if more := int(weight - kept.weight); more <= 0 || s.weight+more <= s.most {
			s.weight += more
			kept.state, kept.until, kept.weight = state, until, weight
			s.down(s.up(kept.place))
			return
		}
		s.remove(at)
	}
	for len(s.heap) > 0 && s.weight+int(weight) > s.most {
		s.remove(s.heap[0])
	}
	if s.index == nil {
		s.index = make(map[id]int32)
	}
	at := int32(len(s.slots))
	s.index[key] = at
	s.slots = append(s.slots, slot{id: key, state: state, until: until, place: at, weight: weight})
	s.heap = append(s.heap, at)
	s.weight += int(weight)
	s.up(at)
}

// forget removes up to most keys that have nothing left to remember.
func (s *shard) forget(now int64, most int) {
	for ; most > 0 && len(s.heap) > 0 && s.slots[s.heap[0]].until <= now; most-- {
		s.remove(s.heap[0])
	}
}

// remove removes a slot. The last slot moves to its index.
func (s *shard) remove(at int32) {
	s.weight -= int(s.slots[at].weight)
	place, last := s.slots[at].place, int32(len(s.heap)-1)
	s.swap(place, last)
	s.heap = s.heap[:last]
	if place < last {
		s.down(s.up(place))
	}
	delete(s.index, s.slots[at].id)
	if at != last {
		s.slots[at] = s.slots[last]
		s.index[s.slots[at].id] = at
		s.heap[s.slots[at].place] = at
	}
	s.slots[last] = slot{}
	s.slots = s.slots[:last]
	s.shrink()
}

// shrink gives memory back when few keys are left.
func (s *shard) shrink() {
	n := len(s.slots)
	if n == 0 {
		s.index, s.slots, s.heap = nil, nil, nil
		return
	}
	if cap(s.slots) <= minSlots || 4*n > cap(s.slots) {
		return
	}
	s.slots = append(make([]slot, 0, 2*n), s.slots...)
	s.heap = append(make([]int32, 0, 2*n), s.heap...)
	s.index = make(map[id]int32, 2*n)
	for i := range s.slots {
		s.index[s.slots[i].id] = int32(i)
	}
}

// arm sets the timer for the key that expires first, unless it is set for a time before that
// or up to wakeAfter later.
func (s *shard) arm(now int64) {
	if len(s.heap) == 0 {
		return
	}
	// At most a day: a slow bucket may take longer than a Duration holds.
	millis := min(s.slots[s.heap[0]].until-now, limit.MaxWindowSeconds*1000)
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
	s.forget(now, len(s.heap))
	s.timer = nil
	s.arm(now)
}

func (s *shard) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
	s.timer, s.index, s.slots, s.heap, s.weight = nil, nil, nil, nil, 0
}

func (s *shard) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.slots)
}

// up and down restore the order of the heap from a place on: up towards the root, down
// towards the leaves. up returns where the slot of that place is then.
func (s *shard) up(place int32) int32 {
	for place > 0 {
		parent := (place - 1) / 2
		if !s.before(place, parent) {
			break
		}
		s.swap(place, parent)
		place = parent
	}
	return place
}

func (s *shard) down(place int32) {
	for {
		first, n := 2*place+1, int32(len(s.heap))
		if first >= n {
			return
		}
		if first+1 < n && s.before(first+1, first) {
			first++
		}
		if !s.before(first, place) {
			return
		}
		s.swap(place, first)
		place = first
	}
}

func (s *shard) before(a, b int32) bool { return s.slots[s.heap[a]].until < s.slots[s.heap[b]].until }

func (s *shard) swap(a, b int32) {
	s.heap[a], s.heap[b] = s.heap[b], s.heap[a]
	s.slots[s.heap[a]].place, s.slots[s.heap[b]].place = a, b
}
