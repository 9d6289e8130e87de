package watch

import "slices"

// Kept is how many samples are kept of a zone: an hour.
const Kept = 3600

// history is the last Kept samples of one zone, one a second at most. The zero
// value is empty.
type history struct {
	ring []Sample
	// first is the oldest, once the ring is full.
	first int
}

func (h *history) last() *Sample {
	if len(h.ring) == 0 {
		return nil
	}
	return &h.ring[(h.first+len(h.ring)-1)%len(h.ring)]
}

// add adds a sample. If it is not newer than all others, the clock was set back, and the samples at or after it are
// dropped.
func (h *history) add(s Sample) {
	if last := h.last(); last != nil && last.At >= s.At {
		h.ring, h.first = slices.DeleteFunc(h.samples(), func(old Sample) bool { return old.At >= s.At }), 0
	}
	if len(h.ring) < Kept {
		h.ring = append(h.ring, s)
		return
	}
	h.ring[h.first] = s
	h.first = (h.first + 1) % Kept
}

// samples returns a copy of all of them, oldest first.
func (h *history) samples() []Sample { return slices.Concat(h.ring[h.first:], h.ring[:h.first]) }

// Use is the share of a window that is taken, from 0 to 1: a burst is not shown
// above 1. Of a limit of 0 it is 0.
func Use(inWindow, windowLimit int64) float64 {
	if windowLimit <= 0 {
		return 0
	}
	return min(1, float64(inWindow)/float64(windowLimit))
}
