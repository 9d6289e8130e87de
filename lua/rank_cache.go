package lua

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
)

const (
	// spanAge is how long the position of those between two marks is good for anybody:
	// shorter than the time between two polls of whoever it is told to, so that what a
	// visitor heard before is never newer. Far away it is good for half the
	// visitor's period: see fresh.
	spanAge = 2 * time.Second
	// spanRefresh is in which time a server looks up all positions anew, together with its notes.
	spanRefresh = 5 * time.Second
	// ageMargin is how many times as far somebody is as the line moved on since it was looked
	// up: for more than spanAge that takes a minute.
	ageMargin = 30
	// minTouchPeriodMillis is the shortest period that is told without asking
	// for a position: above noteLife, and above spanAge.
	minTouchPeriodMillis = 5_000
	// maxDoubted is of how many visitors it is remembered that they have to ask. While
	// there are more, everybody has to.
	maxDoubted = 50_000
	// stateAge is how old the zone's state may be to work out an estimate of. With notes to
	// send, it is asked for every noteAfter. It is several of those, for on a server that is offered more
	// than it can answer, replies of Redis are seen late, and calls fail for that.
	stateAge = 10 * time.Second
	// edgeMargin is how many windows' worth of visitors lie between the edge and
	// those whose position is remembered, for each second of the state's age: more
	// than it moves in that time.
	edgeMargin = 2
	// exactUpTo is EXACT of position.lua: from so many on a server answers by itself.
	exactUpTo = 51_200
	// markEvery is MARK_EVERY of position.lua.
	markEvery = 512
	// spanLife is when spans that nobody asks for are forgotten, and who has to ask:
	// by then the token of such a one is late.
	spanLife = time.Minute
	// lossMillis and the longest period are for how long after a loss everybody has to ask: until
	// who is in time has done so once. So it is known of each who comes in time later that it was
	// not lost.
	lossMillis = 5_000
)

// rankCache is what a server remembers of a zone to answer those who are far from the
// door without asking Redis: a position is looked up for one of those between two marks,
// and good for all of them for spanAge. See position.lua. That they were there, Redis
// hears later: see notes.
//
// At a million waiting this is what nineteen polls of twenty come to
// (docs/decisions/0010-marks.md).
type rankCache struct {
	mu    sync.Mutex
	state line.State
	at    time.Time // when the state was asked for
	// expect of the live released will come, and there is room for so many.
	expect, room int64
	rates        window.Rates
	// speeds are how many places the line moved on in a minute, at most, since the time, and in a
	// span before it that is longer than the longest period: those of visitors who have gone count.
	speeds     [2]float64
	speedsFrom time.Time
	// wait: in an open zone nobody does.
	wait bool
	// doubted have to ask, and since when.
	doubted map[line.ID]time.Time
	// spans lie in the order of arrivals, and do not overlap.
	spans  []span
	pruned time.Time
}

// span is the part of the line between two marks: all who arrived after the
// one and not after the other have the position.
type span struct {
	after, upto, position int64
	at                    time.Time
}

// answer works out the answer to one who polls from far away.
func (v *rankCache) answer(now time.Time, p line.Place) (line.Answer, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	nowMillis := v.millis(now)
	switch {
	case !v.wait, now.Sub(v.at) > stateAge:
		return line.Answer{}, false
	case nowMillis < v.state.LostAtMillis+v.rates.PeriodCapMillis+lossMillis, p.Epoch != v.state.Epoch, len(v.doubted) >= maxDoubted:
		return line.Answer{}, false
	}
	if _, doubted := v.doubted[p.ID]; doubted {
		return line.Answer{}, false
	}
	if p.DueMillis < nowMillis-v.rates.PeriodCapMillis*3/4 {
		return line.Answer{}, false // it may be of an earlier place, or swept: Redis knows
	}
	hold := max(0, v.state.OpensAtMillis-nowMillis)
	if jitter := window.Jitter(p.ID[len(p.ID)-1], nowMillis); nowMillis < v.state.SettlesAtMillis {
		if v.state.Waiting < exactUpTo {
			return line.Answer{}, false // Redis has time for so many
		}
		return v.said(p, nowMillis, 0, min(hold, window.MaxEstimateMillis), v.rates.GatherPeriod(jitter))
	}
	i, found := slices.BinarySearchFunc(v.spans, p.StandsAtMicros(), func(s span, arrived int64) int {
		return cmp.Compare(s.upto, arrived)
	})
	if !found && i == len(v.spans) {
		return line.Answer{}, false
	}
	s := v.spans[i]
	far := s.position - 1 - v.state.Released
	if p.StandsAtMicros() <= s.after || far < edgeMargin*v.state.WindowLimit*(1+int64(now.Sub(v.at)/time.Second)) {
		return line.Answer{}, false
	}
	estimate := min(window.MaxEstimateMillis, hold+v.rates.Estimate(v.expect, far, v.room, v.state.EdgeLive, v.state.EdgePassed))
	period := v.rates.FarPeriod(far, estimate, nowMillis-p.ArrivedAtMicros/1000, window.Jitter(p.ID[len(p.ID)-1], nowMillis))
	a, ok := v.said(p, nowMillis, s.position, estimate, period)
	return a, ok && v.fresh(far, now.Sub(s.at), time.Duration(period/2+nowMillis-p.DueMillis)*time.Millisecond)
}

