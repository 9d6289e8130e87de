package pass

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"
)

// Once remembers which passes have been used. A service with several servers puts that
// into a store that they share: SET id 1 NX PXAT until, in Redis.
type Once interface {
	// Use remembers the pass of this ID until then, in one step, and reports whether it was
	// not there before. Of a pass that is Local, it is called again with the visitor's name in place of the ID. With an error the pass is refused, as ErrUnverified.
	Use(ctx context.Context, id string, until time.Time) (first bool, err error)
}

// ErrFull is returned by InMemory's Use while as many passes as it may remember are good
// still. None is forgotten early: that one could be used again.
var ErrFull = errors.New("pass: as many are remembered as may be")

// InMemory remembers passes in this process, for one server: at most so many at a time,
// some 150 bytes each. A zone has at most perMinute times passTtlSeconds / 60 good ones.
func InMemory(most int) Once { return &memory{most: most, until: make(map[string]time.Time)} }

type memory struct {
	most    int
	mu      sync.Mutex
	until   map[string]time.Time
	sweptAt time.Time
}

// Use implements Once.
func (m *memory) Use(_ context.Context, id string, until time.Time) (first bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, used := m.until[id]; used {
		return false, nil
	}
	if len(m.until) >= m.most && !m.sweep() {
		return false, ErrFull
	}
	m.until[id] = until
	return true, nil
}

// sweep forgets what is over, at most once a second, and reports whether there is room.
func (m *memory) sweep() bool {
	if now := time.Now(); now.Sub(m.sweptAt) >= time.Second {
		maps.DeleteFunc(m.until, func(_ string, until time.Time) bool { return !now.Before(until) })
		m.sweptAt = now
	}
	return len(m.until) < m.most
}
