package estimate

import (
	"math"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
)

const (
	// shares is into how many parts a wait is divided, by the share of it that is over.
	shares = 10
	// ages is into how many parts the time waited is divided. The first are firstAge milliseconds
	// long, and each border is growth times the one before: the last is at 18 hours.
	ages     = 66
	firstAge = 2_000.0
	growth   = 1.18
	// supposed is the share that is taken to leave where a zone never had a crowd: waiting rooms see
	// 30 to 40 % of those waiting leave, but where nobody does, what is told is to be near, too.
	supposed = 0.20
	// few, fewBefore and fewAged are how many must have gone through a part to count as much as
	// what is supposed of it, as what earlier crowds did, and as what is supposed of a time waited.
	few, fewBefore, fewAged = 10.0, 50.0, 100.0
	// doubt and doubtAged are how many departures it takes to believe that this crowd differs.
	doubt, doubtAged = 0.5, 5.0
	// latest is how much of the parts before counts beside the last one for how high the hazard was last.
	latest = 0.6
	// even is how much the hazard in a part is taken to be the same all through an interval in which one left.
	even = 0.1
	// head is by how much likelier what was seen must be before people are taken to leave by time, as a logarithm.
	head = 1.5
	// flatAged is how many leave in the first of the ages where nothing is known.
	flatAged = 0.01
)

// borders are those of the ages, in milliseconds.
var borders = func() (all [ages + 1]float64) {
	for b := range ages {
		all[b+1] = firstAge * math.Pow(growth, float64(b))
	}
	return all
}()

// age is in which of the ages a time waited lies.
func age(waited float64) int {
	if waited < firstAge {
		return 0
	}
	return min(ages-1, 1+int(math.Log(waited/firstAge)/math.Log(growth)))
}

// part is in which of the parts a share of the wait lies.
func part(share float64) int { return min(shares-1, int(shares*min(max(share, 0), 1))) }

// cell is how many left in a part of the wait, and how many went through it.
type cell struct{ events, exposure float64 }

func (c *cell) scale(f float64) { c.events, c.exposure = f*c.events, f*c.exposure }
func (c *cell) add(o cell, f float64) {
	c.events, c.exposure = c.events+f*o.events, c.exposure+f*o.exposure
}

// rate is the hazard, where n are taken to have gone through who left at the rate expected.
func (c cell) rate(expected, n float64) float64 { return (c.events + n*expected) / (c.exposure + n) }

// counts are the cells of one wait: by the share that is over, and by time.
type counts struct {
	share [shares]cell
	time  [ages]cell
}

func (c *counts) scale(f float64) {
	for b := range c.share {
		c.share[b].scale(f)
	}
	for b := range c.time {
		c.time[b].scale(f)
	}
}

func (c *counts) add(o *counts, f float64) {
	for b := range c.share {
		c.share[b].add(o.share[b], f)
	}
	for b := range c.time {
		c.time[b].add(o.time[b], f)
	}
}

// watch counts that n stood there from one time until another, in a wait of that length. All
// in milliseconds.
func (c *counts) watch(from, until, wait, now, recall, n float64) {
	for b := range shares {
		begin, end := from+wait*float64(b)/shares, from+wait*float64(b+1)/shares
		if b == shares-1 {
			end = until
		}
		if begin, end = max(begin, now-recall), min(end, until); begin < end {
			c.share[b].exposure += n * worth(wait) * shares / wait * recency * (math.Exp((end-now)/recency) - math.Exp((begin-now)/recency))
		}
	}
	begin, end := max(0, now-recall-from), until-from
	for b := age(begin); b < ages && borders[b] < end; b++ {
		if over := min(end, borders[b+1]) - max(begin, borders[b]); over > 0 {
			c.time[b].exposure += n * over / (borders[b+1] - borders[b])
		}
	}
}

// left counts that one left between two times waited, in a wait of that length, which was so long ago.
func (c *counts) left(begin, end, wait, ago float64, h *hazard) {
	scatter(c.share[:], h.share[:], part(begin/wait), begin, max(min(end, wait), begin+1), math.Exp(-ago/recency)*worth(wait),
		func(b int) float64 { return wait * float64(b) / shares })
	scatter(c.time[:], h.time[:], age(begin), begin, end, 1, func(b int) float64 { return borders[b] })
}

// scatter counts n times that one left between the two: in the parts, from the first one on, as likely as
// the hazard has it. Until it left it was there.
func scatter(cells []cell, sums []float64, first int, begin, end, n float64, border func(int) float64) {
	part := func(b int) (through, likely float64) {
		from, to := border(b), border(b+1)
		if b == len(cells)-1 {
			to = max(to, end)
		}
		over := min(end, to) - max(begin, from)
		return over / (to - from), over/(to-from)*(sums[b+1]-sums[b]) + even*over/(end-begin)
	}
	all, last := 0.0, first
	for ; last < len(cells) && (last == first || border(last) < end); last++ {
		_, likely := part(last)
		all += likely
	}
	rest := 1.0
	for b := first; b < last; b++ {
		through, likely := part(b)
		likely /= all
		rest -= likely
		cells[b].add(cell{likely, through * (rest + likely/2)}, n)
	}
}

// worth is how much a wait of that length teaches.
func worth(wait float64) float64 { return wait / (wait + short) }

