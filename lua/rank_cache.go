package lua

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
)

const (
	// spanAge is how long the position of those between two marks is good for:
	// shorter than the time between two polls of anybody whom it is told to,
	// so that what a visitor heard before is never newer.
	spanAge = 2 * time.Second
	// minTouchPeriodMillis is the shortest period that is told without asking
	// for a position: above noteLife, and above spanAge.
	minTouchPeriodMillis = 5_000
	// maxDoubted is of how many visitors it is remembered that they have to ask. While
	// there are more, everybody has to.
	maxDoubted = 50_000
	// stateAge is how old the zone's state may be to work out an estimate of.
	stateAge = time.Second
	// edgeMargin is how many windows' worth of visitors lie between the edge and
	// those whose position is remembered: more than it moves in stateAge.
	edgeMargin = 2
	// exactUpTo is EXACT of position.lua: from so many on a server answers by itself.
	exactUpTo = 51_200
	// spanLife is when spans that nobody asks for are forgotten, and who has to ask:
	// by then the token of such a one is late.
	spanLife = time.Minute
	// lossMillis is for how long after a loss everybody has to ask: until who is in time has
	// done so once. So it is known of each who comes in time later that it was not lost.
	lossMillis = window.MaxPeriodMillis + 5_000
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
	nowMillis := v.state.NowMillis + now.Sub(v.at).Milliseconds()
	switch {
	case !v.wait, now.Sub(v.at) > stateAge:
		return line.Answer{}, false
	case nowMillis < v.state.LostAtMillis+lossMillis, p.Epoch != v.state.Epoch, len(v.doubted) >= maxDoubted:
		return line.Answer{}, false
	}
	if _, doubted := v.doubted[p.ID]; doubted {
		return line.Answer{}, false
	}
	if p.DueMillis < nowMillis-window.GraceMillis {
		return line.Answer{}, false // it may be of an earlier place: Redis knows
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
	if p.StandsAtMicros() <= s.after || now.Sub(s.at) > spanAge {
		return line.Answer{}, false
	}
	far := s.position - 1 - v.state.Released
	if far < edgeMargin*v.state.WindowLimit {
		return line.Answer{}, false
	}
	estimate := min(window.MaxEstimateMillis, hold+v.rates.Estimate(v.expect, far, v.room, v.state.EdgeLive, v.state.EdgePassed))
	period := v.rates.FarPeriod(estimate, nowMillis-p.ArrivedAtMicros/1000, window.Jitter(p.ID[len(p.ID)-1], nowMillis))
	return v.said(p, nowMillis, s.position, estimate, period)
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
	if sent.Before(v.at) {
		return nil // an answer that was overtaken
	}
	v.state, v.at = state, sent
	v.expect, v.room = rates.next(), rates.next()
	v.rates = window.Rates{Pace: rates.next(), PeriodCapMillis: rates.next()}
	v.wait = rates.next() != 0
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

// remember puts a span in its place. Those that it overlaps are of marks that
// were lost.
func (v *rankCache) remember(s span) {
	first, _ := slices.BinarySearchFunc(v.spans, s.after+1, func(have span, arrived int64) int {
		return cmp.Compare(have.upto, arrived)
	})
	last := first
	for last < len(v.spans) && v.spans[last].after < s.upto {
		last++
	}
	v.spans = slices.Replace(v.spans, first, last, s)
}
