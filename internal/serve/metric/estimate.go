package metric

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
)

const (
	// sampleMask picks 1 of 16 visitors. Ids are random or hashes, so their
	// low bits are as good as a die, and the same on every server.
	sampleMask = 0x0f
	// maxSampled bounds what is remembered for one zone: about 1 MB.
	maxSampled = 10_000
	// minRealWait is the shortest wait that an error is computed of: below
	// it, the polling period is all that one sees.
	minRealWait = time.Second

	// maxRecent bounds the errors that are kept for one zone: 6 KB, and a
	// minute's worth up to 4,000 admissions in one; of more, the latest.
	maxRecent = 256
	// recentSpan is how long an error counts; enoughRecent of them count for
	// seldomSpan, so that a small zone has a figure too.
	recentSpan   = time.Minute
	enoughRecent = 20
	seldomSpan   = 10 * time.Minute
)

// Gave remembers the first estimate that a visitor gets, if the visitor is one
// of the sample. now is on the store's clock.
func (m *Metrics) Gave(zoneID string, id line.ID, estimate time.Duration, now time.Time) {
	if sampled(id) {
		m.meter(zoneID).estimates.gave(id, estimate, now)
	}
}

// Admitted compares the remembered estimate with what the wait became. now is
// the moment of admission on the store's clock.
func (m *Metrics) Admitted(zoneID string, id line.ID, now time.Time) {
	if !sampled(id) {
		return
	}
	z := m.meter(zoneID)
	if ratio, ok := z.estimates.admitted(id, now); ok {
		z.estimateErrors.Observe(ratio)
		z.recentErrors.add(m.now(), ratio)
	}
}

// EstimateError returns the median of the relative errors of a zone's estimates
// that this server has measured in the last minute, and of how many; where those
// are fewer than 20, of up to 20 of the last ten minutes. 0 of 0 if there are
// none.
func (m *Metrics) EstimateError(zoneID string) (median float64, of int) {
	z, ok := (*m.zones.Load())[zoneID]
	if !ok {
		return 0, 0
	}
	return z.recentErrors.median(m.now())
}

func sampled(id line.ID) bool { return id[len(id)-1]&sampleMask == 0 }

// sample remembers the estimates of up to maxSampled visitors; a further one
// pushes the oldest out. The zero value is ready.
type sample struct {
	mu    sync.Mutex
	given map[line.ID]given
	// ring holds the ids in the order in which they came; once it is full,
	// next is the oldest. A slot may name one who was admitted since.
	ring []line.ID
	next int
}

// given is one estimate; slot is its id's place in the ring.
type given struct {
	estimate time.Duration
	at       time.Time
	slot     int
}

func (s *sample) gave(id line.ID, estimate time.Duration, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.given[id]; ok {
		return
	}
	if s.given == nil {
		s.given = make(map[line.ID]given)
	}
	slot := s.next
	if len(s.ring) < maxSampled {
		s.ring = append(s.ring, id)
	} else {
		if oldest := s.ring[slot]; s.given[oldest].slot == slot {
			delete(s.given, oldest)
		}
		s.ring[slot] = id
	}
	s.next = (slot + 1) % maxSampled
	s.given[id] = given{estimate: estimate, at: now, slot: slot}
}

// admitted returns the relative error of the visitor's estimate, and forgets
// it; or false if there is none, or the wait was too short to tell.
func (s *sample) admitted(id line.ID, now time.Time) (ratio float64, ok bool) {
	s.mu.Lock()
	g, ok := s.given[id]
	delete(s.given, id)
	s.mu.Unlock()
	waited := now.Sub(g.at)
	if !ok || waited < minRealWait {
		return 0, false
	}
	return math.Abs((g.estimate - waited).Seconds()) / waited.Seconds(), true
}

// reset forgets everybody, and gives the memory back.
func (s *sample) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.given, s.ring, s.next = nil, nil, 0
}

// recent are the latest errors of a zone's estimates, maxRecent at most. The zero
// value is ready.
type recent struct {
	mu   sync.Mutex
	ring []measured
	next int // the oldest, once the ring is full
}

// measured is one error and when it was seen, on this server's clock.
type measured struct {
	at    time.Time
	ratio float64
}

func (r *recent) add(now time.Time, ratio float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ring) < maxRecent {
		r.ring = append(r.ring, measured{now, ratio})
		return
	}
	r.ring[r.next] = measured{now, ratio}
	r.next = (r.next + 1) % maxRecent
}

// median of those that count now: the mean of the middle two, if they are even.
func (r *recent) median(now time.Time) (ratio float64, of int) {
	r.mu.Lock()
	var ratios []float64
	for i := range r.ring {
		// From the newest to the oldest.
		e := r.ring[(r.next+len(r.ring)-1-i)%len(r.ring)]
		age := now.Sub(e.at)
		if age > seldomSpan || age > recentSpan && i >= enoughRecent {
			break
		}
		ratios = append(ratios, e.ratio)
	}
	r.mu.Unlock()
	n := len(ratios)
	if n == 0 {
		return 0, 0
	}
	slices.Sort(ratios)
	return (ratios[(n-1)/2] + ratios[n/2]) / 2, n
}