// see counts who came and who did not, of those who wait and those who entered. The table says when it
// is whose turn; nil where nothing is known.
func (m *Model) see(s *line.Sample, recall float64, t *Table) (seen counts) {
	now, late := float64(s.State.NowMillis), float64(s.GraceMillis)+late
	far, weight := 0.0, float64(s.State.Waiting)/float64(len(s.Line))
	m.favours = 0
	for i := range s.Line {
		v := &s.Line[i]
		if v.StandsAtMicros > s.State.EdgeMicros {
			far += weight
		}
		from, period := float64(v.StandsAtMicros)/1000, max(1, float64(v.PeriodMillis))
		until := max(from, float64(v.PolledMillis))
		wait := max(1000, m.turn(s, v.StandsAtMicros, far, t)-from)
		if s.There(v) {
			if until > now-late {
				// Those who were due with this one and did not come are not known yet.
				until = max(from, until-period)
			}
		} else if ago := now - until - period/2; ago < recall {
			seen.left(until-from, until+period-from, wait, ago, &m.hazard)
			m.favours += m.hazard.surprise(until-from, until+period-from, wait)
		}
		seen.watch(from, until, wait, now, recall, 1)
		m.favours -= m.hazard.excess(max(0, now-recall-from), until-from, wait)
	}
	for _, c := range m.came {
		if c.at > now-recall && c.at <= now-late {
			n, wait := float64(c.n)/weight, max(1000, c.at-c.from)
			seen.watch(c.from, c.at, wait, now, recall, n)
			m.favours -= n * m.hazard.excess(max(0, now-recall-c.from), wait, wait)
		}
	}
	return seen
}

// turn is when it is, or was, the turn of one who stands there behind so many beyond the edge.
func (m *Model) turn(s *line.Sample, stands int64, far float64, t *Table) float64 {
	switch {
	case stands <= s.State.EdgeMicros:
		return m.cameAt(stands)
	case t != nil && stands <= t.last:
		return pointAt(t.points, stands).measured
	default:
		return float64(s.SlotMillis) + far*window.MinuteMillis/float64(s.Pace)*(1-supposed)
	}
}

// hazard is how likely one is to leave, added up to the borders of the parts: by the share of the wait that is over, and by
// the time waited. The latter counts by the share timed.
type hazard struct {
	share [shares + 1]float64
	time  [ages + 1]float64
	timed float64
}

// learn works out the hazard from what was seen of this crowd lately and of earlier ones.
func (m *Model) learn(lately *counts) (h hazard) {
	known := m.before.share[0].exposure > 0
	flat, prior := -math.Log(1-supposed)/shares, few
	if known {
		prior = fewBefore
	}
	var was [shares]float64
	differs := cell{doubt, doubt}
	for b, c := range lately.share {
		was[b] = m.before.share[b].rate(flat, 2*few)
		differs.add(cell{c.events, c.exposure * was[b]}, 1)
	}
	for b, c := range lately.share {
		h.share[b+1] = h.share[b] + c.rate(was[b]*differs.events/differs.exposure, prior)
	}
	m.learnTime(&h, lately, known)
	h.timed = 1 / (1 + math.Exp(head-m.favoured))
	return h
}

// learnTime is the part of learn by time waited. Where nobody was seen it goes on as it was last.
func (m *Model) learnTime(h *hazard, lately *counts, known bool) {
	differs := cell{doubtAged, doubtAged}
	for b, c := range lately.time {
		differs.add(cell{c.events, c.exposure * m.before.time[b].rate(flatAged, 2)}, 1)
	}
	last := cell{flatAged * few, few * firstAge} // per millisecond
	for b, c := range lately.time {
		long := borders[b+1] - borders[b]
		expected := last.rate(0, 0) * long
		if known {
			expected = m.before.time[b].rate(expected, few) * differs.rate(0, 0)
		}
		last.scale(latest)
		last.add(cell{c.events, c.exposure * long}, 1)
		h.time[b+1] = h.time[b] + c.rate(expected, fewAged)
	}
}

// surprise is by how much likelier it is by time than by share that one leaves between two times
// waited: the logarithm. excess is by how much likelier one is taken to.
func (h *hazard) surprise(from, until, wait float64) float64 {
	const hardly = 1e-4
	if until = min(until, wait); from >= until {
		return 0
	}
	return math.Log((h.byTime(until) - h.byTime(from) + hardly) / (h.byShare(until/wait) - h.byShare(from/wait) + hardly))
}

func (h *hazard) excess(from, until, wait float64) float64 {
	if from >= until {
		return 0
	}
	return h.byTime(until) - h.byTime(from) - h.byShare(until/wait) + h.byShare(from/wait)
}

// byShare and byTime are the two, added up until then.
func (h *hazard) byShare(share float64) float64 {
	at := min(max(share, 0), 1) * shares
	b := min(int(at), shares-1)
	return h.share[b] + (h.share[b+1]-h.share[b])*(at-float64(b))
}

func (h *hazard) byTime(waited float64) float64 {
	b := age(waited)
	return h.time[b] + (h.time[b+1]-h.time[b])*min(1, (waited-borders[b])/(borders[b+1]-borders[b]))
}

// staying is the probability that one is there at its turn, after that wait, who was there when so much of it was over.
func (h *hazard) staying(waited, wait float64) float64 {
	wait = max(1, wait)
	waited = min(max(0, waited), wait)
	byShare, byTime := h.byShare(waited/wait)-h.share[shares], h.byTime(waited)-h.byTime(wait)
	return math.Exp((1-h.timed)*byShare + h.timed*byTime)
}
