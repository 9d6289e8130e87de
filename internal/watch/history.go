package watch

import (
	"math"
	"reflect"
	"slices"

	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// Kept is how many samples are kept of a zone: an hour.
	Kept = 3600
	// growth is by how many samples a history grows: 74 KB.
	growth = 600
)

// modes are numbered for packed samples; the mode of a failing sample is "".
var modes = []zone.Mode{"", zone.ModeQueue, zone.ModeOpen, zone.ModeClosed}

// kept are the columns that are stored; the others follow from them.
var kept = slices.DeleteFunc(slices.Clone(columns), func(c column) bool { return c.scale == 0 })

// packed is a Sample in 124 bytes: the columns that are kept, in their order. Figures
// beyond 32 bits are kept as the largest that fits; all limits of a zone's settings
// are well below.
type packed [31]uint32

func pack(s *Sample) (p packed) {
	for i, c := range kept {
		var figure float64
		switch v := c.in(s); v.Kind() {
		case reflect.Int64:
			figure = float64(v.Int())
		case reflect.Float64:
			figure = v.Float()
		default:
			figure = float64(slices.Index(modes, s.Mode))
		}
		p[i] = uint32(min(max(0, math.Round(figure*c.scale)), math.MaxUint32))
	}
	return p
}

// at is when the sample was taken, in Unix seconds: the first column.
func (p *packed) at() uint32 { return p[0] }

// sample unpacks. Every reader gets unpacked samples, the latest included, so all see the same rounded figures.
func (p *packed) sample() (s Sample) {
	for i, c := range kept {
		switch v, figure := c.in(&s), float64(p[i])/c.scale; v.Kind() {
		case reflect.Int64:
			v.SetInt(int64(math.Round(figure)))
		case reflect.Float64:
			v.SetFloat(figure)
		default:
			s.Mode = modes[p[i]]
		}
	}
	s.Store, s.Use = StoreOK, Use(s.InWindow, s.WindowLimit)
	if s.FailingSince > 0 {
		s.Store = StoreFailing
	}
	return s
}

// Use is the share of a window that is taken, from 0 to 1: a burst is not shown
// above 1. Of a limit of 0 it is 0.
func Use(inWindow, windowLimit int64) float64 {
	if windowLimit <= 0 {
		return 0
	}
	return min(1, float64(inWindow)/float64(windowLimit))
}

// history is the last Kept samples of one zone, one a second at most. The zero
// value is empty.
type history struct {
	ring []packed
	// first is the oldest, once the ring is full.
	first int
}

// at returns the i-th oldest.
func (h *history) at(i int) *packed { return &h.ring[(h.first+i)%len(h.ring)] }

func (h *history) last() *packed {
	if len(h.ring) == 0 {
		return nil
	}
	return h.at(len(h.ring) - 1)
}

// add adds a sample. If it is not newer than all others, the clock was set back, and the samples at or after it are
// dropped.
func (h *history) add(p packed) {
	if last := h.last(); last != nil && last.at() >= p.at() {
		all := slices.Concat(h.ring[h.first:], h.ring[:h.first])
		h.ring, h.first = slices.DeleteFunc(all, func(old packed) bool { return old.at() >= p.at() }), 0
	}
	if len(h.ring) == Kept {
		h.ring[h.first] = p
		h.first = (h.first + 1) % Kept
		return
	}
	if len(h.ring) == cap(h.ring) {
		h.ring = append(make([]packed, 0, min(Kept, len(h.ring)+growth)), h.ring...)
	}
	h.ring = append(h.ring, p)
}

// samples returns all of them, oldest first.
func (h *history) samples() []Sample {
	all := make([]Sample, len(h.ring))
	for i := range all {
		all[i] = h.at(i).sample()
	}
	return all
}
