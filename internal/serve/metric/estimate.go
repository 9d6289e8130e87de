package metric

import (
	"slices"
	"sync"
	"time"

	"github.com/openqueue/waitingroom/internal/estimate"
)

const (
	// lately is how far back Estimates looks.
	lately = 10 * time.Minute
	// latelyMost is how many judgements of a zone it looks at, the newest: five times what is shown at all, in 6 KB.
	latelyMost = 256
)

// Judged implements registry.Meter. It counts how good an estimate was that a visitor had been told.
func (m *Metrics) Judged(zoneID string, j estimate.Judgement) {
	z := m.meter(zoneID)
	z.estimateErrors.Observe(j.Error())
	if j.Outcome == estimate.NoRange {
		return
	}
	add(z.ranges, estimate.Outcomes[j.Outcome])
	z.rangeWidths.Observe(j.Width)
	z.latest.mu.Lock()
	defer z.latest.mu.Unlock()
	z.latest.ring[z.latest.next%latelyMost] = judged{m.now().Unix(), j.Error(), j.Outcome == estimate.Held}
	z.latest.next++
}

// Estimates returns how good the ranges were that this server had told visitors of a zone who were
// admitted within the last ten minutes, of the newest 256. coverage is the share of the ranges that held
// the real wait, 0 to 1. median is the median of |estimate - real| / real. of is how many were judged.
// All are 0 if none were.
func (m *Metrics) Estimates(zoneID string) (coverage, median float64, of int64) {
	z, ok := (*m.zones.Load())[zoneID]
	if !ok {
		return 0, 0, 0
	}
	now := m.now().Unix()
	errors, held := make([]float64, 0, latelyMost), 0
	z.latest.mu.Lock()
	for _, j := range z.latest.ring[:min(z.latest.next, latelyMost)] {
		if j.at <= now && j.at > now-int64(lately/time.Second) {
			errors = append(errors, j.off)
			if j.held {
				held++
			}
		}
	}
	z.latest.mu.Unlock()
	if len(errors) == 0 {
		return 0, 0, 0
	}
	slices.Sort(errors)
	return float64(held) / float64(len(errors)), errors[len(errors)/2], int64(len(errors))
}

// latest are the newest judgements of a zone. The zero value is ready.
type latest struct {
	mu   sync.Mutex
	ring [latelyMost]judged
	// next counts the judgements.
	next int
}

// judged is one judgement: when, in Unix seconds, how far off, and whether the range held the wait.
type judged struct {
	at   int64
	off  float64
	held bool
}
