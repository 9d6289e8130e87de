package watch

import (
	"math"
	"slices"

	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// Kept is how many samples are kept of a zone: an hour.
	Kept = 3600
	// growth is by how many samples a history grows: 50 KB.
	growth = 600

	tenths = 10
	mille  = 1000
)

// modes are numbered for packed samples.
var modes = []zone.Mode{zone.ModeQueue, zone.ModeOpen, zone.ModeClosed}

// packed is a Sample in 84 bytes. Figures beyond 32 bits are kept as the
// largest that fits; all limits of a zone's settings are well below.
type packed struct {
	at                                                uint32 // Unix seconds
	waiting, released, overdue                        uint32
	inWindow, windowLimit, burst, inMinute, perMinute uint32
	joins, admitted, departures, swept, polls         uint32 // tenths
	restored, waitP50, waitP95, waitCount, estimate   uint32
	errorMille                                        uint32
	errorCount                                        uint16
	rateSeconds                                       uint8
	// mode is an index into modes; or isFailing, and then waiting is for how
	// many seconds, and nothing else is set.
	mode uint8
}

const isFailing = math.MaxUint8

func pack(s *Sample) packed {
	at := u32(s.At / mille)
	if !s.Known() {
		return packed{at: at, mode: isFailing, waiting: u32((s.At - s.FailingSince) / mille)}
	}
	return packed{
		at: at, waiting: u32(s.Waiting), released: u32(s.Released), overdue: u32(s.Overdue),
		inWindow: u32(s.InWindow), windowLimit: u32(s.WindowLimit), burst: u32(s.Burst),
		inMinute: u32(s.InMinute), perMinute: u32(s.PerMinute),
		joins: times(tenths, s.JoinsPerMinute), admitted: times(tenths, s.AdmittedPerMinute),
		departures: times(tenths, s.DeparturesPerMinute), swept: times(tenths, s.SweptPerMinute),
		polls: times(tenths, s.PollsPerSecond), restored: u32(s.Restored),
		waitP50: u32(s.WaitP50Millis), waitP95: u32(s.WaitP95Millis), waitCount: u32(s.WaitCount),
		estimate: u32(s.EstimateMillis), errorMille: times(mille, s.EstimateError),
		errorCount:  uint16(min(s.EstimateErrorCount, math.MaxUint16)),
		rateSeconds: uint8(min(s.RateSeconds, math.MaxUint8)),
		mode:        uint8(max(0, slices.Index(modes, s.Mode))),
	}
}

// sample unpacks. Whoever sees a sample sees an unpacked one, the latest too:
// so all see the same figures.
func (p *packed) sample() Sample {
	at := int64(p.at) * mille
	if p.mode == isFailing {
		return Sample{At: at, Store: StoreFailing, FailingSince: at - int64(p.waiting)*mille}
	}
	return Sample{
		At: at, Store: StoreOK,
		Waiting: int64(p.waiting), Released: int64(p.released), Overdue: int64(p.overdue),
		InWindow: int64(p.inWindow), WindowLimit: int64(p.windowLimit), Burst: int64(p.burst),
		InMinute: int64(p.inMinute), PerMinute: int64(p.perMinute), Mode: modes[p.mode],
		Use:            Use(int64(p.inWindow), int64(p.windowLimit)),
		RateSeconds:    int64(p.rateSeconds),
		JoinsPerMinute: part(p.joins, tenths), AdmittedPerMinute: part(p.admitted, tenths),
		DeparturesPerMinute: part(p.departures, tenths), SweptPerMinute: part(p.swept, tenths),
		PollsPerSecond: part(p.polls, tenths), Restored: int64(p.restored),
		WaitP50Millis: int64(p.waitP50), WaitP95Millis: int64(p.waitP95), WaitCount: int64(p.waitCount),
		EstimateMillis: int64(p.estimate), EstimateError: part(p.errorMille, mille),
		EstimateErrorCount: int64(p.errorCount),
	}
}

// Use is the share of a window that is taken, from 0 to 1: a burst is not shown
// above 1. Of a limit of 0 it is 0.
func Use(inWindow, windowLimit int64) float64 {
	if windowLimit <= 0 {
		return 0
	}
	return min(1, float64(inWindow)/float64(windowLimit))
}

func u32(v int64) uint32                { return uint32(min(max(0, v), math.MaxUint32)) }
func times(n float64, v float64) uint32 { return uint32(min(max(0, math.Round(n*v)), math.MaxUint32)) }
func part(v uint32, of float64) float64 { return float64(v) / of }

// history is the last Kept samples of one zone, one a second at most. The zero
// value is empty.
type history struct {
	ring []packed
	// first is the oldest, once the ring is full.
	first int
}

func (h *history) len() int { return len(h.ring) }

// at returns the i-th oldest.
func (h *history) at(i int) *packed { return &h.ring[(h.first+i)%len(h.ring)] }

func (h *history) last() *packed {
	if len(h.ring) == 0 {
		return nil
	}
	return h.at(len(h.ring) - 1)
}

// add adds a sample that is newer than all others; if it is not, the clock was
// set back, and those of the time that is to come again are dropped.
func (h *history) add(p packed) {
	if last := h.last(); last != nil && last.at >= p.at {
		h.dropFrom(p.at)
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

func (h *history) dropFrom(at uint32) {
	var keep []packed
	for i := range h.len() {
		if p := h.at(i); p.at < at {
			keep = append(keep, *p)
		}
	}
	h.ring, h.first = keep, 0
}

// samples returns all of them, oldest first.
func (h *history) samples() []Sample {
	all := make([]Sample, h.len())
	for i := range all {
		all[i] = h.at(i).sample()
	}
	return all
}