// millis is what the zone's clock says. The caller holds mu.
func (v *rankCache) millis(now time.Time) int64 {
	return v.state.NowMillis + now.Sub(v.at).Milliseconds()
}

// fresh reports whether a position of that age is newer than what one who is so far was told before, and
// nearly that of now. Where the wait was longer than a minute even then, that was longer ago than
// since: the period does not depend on the wait there, and was half of what it is now at the
// least, for it grows by half of what passes until the next poll, and by the jitter.
func (v *rankCache) fresh(far int64, age, since time.Duration) bool {
	return age <= spanAge || age <= since && float64(far) >= ageMargin*age.Minutes()*max(v.speeds[0], v.speeds[1])
}

// sped takes in how fast the line moves on at a time, by a state and rates.
func (v *rankCache) sped(at time.Time, s line.State, r window.Rates) {
	speed := float64(r.Pace)
	switch {
	case v.rates.PeriodCapMillis > 0 && r.PeriodCapMillis > v.rates.PeriodCapMillis:
		speed = math.Inf(1) // periods were shorter whatever the wait
	case s.EdgePassed > 0 && speed > 0:
		speed *= float64(s.EdgePassed) / float64(s.EdgeLive)
	}
	if at.Sub(v.speedsFrom) > time.Duration(r.PeriodCapMillis)*time.Millisecond+spanRefresh {
		v.speeds[0], v.speeds[1], v.speedsFrom = 0, v.speeds[0], at
	}
	v.speeds[0] = max(v.speeds[0], speed)
}

// far reports whether somebody is far from the front, and can come again a little later if
// Redis has too much to do.
func (v *rankCache) far(now time.Time, p line.Place) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, doubted := v.doubted[p.ID]; doubted {
		return false
	}
	return v.millis(now) < v.state.SettlesAtMillis || len(v.spans) > 0 && p.StandsAtMicros() > v.spans[0].upto
}

// tried is what Redis is told of one whose poll it did not answer; false where nothing is known.
func (v *rankCache) tried(now time.Time, p line.Place) (told uint64, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return uint64(v.millis(now))<<16 | minTouchPeriodMillis, p.Epoch == v.state.Epoch && v.rates.PeriodCapMillis >= minTouchPeriodMillis
}

// due returns how many marks are to be looked up after so much time, so that all are in
// spanRefresh; and until when notes were taken that are too old by now, in ms of the zone's clock.
func (v *rankCache) due(now time.Time, passed time.Duration) (marks int, old int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	marks = int(float64(v.state.Waiting/markEvery) * min(1, passed.Seconds()/spanRefresh.Seconds()))
	return marks, v.millis(now) - noteLife.Milliseconds()
}

// said is the answer to one who waits, if the period is long enough for it.
func (v *rankCache) said(p line.Place, nowMillis, position, estimate, period int64) (line.Answer, bool) {
	a := line.Answer{
		Status: line.Waiting, Place: p, Remembered: true, State: v.state,
		Position: position, EstimateMillis: estimate, PeriodMillis: period,
	}
	a.Place.ScoreMicros, a.State.NowMillis = 0, nowMillis
	a.Renew()
	return a, period >= minTouchPeriodMillis
}

// doubt has visitors ask the next time.
func (v *rankCache) doubt(now time.Time, ids []line.ID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.doubted == nil {
		v.doubted = make(map[line.ID]time.Time)
	}
	for _, id := range ids {
		v.doubted[id] = now
	}
}

// forget has everybody ask, until Redis has said how the zone is from now on.
func (v *rankCache) forget(now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.wait, v.at = false, now
}

// learn remembers what a call that was sent at that time said of the zone.
func (v *rankCache) learn(sent time.Time, state line.State, rounded, pace []int64) error {
	marks, rates := reader{left: rounded}, reader{left: pace}
	v.mu.Lock()
	defer v.mu.Unlock()
	expect, room, now, wait := rates.next(), rates.next(), window.Rates{Pace: rates.next(), PeriodCapMillis: rates.next()}, rates.next() != 0
	if !sent.Before(v.at) { // not overtaken
		v.sped(sent, state, now)
		v.state, v.at, v.expect, v.room, v.rates, v.wait = state, sent, expect, room, now, wait
	}
	for marks.more() {
		v.remember(span{after: marks.next(), upto: marks.next(), position: marks.next(), at: sent})
	}
	if sent.Sub(v.pruned) > spanLife {
		v.pruned = sent
		v.spans = slices.DeleteFunc(v.spans, func(s span) bool { return sent.Sub(s.at) > spanLife })
		maps.DeleteFunc(v.doubted, func(_ line.ID, since time.Time) bool { return sent.Sub(since) > spanLife })
	}
	return errors.Join(marks.end("poll", "marks"), rates.end("poll", "the pace"))
}

// remember puts a span in its place, unless a newer one is there. Others that it overlaps
// are of marks that were lost.
func (v *rankCache) remember(s span) {
	first, _ := slices.BinarySearchFunc(v.spans, s.after+1, func(have span, arrived int64) int {
		return cmp.Compare(have.upto, arrived)
	})
	last := first
	for last < len(v.spans) && v.spans[last].after < s.upto {
		last++
	}
	if !slices.ContainsFunc(v.spans[first:last], func(have span) bool { return s.at.Before(have.at) }) {
		v.spans = slices.Replace(v.spans, first, last, s)
	}
}
