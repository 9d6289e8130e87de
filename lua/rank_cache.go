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
	// spanAge is for how long the position between two marks may be told to anybody. It is less than
	// minTouchPeriodMillis, so no visitor has heard a newer position before. Far from the front the position may be
	// told for half of the visitor's period: see fresh.
	spanAge = 2 * time.Second
	// spanRefresh is the time within which a server looks up all positions anew, along with sending its notes.
	spanRefresh = 5 * time.Second
	// ageMargin: a position that is older than spanAge is told only to a visitor with ageMargin times as many ahead
	// as the line has moved on since the position was looked up. So it is wrong by a thirtieth at most.
	ageMargin = 30
	// minTouchPeriodMillis is the shortest period that is told without asking Redis. It is longer than noteLife, and
	// than spanAge.
	minTouchPeriodMillis = 5_000
	// maxVouched is how many visitors with old tokens are remembered, some 48 bytes each.
	maxVouched = 1 << 20
	// maxDoubted is how many visitors are remembered for whom Redis has to be asked. While there are as many, Redis
	// is asked for everybody.
	maxDoubted = 50_000
	// stateAge is how old the zone's state may be when an answer is made from it. A server with notes to send asks for
	// the state every noteAfter. stateAge is several times that, since an overloaded server sees the replies of Redis
	// late, and some calls fail.
	stateAge = 10 * time.Second
	// edgeMargin is how many windows' worth of visitors lie between the edge and the first visitor who is answered
	// from memory, for each second of the state's age. The edge moves less than that.
	edgeMargin = 2
	// exactUpTo is EXACT of position.lua. Behind so many visitors a server answers by itself.
	exactUpTo = 51_200
	// markEvery is MARK_EVERY of position.lua.
	markEvery = 512
	// spanLife is after how long a span is forgotten that was not looked up again, and after how long a doubted visitor
	// is forgotten, whose token is late by then.
	spanLife = time.Minute
	// lossMillis, added to the longest period, is for how long after a loss Redis is asked for everybody. By then every
	// visitor who polls in time has polled once. So a visitor who polls in time later is known not to be lost.
	lossMillis = 5_000
)

// rankCache is what a server remembers of a zone to answer visitors far from the front
// without asking Redis. A position that was looked up for one visitor between two marks
// is good for all visitors between them, for spanAge: see position.lua. Redis hears
// later that they polled: see notes.
//
// With a million waiting, nineteen polls of twenty are answered so
// (docs/engineering/decisions/0010-marks.md).
type rankCache struct {
	mu    sync.Mutex
	state line.State
	at    time.Time // when the state was asked for
	// expect is how many live released visitors will come, and room how many may enter now.
	expect, room int64
	rates        window.Rates
	// speeds are the most places by which the line moved on in a minute, those of visitors who had gone included: since
	// speedsFrom, and in the time before it, which was longer than the longest period.
	speeds     [2]float64
	speedsFrom time.Time
	// wait is false for an open zone, in which nobody waits.
	wait bool
	// doubted has the visitors for whom Redis has to be asked, and since when.
	doubted map[line.ID]time.Time
	// vouched has the visitors whose tokens are old, as of clients that keep their first one, and what this server told
	// them last. It stands for a newer token.
	vouched map[line.ID]vouched
	// spans lie in the order of arrivals, and do not overlap.
	spans  []span
	pruned time.Time
	// clockMillis is what the zone's clock showed in the answer to the call that was sent at clockAt, by this server's
	// own clock, which nobody sets.
	clockMillis int64
	clockAt     time.Time
}

// vouched is where a visitor stands, and when the visitor is to come again, in milliseconds of the zone's clock.
type vouched struct{ arrivedAtMicros, dueMillis int64 }

// span is the part of the line between two marks. Visitors who arrived after the one, and not after the other, are told
// the position.
type span struct {
	after, upto, position int64
	at                    time.Time
}

