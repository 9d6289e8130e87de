package lua

import (
	"cmp"
	"fmt"
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
	// minGlancePeriodMillis is the shortest period that is told without asking
	// for a position: spanAge, and a second of grace.
	minGlancePeriodMillis = 3_000
	// stateAge is how old the zone's state may be to work out an estimate of.
	stateAge = time.Second
	// edgeMargin is how many windows' worth of visitors lie between the edge and
	// those who are glanced at: more than it moves in stateAge.
	edgeMargin = 2
	// spanLife is when spans that nobody asks for are forgotten.
	spanLife = time.Minute
)

// view is what a server remembers of a zone to answer those who are far from the
// door without looking up their place: a position is looked up for one of those
// between two marks, and good for all of them for spanAge. See round.lua.
//
// At a million waiting this is what nineteen polls of twenty come to, and it
// halves what a poll costs Redis (docs/decisions/0010-marks.md).
type view struct {
	mu    sync.Mutex
	state line.State
	at    time.Time // when the state was asked for
	// expect of the live released will come, and there is room for so many.
	expect, room int64
	rates        window.Rates
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

// glance works out the answers of those who poll from far away, and returns how
// many they are.
func (v *view) glance(now time.Time, asks []*ask) (n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.spans) == 0 || now.Sub(v.at) > stateAge {
		return 0
	}
	nowMillis := v.state.NowMillis + now.Sub(v.at).Milliseconds()
	for _, a := range asks {
		if a.op == opPoll {
			if a.answer, a.glance = v.answer(now, nowMillis, a.place); a.glance {
				n++
			}
		}
	}
	return n
}

func (v *view) answer(now time.Time, nowMillis int64, p line.Place) (line.Answer, bool) {
	i, found := slices.BinarySearchFunc(v.spans, p.ArrivedAtMicros, func(s span, arrived int64) int {
		return cmp.Compare(s.upto, arrived)
	})
	if !found && i == len(v.spans) {
		return line.Answer{}, false
	}
	s := v.spans[i]
	// A token that is late may be of an earlier place: Redis knows.
	if p.DueMillis < nowMillis-window.GraceMillis || p.ArrivedAtMicros <= s.after || now.Sub(s.at) > spanAge {
		return line.Answer{}, false
	}
	far := s.position - 1 - v.state.Released
	if far < edgeMargin*v.state.WindowLimit {
		return line.Answer{}, false
	}
	estimate := v.rates.Estimate(v.expect, far, v.room, v.state.EdgeLive, v.state.EdgePassed)
	period := v.rates.FarPeriod(estimate, nowMillis-p.ArrivedAtMicros/1000, window.Jitter(p.ID[len(p.ID)-1], nowMillis))
	return line.Answer{
		Status: line.Waiting, Place: p,
		Position: s.position, EstimateMillis: estimate, PeriodMillis: period,
	}, period >= minGlancePeriodMillis
}

// learn remembers what a call that was sent at that time said of the zone.
func (v *view) learn(sent time.Time, state line.State, rounded, pace []int64) error {
	const roundedWidth, paceWidth = 3, 4
	if len(rounded)%roundedWidth != 0 || len(pace) != paceWidth {
		return fmt.Errorf("lua: visit: %d numbers of marks and %d of the pace", len(rounded), len(pace))
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if sent.Before(v.at) {
		return nil // an answer that was overtaken
	}
	v.state, v.at = state, sent
	v.expect, v.room = pace[0], pace[1]
	v.rates = window.Rates{PerMinute: pace[2], PeriodCapMillis: pace[3]}
	for ; len(rounded) > 0; rounded = rounded[roundedWidth:] {
		v.remember(span{after: rounded[0], upto: rounded[1], position: rounded[2], at: sent})
	}
	if sent.Sub(v.pruned) > spanLife {
		v.pruned = sent
		v.spans = slices.DeleteFunc(v.spans, func(s span) bool { return sent.Sub(s.at) > spanLife })
	}
	return nil
}

// remember puts a span in its place. Those that it overlaps are of marks that
// were lost.
func (v *view) remember(s span) {
	first, _ := slices.BinarySearchFunc(v.spans, s.after+1, func(have span, arrived int64) int {
		return cmp.Compare(have.upto, arrived)
	})
	last := first
	for last < len(v.spans) && v.spans[last].after < s.upto {
		last++
	}
	v.spans = slices.Replace(v.spans, first, last, s)
}
