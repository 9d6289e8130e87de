package estimate

import (
	"math"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
)

// parts is into how many equal parts a wait is divided. Visitors of one crowd leave at much the same rate in a tenth of
// the wait, and a sample of 512 still has some 50 visitors in each.
const parts = 10

// part returns the index of the part in which a share of the wait (0 to 1) lies.
func part(share float64) int { return min(parts-1, int(parts*max(0, share))) }

// counts has, for each part of the wait, how many left in it (events), and how many went through it (exposure).
type counts struct{ events, exposure [parts]float64 }

// watch counts that n visitors were there from one share of the wait up to another. The last part has no end.
func (c *counts) watch(from, until, n float64) {
	for b := part(from); b < parts && float64(b) < parts*until; b++ {
		end := min(parts*until, float64(b+1))
		if b == parts-1 {
			end = parts * until
		}
		c.exposure[b] += n * max(0, end-max(parts*from, float64(b)))
	}
}

// left counts that a visitor left at some moment between two shares of the wait, and was there until then.
func (c *counts) left(from, until float64) {
	first, last := part(from), part(until)
	for b := first; b <= last; b++ {
		over := 1.0
		if until > from {
			over = (min(until, float64(b+1)/parts) - max(from, float64(b)/parts)) / (until - from)
		}
		c.events[b] += max(0, over)
	}
}

// see counts who came and who did not, among the sampled visitors and those who entered, in the last millis milliseconds.
// t says when it is whose turn; nil if there is no table yet.
func (m *Model) see(s *line.Observation, millis float64, t *Table) (seen counts) {
	now, far, weight := float64(s.State.NowMillis), 0.0, weightOf(s)
	for i := range s.Line {
		v := &s.Line[i]
		if v.StandsAtMicros > s.State.EdgeMicros {
			far += weight
		}
		from, period := float64(v.StandsAtMicros)/1000, max(1, float64(v.PeriodMillis))
		until := max(from, float64(v.PolledMillis))
		wait := max(1000, turn(s, v.StandsAtMicros, far, t)-from)
		switch {
		case !s.There(v) && now-until-period < millis:
			seen.left((until-from)/wait, min(1, (until+period-from)/wait))
		case s.There(v) && until > now-float64(s.GraceMillis):
			// Others who were due at the same time and did not come are not known to be absent yet.
			until = max(from, until-period)
		}
		seen.watch(max(0, now-millis-period/2-from)/wait, (until-from)/wait, 1)
	}
	for _, c := range m.came {
		seen.watch(max(0, now-millis-c.fromMillis)/max(1000, c.atMillis-c.fromMillis), 1, c.n/weight)
	}
	return seen
}

// turn returns when it is the turn of a visitor who stands there, with far others ahead beyond the edge. A released
// visitor's turn is now.
func turn(s *line.Observation, stands int64, far float64, t *Table) float64 {
	switch {
	case stands <= s.State.EdgeMicros:
		return float64(s.State.NowMillis)
	case t != nil && stands <= t.last:
		return pointAt(t.points, stands).measured
	default:
		return float64(s.SlotMillis) + far*window.MinuteMillis/float64(s.Pace)*(1-supposed)
	}
}

// hazard is how likely a visitor is to leave, cumulated up to each border of the parts.
type hazard [parts + 1]float64

// hazardOf works out the hazard from what was seen. Where few visitors went through a part, it is what was supposed
// times how much this crowd differs from that.
func hazardOf(c *counts) (h hazard) {
	flat := -math.Log(1-supposed) / parts
	events, expected := 1.0, 1.0
	for b := range parts {
		events += c.events[b]
		expected += flat * c.exposure[b]
	}
	for b := range parts {
		h[b+1] = h[b] + (c.events[b]+few*flat*events/expected)/(c.exposure[b]+few)
	}
	return h
}

// upTo is the hazard cumulated up to a share of the wait.
func (h *hazard) upTo(share float64) float64 {
	at := parts * min(max(share, 0), 1)
	b := min(int(at), parts-1)
	return h[b] + (h[b+1]-h[b])*(at-float64(b))
}

// staying is the probability that a visitor who was there after waited is still there after wait, at its turn.
func (h *hazard) staying(waited, wait float64) float64 {
	return math.Exp(h.upTo(waited/max(1, wait)) - h[parts])
}
