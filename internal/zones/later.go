package zones

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// When those who are refused come back, in milliseconds.
const (
	// soonMillis is the longest period that a visitor whose turn is near is told. During an outage it grows by one
	// longPart-th of the outage's length, up to lateMillis. So 10 s into an outage it is 3.5 s, and after 20 s and more 4 s.
	soonMillis, lateMillis, longPart = 3_000, 4_000, 20
	// refusalsFadeMillis is the time constant of the count of refusals of whom it is not known when their turn is, in
	// milliseconds. Each refusal counts for 1 at first, and for 1/e of that 10 s later. With 150 refusals a second the count
	// settles at 1,500.
	refusalsFadeMillis = 10_000
	// perRefusal is how many milliseconds each counted refusal adds to the longest period. With 150 refusals a second the
	// longest period is 3 s, with 1,000 a second 20 s.
	perRefusal = 2
	// unheardMillis is the longest period in a zone of which this server never heard: it may have a short idle timeout.
	unheardMillis = window.NearPeriodMillis
)

// LaterError is line.ErrStoreUnavailable, with when to come back.
type LaterError struct {
	// RetryMillis is in how many milliseconds to come back: 1,000 to 20,000; up to 60,000 far from the front.
	RetryMillis int64
	// Behind: the store answered others less than AwayAfter ago. So it is not away, but has too much to do.
	Behind bool
	err    error
}

// Error returns the sentence for a log.
func (e *LaterError) Error() string { return fmt.Sprintf("%v; again in %d ms", e.err, e.RetryMillis) }

// Unwrap returns an error that wraps line.ErrStoreUnavailable.
func (e *LaterError) Unwrap() error { return e.err }

// RetryAfterSeconds is when to come back, rounded up.
func (e *LaterError) RetryAfterSeconds() int { return int((e.RetryMillis + 999) / 1000) }

// later returns the error of a visitor's call. If the store did not answer it, or was not asked, the error says when the
// visitor is to come back. z is nil for a zone that this server does not know.
func (r *Zones) later(z *Zone, v visitor, err error) error {
	if !errors.Is(err, line.ErrStoreUnavailable) {
		return err
	}
	now := r.Millis()
	if z != nil {
		retry, behind := z.retryMillis(v, now)
		return &LaterError{retry, behind, err}
	}
	r.refusedMu.Lock()
	defer r.refusedMu.Unlock()
	return &LaterError{spread(min(r.refused.longest(now), unheardMillis), v, now), false, err}
}

// retryMillis returns in how many milliseconds a refused visitor of the zone is to come back (decision 0037), and whether
// the store is behind.
func (z *Zone) retryMillis(v visitor, now int64) (retry int64, behind bool) {
	o := &z.outage
	s, known := z.remembered()
	o.mu.Lock()
	defer o.mu.Unlock()
	if !known || z.now.Load() == 0 || v.newcomer || s.Mode == zone.ModeOpen {
		longest := o.refused.longest(now)
		if !known {
			longest = min(longest, unheardMillis)
		}
		return spread(longest, v, now), false
	}
	behind = o.phase == calm || o.phase == failing && now-o.failedAt < AwayAfter.Milliseconds()
	wait := z.expect(z.placed(v.place).StandsAtMicros(), now+z.ahead.Load())
	longest := int64(soonMillis)
	switch o.phase {
	case returning:
		wait += max(0, o.calmAt-now)
	case away:
		wait = max(0, wait-o.reach(now))
	case failing:
		longest = min(lateMillis, soonMillis+max(0, now-o.failedAt)/longPart)
	case calm:
	}
	r := window.RatesOf(s)
	most := r.PeriodCapMillis
	if wait*r.Pace/window.MinuteMillis < window.FarAway {
		most = min(most, window.FarPeriodMillis)
	}
	return spread(min(max(longest, window.FarPart(wait)), most), v, now), behind
}

// spread returns in how many milliseconds a visitor is to come back: at most longest, evenly distributed over the last
// three eighths of it or over its last 3 s, whichever is more; but never less than 1 s.
func spread(longest int64, v visitor, now int64) int64 {
	least := max(0, min(longest*5/8, longest-3_000))
	// The id and the time are mixed as in SplitMix64, so that what a visitor is told next does not follow from what
	// it was told before.
	x := binary.BigEndian.Uint64(v.place.ID[:]) ^ uint64(now)*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return max(1_000, least+(longest-least)*(1+int64(x>>56))/256)
}

// refusals counts the refused of whom it is not known when their turn is. A refusal counts for less the older it is. The zero
// value is ready.
type refusals struct {
	count    float64
	atMillis int64
}

// longest counts one more refusal, and returns the longest period, in milliseconds, that visitors are told now. It
// grows with the number of refusals lately.
func (t *refusals) longest(nowMillis int64) int64 {
	t.count = 1 + t.count*math.Exp(float64(min(0, t.atMillis-nowMillis))/refusalsFadeMillis)
	t.atMillis = max(t.atMillis, nowMillis)
	return min(max(soonMillis, int64(t.count*perRefusal)), window.FarPeriodMillis)
}
