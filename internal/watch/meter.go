package watch

import (
	"math"
	"slices"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
)

const (
	// span is over how long rates are measured.
	span = time.Minute
	// slack is how old a reading may be and still count as a minute old.
	slack = span + 500*time.Millisecond
)

// reading is what has happened since the meter began, at one moment. Unlike the store's
// totals it never falls.
type reading struct {
	at time.Time
	line.Totals
	// refused is as this server counts it.
	refused int64
	// waits are the waits of those who were admitted, by bucket of window.WaitBucket. Readings between which nobody was
	// admitted share them.
	waits []int64
}

// meter makes rates of one zone's totals. The zero value is ready.
type meter struct {
	// readings are those of the last minute, oldest first: 62 at most.
	readings []reading
	// totals and waits are as the store had them at the last reading.
	totals line.Totals
	waits  []int64
}

// read takes in what the store has counted up to now, and how many requests this server has refused, and writes the rates
// into the sample.
func (m *meter) read(now time.Time, stats *line.Stats, refused int64, out *Sample) {
	m.forget(now)
	r := reading{at: now, refused: refused}
	if n := len(m.readings); n > 0 {
		last := &m.readings[n-1]
		r.Totals, r.waits = last.Plus(m.totals, stats.Totals), m.plus(last.waits, stats.Waits)
	} else {
		r.waits = make([]int64, window.WaitBuckets)
	}
	m.totals, m.waits = stats.Totals, append(m.waits[:0], stats.Waits...)
	m.readings = append(m.readings, r)

	base := &m.readings[0]
	seconds := now.Sub(base.at).Seconds()
	if seconds <= 0 {
		return
	}
	perMinute := func(n int64) float64 { return tenths(float64(n) * span.Seconds() / seconds) }
	out.RateSeconds = max(1, int64(seconds+0.5))
	out.JoinsPerMinute = perMinute(r.Joined - base.Joined)
	// The store counts the last minute's admissions itself. A window that was
	// used up in the first seconds must not look like ten times the limit.
	out.AdmittedPerMinute = min(perMinute(r.Admitted-base.Admitted), float64(out.InMinute))
	out.DeparturesPerMinute = perMinute(r.Left - base.Left)
	out.SweptPerMinute = perMinute(r.Swept - base.Swept)
	out.RefusedPerMinute = perMinute(max(0, r.refused-base.refused)) // less than before: the zone was made anew
	out.PollsPerSecond = tenths(float64(r.Polls-base.Polls) / seconds)
	out.Restored = r.Restored - base.Restored
	inMinute := make([]int64, window.WaitBuckets)
	for bucket := range inMinute {
		inMinute[bucket] = r.waits[bucket] - base.waits[bucket]
		out.WaitCount += inMinute[bucket]
	}
	out.WaitP50Millis = window.WaitQuantile(inMinute, 0.5)
	out.WaitP95Millis = window.WaitQuantile(inMinute, 0.95)
}

// tenths rounds to one decimal.
func tenths(x float64) float64 { return math.Round(10*x) / 10 }

// plus returns all waits with what the store has counted since the last reading. It does not change all.
func (m *meter) plus(all, waits []int64) []int64 {
	if slices.Equal(waits, m.waits) {
		return all
	}
	all = slices.Clone(all)
	for bucket, n := range waits {
		if bucket < len(m.waits) {
			n -= m.waits[bucket]
		}
		if bucket < len(all) {
			all[bucket] += max(0, n) // less than before: the store has begun anew
		}
	}
	return all
}

// forget drops the readings that are older than a minute; all of them, if the
// clock was set back.
func (m *meter) forget(now time.Time) {
	n := len(m.readings)
	if n == 0 {
		return
	}
	if m.readings[n-1].at.Before(now) {
		n = 0
		for n < len(m.readings) && now.Sub(m.readings[n].at) > slack {
			n++
		}
	}
	m.readings = slices.Delete(m.readings, 0, n)
}