// answer works out the answer to a visitor far from the front; false if Redis has to be asked.
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
	p.DueMillis = max(p.DueMillis, v.due(p))
	if p.DueMillis < nowMillis-v.rates.PeriodCapMillis*3/4 {
		return line.Answer{}, false // the token may be of an earlier place, or the visitor was swept: Redis knows
	}
	hold := max(0, v.state.OpensAtMillis-nowMillis)
	if jitter := window.Jitter(p.ID[len(p.ID)-1], nowMillis); nowMillis < v.state.SettlesAtMillis {
		if v.state.Waiting < exactUpTo {
			return line.Answer{}, false // for so few, Redis has the time
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

// due is when a visitor with an old token was told to come again; 0 if that is not known. The caller holds mu.
func (v *rankCache) due(p line.Place) int64 {
	if is := v.vouched[p.ID]; is.arrivedAtMicros == p.ArrivedAtMicros {
		return is.dueMillis
	}
	return 0
}

// vouch remembers what a visitor was told who polled with p, if that token is old.
func (v *rankCache) vouch(p line.Place, a *line.Answer) {
	if a.Status != line.Waiting || p.DueMillis >= a.State.NowMillis-window.GraceMillis || a.Place.ArrivedAtMicros != p.ArrivedAtMicros {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.vouched == nil {
		v.vouched = make(map[line.ID]vouched)
	}
	if _, known := v.vouched[p.ID]; known || len(v.vouched) < maxVouched {
		v.vouched[p.ID] = vouched{p.ArrivedAtMicros, a.Place.DueMillis}
	}
}

// millis is what the zone's clock says. The caller holds mu.
func (v *rankCache) millis(now time.Time) int64 {
	return v.state.NowMillis + now.Sub(v.at).Milliseconds()
}

// expects returns what the zone's clock should show now, in milliseconds; 0 if that is not known.
func (v *rankCache) expects(steady time.Time) int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.clockAt.IsZero() || steady.IsZero() {
		return 0
	}
	return v.clockMillis + steady.Sub(v.clockAt).Milliseconds()
}

// heard takes in what the zone's clock showed when a call was answered that was sent then.
func (v *rankCache) heard(steady time.Time, clockMillis int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !steady.Before(v.clockAt) {
		v.clockMillis, v.clockAt = clockMillis, steady
	}
}

// fresh reports whether a position of that age may be told to a visitor with far ahead beyond the edge: it must be newer
// than what that visitor was told before, and nearly what it is now. since is the least time since the visitor was
// told a position before, if the wait was longer than a minute even then: there the period does not depend on the wait,
// and the last period was at least half of the next one, since periods grow by half of what has been waited.
func (v *rankCache) fresh(far int64, age, since time.Duration) bool {
	return age <= spanAge || age <= since && float64(far) >= ageMargin*age.Minutes()*max(v.speeds[0], v.speeds[1])
}

// sped takes in how fast the line moves on at a time.
func (v *rankCache) sped(at time.Time, s line.State, r window.Rates) {
	speed := float64(r.Pace)
	switch {
	case v.rates.PeriodCapMillis > 0 && r.PeriodCapMillis > v.rates.PeriodCapMillis:
		speed = math.Inf(1) // all periods were shorter before, so since is not true
	case s.EdgePassed > 0 && speed > 0:
		speed *= float64(s.EdgePassed) / float64(s.EdgeLive)
	}
	if at.Sub(v.speedsFrom) > time.Duration(r.PeriodCapMillis)*time.Millisecond+spanRefresh {
		v.speeds[0], v.speeds[1], v.speedsFrom = 0, v.speeds[0], at
	}
	v.speeds[0] = max(v.speeds[0], speed)
}

// far reports whether a visitor is not released, and so can come again a little later if Redis is overloaded.
func (v *rankCache) far(now time.Time, p line.Place) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, doubted := v.doubted[p.ID]; doubted {
		return false
	}
	return v.millis(now) < v.state.SettlesAtMillis || p.StandsAtMicros() > v.state.EdgeMicros
}

// tried is what Redis is told of a visitor whose poll it did not answer; false if the zone's state is not known.
func (v *rankCache) tried(now time.Time, p line.Place) (told uint64, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return uint64(v.millis(now))<<16 | minTouchPeriodMillis, p.Epoch == v.state.Epoch && v.rates.PeriodCapMillis >= minTouchPeriodMillis
}

// dueMarks returns how many marks to look up when so much time has passed since the last call, so that all are looked up
// within spanRefresh. Notes of polls up to old, in milliseconds of the zone's clock, are too old to be sent.
func (v *rankCache) dueMarks(now time.Time, passed time.Duration) (marks int, old int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	marks = int(float64(v.state.Waiting/markEvery) * min(1, passed.Seconds()/spanRefresh.Seconds()))
	return marks, v.millis(now) - noteLife.Milliseconds()
}

// said is the answer to a waiting visitor; false if the period is too short to be told without asking Redis.
func (v *rankCache) said(p line.Place, nowMillis, position, estimate, period int64) (line.Answer, bool) {
	a := line.Answer{
		Status: line.Waiting, Place: p, Remembered: true, State: v.state,
		Position: position, WaitMillis: estimate, PeriodMillis: period,
	}
	a.Place.ScoreMicros, a.State.NowMillis = 0, nowMillis
	a.Renew()
	return a, period >= minTouchPeriodMillis
}

// doubt has Redis be asked when one of these visitors polls next.
func (v *rankCache) doubt(now time.Time, ids []line.ID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.doubted == nil {
		v.doubted = make(map[line.ID]time.Time)
	}
	for _, id := range ids {
		v.doubted[id] = now
		delete(v.vouched, id)
	}
}

// forget has Redis be asked for everybody, until it has said how the zone is from now on.
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
	if !sent.Before(v.at) { // no later call was answered before this one
		v.sped(sent, state, now)
		v.state, v.at, v.expect, v.room, v.rates, v.wait = state, sent, expect, room, now, wait
	}
	for marks.more() {
		v.remember(span{after: marks.next(), upto: marks.next(), position: marks.next(), at: sent})
	}
	if sent.Sub(v.pruned) > spanLife {
		v.pruned = sent
		v.spans = slices.DeleteFunc(v.spans, func(s span) bool { return sent.Sub(s.at) > spanLife })
		maps.DeleteFunc(v.vouched, func(_ line.ID, is vouched) bool { return is.dueMillis < state.NowMillis-now.PeriodCapMillis })
		maps.DeleteFunc(v.doubted, func(_ line.ID, since time.Time) bool { return sent.Sub(since) > spanLife })
	}
	return errors.Join(marks.end("poll", "marks"), rates.end("poll", "the pace"))
}

// remember puts a span in its place, unless a newer one is there. Older spans that it overlaps are removed: one of their
// marks was lost.
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
