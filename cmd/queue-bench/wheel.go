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
	// at is the slot that is due next, slots are who comes in each.
	at    int64
	slots [wheelSlots][]int32
}

// add has one come in so much time.
func (w *wheel) add(i int32, in time.Duration) {
	slot := int64((time.Since(w.began) + in) / wheelTick)
	w.mu.Lock()
	defer w.mu.Unlock()
	slot = min(max(slot, w.at), w.at+wheelSlots-1) % wheelSlots
	w.slots[slot] = append(w.slots[slot], i)
}

// due returns those of the next slot, if its time has come.
func (w *wheel) due() (all []int32, come bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.began) < time.Duration(w.at)*wheelTick {
		return nil, false
	}
	slot := &w.slots[w.at%wheelSlots]
	all, *slot, w.at = *slot, nil, w.at+1
	return all, true
}
