package watch

import (
	"time"

	"github.com/openqueue/waitingroom/internal/line"
)

const (
	// span is over how long rates are measured.
	span = time.Minute
	// slack lets a reading that came a little late count as a minute old.
	slack = span + 500*time.Millisecond
)

// tally counts what happened since the meter began. Unlike the store's totals
// it never falls.
type tally struct{ joined, admitted, left, swept, restored, polls int64 }

// plus returns the tally and what happened between two readings of the totals.
// Where one has fallen, the store has begun anew meanwhile, and what happened up
// to then is not known.
func (t tally) plus(was, now line.Totals) tally {
	return tally{
		joined:   t.joined + max(0, now.Joined-was.Joined),
		admitted: t.admitted + max(0, now.Admitted-was.Admitted),
		left:     t.left + max(0, now.Left-was.Left),
		swept:    t.swept + max(0, now.Swept-was.Swept),
		restored: t.restored + max(0, now.Restored-was.Restored),
	}
}

// reading is the tally at one moment.
type reading struct {
	at time.Time
	tally
}

// meter makes rates of one zone's totals. The zero value is ready.
type meter struct {
	// readings are those of the last minute, oldest first: 61 at most.
	readings []reading
	totals   line.Totals
}

// read takes in the totals of now and writes the rates into the sample.
func (m *meter) read(now time.Time, totals line.Totals, out *Sample) {
	m.forget(now)
	var sum tally
	if n := len(m.readings); n > 0 {
		sum = m.readings[n-1].plus(m.totals, totals)
	}
	m.totals = totals
	m.readings = append(m.readings, reading{now, sum})
	base := m.readings[0]
	seconds := now.Sub(base.at).Seconds()
	if seconds <= 0 {
		return
	}
	perMinute := func(n int64) float64 { return float64(n) * span.Seconds() / seconds }
	out.RateSeconds = max(1, int64(seconds+0.5))
	out.JoinsPerMinute = perMinute(sum.joined - base.joined)
	out.AdmittedPerMinute = perMinute(sum.admitted - base.admitted)
	out.DeparturesPerMinute = perMinute(sum.left - base.left)
	out.SweptPerMinute = perMinute(sum.swept - base.swept)
	out.PollsPerSecond = float64(sum.polls-base.polls) / seconds
	out.Restored = sum.restored - base.restored
}

// forget drops the readings that are older than a minute; all of them, if the
// clock was set back.
func (m *meter) forget(now time.Time) {
	n := len(m.readings)
	if n > 0 && m.readings[n-1].at.Before(now) {
		n = 0
		for n < len(m.readings) && now.Sub(m.readings[n].at) > slack {
			n++
		}
	}
	m.readings = append(m.readings[:0], m.readings[n:]...)
}
