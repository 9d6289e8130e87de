package fallback

import (
	"fmt"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// When those who are refused come back, in milliseconds.
const (
	// soonMillis is the longest told to one whose turn is near. In a long outage it grows by a
	// longPart of that, up to lateMillis: nobody is late by more when the store is back.
	soonMillis, lateMillis, longPart = 3_000, 4_000, 20
	// turnedSeconds is over how many seconds those are counted whose turn is not known.
	turnedSeconds = 10
	// perTurned is how much longer each of them makes what all are told: 1,500 in ten seconds are
	// told 3 s at most, 10,000 are told 20 s.
	perTurned = 2
	// unheardMillis is the longest told in a zone of which this server never heard: it may have a
	// short idle timeout.
	unheardMillis = window.NearPeriodMillis
	// frontMillis: where servers admit by themselves, those come back soon whose turn is within so
	// long. TestOrderInAnOutage says what order comes of it.
	frontMillis = 15_000
)

// LaterError is line.ErrStoreUnavailable, with when to come back.
type LaterError struct {
	// RetryMillis is in how many milliseconds: 1,000 to 20,000, or to 60,000 for those far away.
	RetryMillis int64
	err         error
}

// Error returns the sentence for a log.
func (e *LaterError) Error() string { return fmt.Sprintf("%v; again in %d ms", e.err, e.RetryMillis) }

// Unwrap returns an error that wraps line.ErrStoreUnavailable.
func (e *LaterError) Unwrap() error { return e.err }

// RetryAfterSeconds is when to come back, rounded up.
func (e *LaterError) RetryAfterSeconds() int { return int((e.RetryMillis + 999) / 1000) }

// later says when a visitor comes back whose call the store did not answer.
func (p *Policy) later(zoneID string, v visitor, err error) error {
	now := p.clock.millis()
	if b := p.breaker(zoneID); b != nil {
		return &LaterError{b.retryMillis(v, now), err}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return &LaterError{spread(min(p.turned.longest(now), unheardMillis), v, now), err}
}

// retryMillis is when a visitor of the zone who is refused comes back. See the package's
// description.
func (b *breaker) retryMillis(v visitor, now int64) int64 {
	settings, known := b.policy.lines.Remembered(b.zoneID)
	wait, heard := b.policy.lines.Expect(b.zoneID, v.place, b.zoneMillis(now))
	b.mu.Lock()
	defer b.mu.Unlock()
	if !known || !heard || v.newcomer || settings.Mode == zone.ModeOpen {
		longest := b.turned.longest(now)
		if !known {
			longest = min(longest, unheardMillis)
		}
		return spread(longest, v, now)
	}
	longest := int64(soonMillis)
	switch {
	case b.phase == settling:
		wait += max(0, b.settled-now)
	case admits(settings, b.policy.servers): // the servers go on, and look who of the front is there
		passed, _ := b.policy.lines.Expect(b.zoneID, line.Place{ArrivedAtMicros: b.askers.reach}, b.zoneMillis(now))
		wait = max(0, wait-passed-frontMillis)
	case b.phase == failing:
		longest = min(lateMillis, soonMillis+max(0, now-b.failedAt)/longPart)
	}
	r := window.RatesOf(settings)
	most := r.PeriodCapMillis
	if wait*r.Pace/window.MinuteMillis < window.FarAway {
		most = min(most, window.FarPeriodMillis)
	}
	return spread(min(max(longest, window.FarPart(wait)), most), v, now)
}

// spread is when one comes back who is told to by then: evenly over the last three eighths of
// that time, and over three seconds at least, but after no less than one.
func spread(longest int64, v visitor, now int64) int64 {
	least := max(0, min(longest*5/8, longest-3_000))
	return max(1_000, least+(longest-least)*(1+window.Jitter(v.place.ID[7], now))/256)
}

// turned counts those who are turned away of whom it is not known when their turn is. The zero
// value is right.
type turned struct {
	seconds [turnedSeconds]int64
	second  int64
	sum     int64
}

// longest counts one more, and is the longest that any is told now: the longer, the more there
// were lately.
func (t *turned) longest(nowMillis int64) int64 {
	at := nowMillis / 1000
	t.second = max(t.second, at-turnedSeconds)
	for t.second < at {
		t.second++
		gone := &t.seconds[t.second%turnedSeconds]
		t.sum, *gone = t.sum-*gone, 0
	}
	t.sum++
	t.seconds[at%turnedSeconds]++
	return min(max(soonMillis, t.sum*perTurned), window.FarPeriodMillis)
}
