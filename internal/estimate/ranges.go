package estimate

import (
	"math"
	"slices"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
)

const (
	// sure is how far the logarithm of a wait may be off if nobody ahead is expected to leave. leaves is what is added
	// if all are, and unknown what is added while nothing is known of how many leave.
	sure, leaves, unknown = 0.02, 0.4, 1.0
	// clump is the uncertainty that the moments of polls and the length of windows add, in milliseconds.
	clump = 1_500.0
	// normal is how many spreads the range begins with on each side: four fifths of a normal distribution.
	normal = 1.28
	// step is by how much one comparison moves the ends of the range.
	step = 0.025
	// scattered is by how much people enter sooner or later than their place does, in milliseconds.
	scattered = 300.0
	// outside is the share of waits that is to lie outside the range.
	outside = 0.2
	// leastCompared is the shortest wait that is compared, in milliseconds.
	leastCompared = 6_000
)

// ranges follow how good the estimates were. q has, for each third of the wait in which estimates were told, the two ends
// of the range, in widths, between which the real wait lay four times out of five.
type ranges struct {
	q [3][2]float64
	// told are earlier tables; the older, the fewer are kept.
	told []*Table
	// turn and admitted are of the latest comparison.
	turn, admitted int64
}

// renew has ranges that became narrow begin anew.
func (r *ranges) renew() {
	for b := range r.q {
		r.q[b][0], r.q[b][1] = min(r.q[b][0], -normal), max(r.q[b][1], normal)
	}
}

// unsure is how far the logarithm of a wait may be off if all who are ahead are expected to leave.
func (m *Model) unsure() float64 {
	known := doubt
	for _, c := range m.lately.share {
		known += 10 * c.events
	}
	return leaves + unknown/math.Sqrt(known)
}

// spread is how far the logarithm of a released visitor's wait may be off.
func (t *Table) spread() float64 { return sure + (1-t.coming)*leaves }

// appointment is the range for a visitor who was told when its slot opens. If that is the longest estimate, the zone was
// paused after the table was made, and no range is known.
func (t *Table) appointment(millis int64) (low, high int64) {
	if millis >= window.MaxEstimateMillis {
		return millis, millis
	}
	wait := float64(millis)
	by := math.Exp(normal * (t.spread() + clump/2/max(clump, wait)))
	return int64(wait / by), min(int64(wait*by+clump/2), window.MaxEstimateMillis)
}

// third is in which third of a wait a time lies.
func third(now, from, entry float64) int {
	return int(min(2, max(0, 3*(now-from)/max(1, entry-from))))
}

// width is a spread together with the clump of a wait of that length.
func (p *point) width(wait float64) float64 { return p.spread + clump/max(clump, wait) }

// put puts the ranges into a table.
func (r *ranges) put(t *Table) {
	if r.q[0][1] == 0 {
		r.renew()
	}
	now := float64(t.at)
	for i := range t.points {
		p := &t.points[i]
		wait := max(0, p.entry-now)
		q := r.q[third(now, float64(p.micros)/1000, p.entry)]
		p.low, p.high = now+wait*math.Exp(q[0]*p.width(wait)), now+wait*math.Exp(q[1]*p.width(wait))
	}
}

// score compares what earlier tables said of the place whose turn it is now with the real wait.
func (r *ranges) score(s *line.Sample, turn int64) {
	if turn == r.turn || s.Admitted == r.admitted {
		return
	}
	r.turn, r.admitted = turn, s.Admitted
	now := float64(s.State.NowMillis)
	for _, t := range r.told {
		if t.held || turn <= t.edge || turn > t.last || t.pace != s.Pace {
			continue
		}
		p, at := pointAt(t.points, turn), float64(t.at)
		wait := p.entry - at
		if wait < leastCompared {
			continue
		}
		q := &r.q[third(at, float64(turn)/1000, now)]
		for _, off := range [2]float64{-scattered, scattered} {
			learn(q, math.Log(max(1, now+off-at)/wait)/p.width(wait))
		}
	}
}

// learn moves an end outwards if the real wait, z, lay beyond it, and both ends inwards if z lay between them. If one end
// has reached 0, the whole share outside may lie beyond the other.
func learn(q *[2]float64, z float64) {
	switch {
	case z < q[0]:
		q[0] -= step * (1 - outside)
	case z > q[1]:
		q[1] += step * (1 - outside)
	default:
		inwards := step * outside
		if q[0] < 0 && q[1] > 0 {
			inwards /= 2
		}
		q[0], q[1] = min(0, q[0]+inwards), max(0, q[1]-inwards)
	}
}

// remember keeps a table for later comparison: all of the last 8 s, and of older ones one in 2, 4, 8 and so on.
func (r *ranges) remember(t *Table) {
	r.told = slices.DeleteFunc(append(r.told, t), func(x *Table) bool {
		age, every := (t.at-x.at)/1000, int64(1)
		for e := int64(8); e <= age; e *= 2 {
			every *= 2
		}
		return x.at/1000%every != 0 || age >= 86_400
	})
}
