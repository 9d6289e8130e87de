package metric

import (
	"math"
	"sync"
	"time"

	"github.com/openqueue/waitingroom/internal/estimate"
)

const (
	// latelyMinutes is how many minutes of the clock Estimates looks at, the present one included:
	// a judgement counts for nine to ten minutes.
	latelyMinutes = 10
	// Errors are counted in steps, each a tenth wider than the one before, from leastError to over 1,000 %. That takes
	// 4 KB a zone, and a median is right to a twentieth of itself.
	errorSteps  = 100
	leastError  = 0.001
	errorFactor = 1.1
)

// Judged implements registry.Meter. It counts how good an estimate was that a visitor had been told.
func (m *Metrics) Judged(zoneID string, j estimate.Judgement) {
	z := m.meter(zoneID)
	z.estimateErrors.Observe(j.Error())
	if j.Outcome == estimate.NoRange {
		return
	}
	z.ranges[j.Outcome].Inc()
	z.rangeWidths.Observe(j.Width)
	z.lately.add(m.now(), j)
}

// Estimates returns how good the ranges were that this server had told visitors of a zone who were
// let in within the last ten minutes. coverage is the share of the ranges that held the real wait,
// 0 to 1. median is the median of |estimate - real| / real. of is how many were judged. All are 0
// if none were.
func (m *Metrics) Estimates(zoneID string) (coverage, median float64, of int64) {
	z, ok := (*m.zones.Load())[zoneID]
	if !ok {
		return 0, 0, 0
	}
	return z.lately.sum(m.now())
}

// lately counts judgements by the minute. The zero value is ready.
type lately struct {
	mu      sync.Mutex
	minutes [latelyMinutes]struct {
		minute, held int64
		errors       [errorSteps]uint32
	}
}

func (l *lately) add(now time.Time, j estimate.Judgement) {
	step := 0
	if e := j.Error(); e > leastError {
		step = min(errorSteps-1, 1+int(math.Log(e/leastError)/math.Log(errorFactor)))
	}
	minute := now.Unix() / 60
	l.mu.Lock()
	defer l.mu.Unlock()
	at := &l.minutes[minute%latelyMinutes]
	if at.minute != minute {
		at.minute, at.held, at.errors = minute, 0, [errorSteps]uint32{}
	}
	at.errors[step]++
	if j.Outcome == estimate.Held {
		at.held++
	}
}

func (l *lately) sum(now time.Time) (coverage, median float64, of int64) {
	var errors [errorSteps]int64
	held, minute := int64(0), now.Unix()/60
	l.mu.Lock()
	for i := range l.minutes {
		if at := &l.minutes[i]; at.minute <= minute && at.minute > minute-latelyMinutes {
			held += at.held
			for step, n := range at.errors {
				errors[step] += int64(n)
				of += int64(n)
			}
		}
	}
	l.mu.Unlock()
	if of == 0 {
		return 0, 0, 0
	}
	step := 0
	for below := errors[0]; 2*below < of; below += errors[step] {
		step++
	}
	if step > 0 {
		median = leastError * math.Pow(errorFactor, float64(step)-0.5)
	}
	return float64(held) / float64(of), median, of
}
