package main

import (
	"sync"
	"time"
)

const (
	// wheelTick is how exact polls are in time.
	wheelTick = 10 * time.Millisecond
	// wheelSlots reach further than the longest period.
	wheelSlots = 8192
)

// wheel keeps when each of many comes next.
type wheel struct {
	mu    sync.Mutex
	began time.Time
	// at is the slot that is due next; first and next are chains of who comes in one.
	at    int64
	first [wheelSlots]int32
	next  []int32
}

func newWheel(n int) *wheel {
	w := &wheel{began: time.Now(), next: make([]int32, n)}
	for i := range w.first {
		w.first[i] = -1
	}
	return w
}

// start has the slots that have passed since the wheel was made be behind it. For before the first add.
func (w *wheel) start() { w.at = int64(time.Since(w.began) / wheelTick) }

// add has one come in so much time.
func (w *wheel) add(i int32, in time.Duration) {
	slot := int64((time.Since(w.began) + in) / wheelTick)
	w.mu.Lock()
	defer w.mu.Unlock()
	slot = min(max(slot, w.at), w.at+wheelSlots-1)
	chain := &w.first[slot%wheelSlots]
	w.next[i], *chain = *chain, i
}

// due returns those of the next slot, if its time has come, and how long ago that was.
func (w *wheel) due() (all []int32, behind time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if behind = time.Since(w.began) - time.Duration(w.at)*wheelTick; behind < 0 {
		return nil, 0
	}
	chain := &w.first[w.at%wheelSlots]
	all = make([]int32, 0, 64)
	for i := *chain; i >= 0; i = w.next[i] {
		all = append(all, i)
	}
	*chain, w.at = -1, w.at+1
	return all, behind
}
