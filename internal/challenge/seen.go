package challenge

import (
	"sync"
	"time"
)

// maxSeen is how many challenges a server remembers: some 10 MB. Of one that it has forgotten, a solution is checked again.
const maxSeen = 1 << 17

// state is what is known of a challenge.
type state uint8

const (
	unseen  state = iota
	pending       // its solution is being checked
	wrong         // a solution was wrong, so no other is looked at
	right         // a solution was right
	spent         // a place was taken with it
	over          // the place is gone
)

// seen remembers the challenges whose solutions came lately. It forgets all of them when there are too many, or when those that it
// has remembered for longest have expired.
type seen struct {
	mu     sync.Mutex
	states map[string]state
	since  time.Time
}

// get returns the state, and makes it pending if it was unseen.
func (s *seen) get(key string, now time.Time) state {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.states[key]
	if st == unseen {
		s.put(key, pending, now)
	}
	return st
}

func (s *seen) set(key string, st state, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(key, st, now)
}

// put is called with the lock held.
func (s *seen) put(key string, st state, now time.Time) {
	if s.states == nil || len(s.states) >= maxSeen || now.Sub(s.since) > Life {
		s.states, s.since = make(map[string]state), now
	}
	s.states[key] = st
}
