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
	// spanAge is for how long the position between two marks may be told to anybody: longer than noteAfter, since a server
	// looks up all positions anew each time that it sends its notes. It is less than minTouchPeriodMillis, so no visitor
	// who polls in time has heard a newer position before. If Redis is slow, the position may be told for half of the
	// visitor's period: see fresh.
	spanAge = 3 * time.Second
	// minTouchPeriodMillis is the shortest period that is told without asking Redis. It is longer than noteLife, and
	// than spanAge.
	minTouchPeriodMillis = 5_000
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
	// speed is how many places the line moves on in a minute, those of visitors who had gone included.
	speed float64
	// wait is false for an open zone, in which nobody waits.
	wait bool
	// doubted has the visitors for whom Redis has to be asked, and since when.
	doubted map[line.ID]time.Time
	// spans lie in the order of arrivals, and do not overlap.
	spans  []span
	pruned time.Time
	// clockMillis is what the zone's clock showed in the answer to the call that was sent at clockAt, by this server's
	// own clock, which nobody sets.
	clockMillis int64
	clockAt     time.Time
}

// span is the part of the line between two marks. Visitors who arrived after the one, and not after the other, are told
// the position. speed is that of the line when the position was looked up.
type span struct {
	after, upto, position int64
	at                    time.Time
	speed                 float64
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
	return a, ok && v.fresh(s, now.Sub(s.at), time.Duration(period/2+nowMillis-p.DueMillis)*time.Millisecond)
}

// fresh reports whether no newer position than that of the span, which is of that age, was told to a visitor. At a constant
// speed the last period was at least half of the next one, since periods grow by half of what has been waited: so the
// visitor heard the last position at least heard ago. While the line slows, the last period was shorter.
func (v *rankCache) fresh(s span, age, heard time.Duration) bool {
	return age <= spanAge || age <= heard && s.speed <= 1.5*v.speed
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

// tooOld is how old a note may be, in milliseconds of the zone's clock: notes of polls up to then are not sent.
func (v *rankCache) tooOld(now time.Time) int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.millis(now) - noteLife.Milliseconds()
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
		speed := float64(now.Pace)
		if state.EdgePassed > 0 {
			speed *= float64(state.EdgePassed) / float64(max(1, state.EdgeLive))
		}
		if speed < v.speed/2 || now.PeriodCapMillis > v.rates.PeriodCapMillis {
			v.spans = nil // periods were shorter before, so visitors may have heard newer positions than these
		}
		v.state, v.at, v.expect, v.room, v.rates, v.speed, v.wait = state, sent, expect, room, now, speed, wait
	}
	for marks.more() {
		v.remember(span{after: marks.next(), upto: marks.next(), position: marks.next(), at: sent, speed: v.speed})
	}
	if sent.Sub(v.pruned) > spanLife {
		v.pruned = sent
		v.spans = slices.DeleteFunc(v.spans, func(s span) bool { return sent.Sub(s.at) > spanLife })
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
