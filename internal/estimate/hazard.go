package estimate

import (
	"math"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
)

const (
	// shares is into how many equal parts a wait is divided.
	shares = 10
	// ages is into how many parts the time waited is divided. The first are firstAge milliseconds
	// long, and each border is growth times the one before: the last is at 18 hours.
	ages     = 66
	firstAge = 2_000.0
	growth   = 1.18
	// supposed is the share that is assumed to leave in a zone that never had a crowd. Waiting rooms see 30 to 40 %
	// leave; 20 % keeps the estimate near where nobody leaves, too.
	supposed = 0.20
	// few, fewBefore and fewAged are how many visitors must have gone through a part to count as much as: what is
	// assumed of a part, what earlier crowds did in it, and what is assumed of a part of the time waited.
	few, fewBefore, fewAged = 10.0, 50.0, 100.0
	// doubt and doubtAged are how many departures it takes to believe that this crowd differs.
	doubt, doubtAged = 0.5, 5.0
	// latest is the weight of the earlier parts beside the last one in the hazard that is carried on from them.
	latest = 0.6
	// even is the weight of an even spread, beside the hazard, over the interval in which a visitor left.
	even = 0.1
	// head is the logarithm of how much likelier the samples must be by time than by share until both count alike.
	head = 1.5
	// flatAged is the share assumed to leave in the first of the ages where nothing is known.
	flatAged = 0.01
)

// borders are the borders of the ages, in milliseconds.
var borders = func() (all [ages + 1]float64) {
	for b := range ages {
		all[b+1] = firstAge * math.Pow(growth, float64(b))
	}
	return all
}()

// age returns the index of the age in which a time waited lies, in milliseconds.
func age(waited float64) int {
	if waited < firstAge {
		return 0
	}
	return min(ages-1, 1+int(math.Log(waited/firstAge)/math.Log(growth)))
}

// part returns the index of the part in which a share of the wait (0 to 1) lies.
func part(share float64) int { return min(shares-1, int(shares*min(max(share, 0), 1))) }

// cell counts how many left in a part of the wait (events), and how many went through it (exposure).
type cell struct{ events, exposure float64 }

func (c *cell) scale(f float64) { c.events, c.exposure = f*c.events, f*c.exposure }
func (c *cell) add(o cell, f float64) {
	c.events, c.exposure = c.events+f*o.events, c.exposure+f*o.exposure
}

// rate returns the hazard, if n more visitors are assumed to have gone through the part and left at the expected rate.
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

// watch counts that n visitors stood in the line from one time until another, with a wait of that length, as far as that
// is within recall before now. All times are in milliseconds.
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

// left counts that a visitor with a wait of that length left between two times waited, ago before now, all in
// milliseconds.
func (c *counts) left(begin, end, wait, ago float64, h *hazard) {
	scatter(c.share[:], h.share[:], part(begin/wait), begin, max(min(end, wait), begin+1), math.Exp(-ago/recency)*worth(wait),
		func(b int) float64 { return wait * float64(b) / shares })
	scatter(c.time[:], h.time[:], age(begin), begin, end, 1, func(b int) float64 { return borders[b] })
}

// scatter counts, with weight n, that a visitor left between begin and end. It spreads the departure over the parts from
// first on by the hazard (sums), and counts the visitor as there until then.
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

// worth is the weight of what is learnt from a wait of that length, 0 to 1.
func worth(wait float64) float64 { return wait / (wait + short) }

// see counts who came and who did not, among the sampled and those who entered. t says when it is whose turn; nil if there
// is no table yet.
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
				// Others who were due at the same time and did not come are not known to be absent yet.
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

// turn returns when it is, or was, the turn of a visitor who stands there, with far others ahead beyond the edge.
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

// hazard is how likely a visitor is to leave, cumulated up to the borders of the parts: by the share of the wait that is
// over, and by the time waited. timed is the weight of the latter, 0 to 1.
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

// learnTime is learn for the time waited. Where no visitor was seen, the hazard is carried on from the parts before.
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

// surprise is the logarithm of how much likelier a departure between two times waited is by time than by share. excess
// is by how much the cumulated hazard between them is higher by time than by share.
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

// byShare and byTime are the two hazards, cumulated up to a share of the wait and up to a time waited.
func (h *hazard) byShare(share float64) float64 {
	at := min(max(share, 0), 1) * shares
	b := min(int(at), shares-1)
	return h.share[b] + (h.share[b+1]-h.share[b])*(at-float64(b))
}

func (h *hazard) byTime(waited float64) float64 {
	b := age(waited)
	return h.time[b] + (h.time[b+1]-h.time[b])*min(1, (waited-borders[b])/(borders[b+1]-borders[b]))
}

// staying is the probability that a visitor who was there after waited is still there after wait, at its turn.
func (h *hazard) staying(waited, wait float64) float64 {
	wait = max(1, wait)
	waited = min(max(0, waited), wait)
	byShare, byTime := h.byShare(waited/wait)-h.share[shares], h.byTime(waited)-h.byTime(wait)
	return math.Exp((1-h.timed)*byShare + h.timed*byTime)
}
