package estimate

import (
	"math"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
)

const (
	// Sampled is how many visitors a sample should have: with 512, a share is known to
	// some 2 %, and Redis should be held for some 2 ms.
	Sampled = 512
	// bins is into how many parts a wait is divided, by the share of it that is over.
	bins = 10
	// recall is how far back a sample tells of who left, in milliseconds, unless the idle timeout is shorter.
	recall = 60_000.0
	// recency is for how long what happened counts fully: it falls to a third in that time.
	recency = 15_000.0
	// keep is what of the earlier samples counts beside a new one.
	keep = 0.85
	// gain is by how much a new table follows what was measured.
	gain = 0.25
	// late is how long it takes, beyond the grace, until somebody who did not come is seen: half
	// of what most samples are apart, in milliseconds.
	late = 250.0
	// short is the wait that teaches half as much as a very long one: in a short wait nearly
	// all is chance of when polls come.
	short = 30_000.0
	// supposed is the share that is taken to leave where a zone never had a crowd: waiting
	// rooms see 30 to 40 % of those waiting leave.
	supposed = 0.30
	// doubt is how many departures it takes to believe that this crowd differs.
	doubt = 0.5
	// few and fewBefore are how many waits' worth of people a part must have been watched for to
	// count as much as what is supposed, and as what earlier crowds did.
	few, fewBefore = 1.0, 5.0
	// newest and older are the weights of the last crowd and those before.
	newest, older = 0.1, 0.5
	// maxCame bounds what is remembered of when people entered.
	maxCame = 512
)

// counts are how many left, and how many waits' worth of people were watched, by the share
// of the wait that was over.
type counts struct{ events, exposure [bins]float64 }

func (c *counts) scale(f float64) {
	for b := range bins {
		c.events[b] *= f
		c.exposure[b] *= f
	}
}

func (c *counts) add(o *counts, f float64) {
	for b := range bins {
		c.events[b] += f * o.events[b]
		c.exposure[b] += f * o.exposure[b]
	}
}

// entered is when somebody entered who stood there, and how many had since the one before.
type entered struct {
	micros int64
	at     float64
	n      int64
}

// Model is what is known of how the visitors of one zone leave. The zero value knows nothing.
// It is for one goroutine at a time; the tables that it makes are for any number.
type Model struct {
	// lately is known from the latest samples, crowd from all of this crowd, before of
	// earlier ones.
	lately, crowd, before counts
	admitted, lostAt      int64
	table                 *Table
	came                  []entered
	ranges                ranges
	reason                line.Reason
	reasonUntil           int64
}

// Learn takes in a sample, and returns the table by which to tell visitors from now on; nil
// if nobody waits, or no wait is known of a zone on hold. Samples are to come about once
// a second, in order.
func (m *Model) Learn(s line.Sample, idle time.Duration) *Table {
	now, old := s.State.NowMillis, m.table
	if s.State.Waiting == 0 || len(s.Line) == 0 {
		m.end()
		return nil
	}
	if s.State.LostAtMillis != m.lostAt {
		old, m.lostAt = nil, s.State.LostAtMillis
	}
	held := s.Pace == 0
	if held {
		if old == nil {
			return nil
		}
		// As if it went on now.
		s.Pace, s.FirstMillis, s.SlotMillis = old.pace, now, now+int64(old.slot)-old.at
	}
	m.enter(&s)
	m.see(&s, min(recall, float64(idle.Milliseconds())))
	t := &Table{
		at: now, edge: s.State.EdgeMicros, front: s.FrontMicros, last: s.State.EdgeMicros, pace: s.Pace, held: held,
		slot: float64(s.SlotMillis), coming: s.Coming,
	}
	m.ranges.score(&s)
	t.near(&s)
	m.far(t, &s, old)
	m.ranges.put(t)
	m.ranges.remember(t)
	m.say(t, &s, old)
	m.table = t
	return t
}

// end takes in that the crowd has gone.
func (m *Model) end() {
	if m.crowd.exposure[0] > 0 {
		m.before.scale(older)
		m.before.add(&m.crowd, newest)
	}
	m.ranges.renew()
	*m = Model{before: m.before, ranges: ranges{q: m.ranges.q}, lostAt: m.lostAt}
}

// enter notes who entered since the sample before.
func (m *Model) enter(s *line.Sample) {
	if n := len(m.came); n == 0 || m.came[n-1].micros < s.FrontMicros {
		m.came = append(m.came, entered{micros: s.FrontMicros, at: float64(s.State.NowMillis)})
	}
	if m.admitted > 0 {
		m.came[len(m.came)-1].n += max(0, s.Admitted-m.admitted)
	}
	m.admitted = s.Admitted
	if len(m.came) > maxCame {
		for i := range maxCame / 2 {
			a, b := m.came[2*i], m.came[2*i+1]
			b.n += a.n
			m.came[i] = b
		}
		m.came = append(m.came[:maxCame/2], m.came[maxCame:]...)
	}
}

// see takes in who came and who did not, of those who wait and those who entered.
func (m *Model) see(s *line.Sample, recall float64) {
	m.lately.scale(keep)
	var seen counts
	now, late := float64(s.State.NowMillis), float64(s.GraceMillis)+late
	far, weight := 0.0, float64(s.State.Waiting)/float64(len(s.Line))
	for i := range s.Line {
		v := &s.Line[i]
		if v.StandsAtMicros > s.State.EdgeMicros {
			far += weight
		}
		from, until := float64(v.StandsAtMicros)/1000, float64(v.PolledMillis)
		wait := max(1000, m.turn(s, v.StandsAtMicros, far)-from)
		if s.There(v) {
			if until > now-late {
				// Those who were due with this one and did not come are not known yet.
				until = max(from, until-float64(v.PeriodMillis))
			}
		} else {
			// It left between the two: half-way, as far as is known.
			until += float64(v.PeriodMillis) / 2
			if age := now - until; age < recall {
				seen.events[part((until-from)/wait)] += math.Exp(-age/recency) * worth(wait)
			}
		}
		seen.watch(from, until, wait, now, recall, 1)
	}
	for i := len(m.came) - 1; i >= 0 && m.came[i].at > now-recall; i-- {
		if c := m.came[i]; c.at <= now-late {
			from := float64(c.micros) / 1000
			seen.watch(from, c.at, max(1000, c.at-from), now, recall, float64(c.n)/weight)
		}
	}
	m.lately.add(&seen, 1)
	m.crowd.add(&seen, 1)
}

// turn is when it is, or was, the turn of one who stands there behind so many beyond the edge.
func (m *Model) turn(s *line.Sample, stands int64, far float64) float64 {
	old := m.table
	switch {
	case stands <= s.FrontMicros:
		return m.cameAt(stands)
	case stands <= s.State.EdgeMicros:
		a, b := point{micros: s.FrontMicros, entry: float64(s.State.NowMillis)}, point{micros: s.State.EdgeMicros, entry: float64(s.SlotMillis)}
		return a.towards(b, stands).entry
	case old != nil && stands <= old.last:
		return pointAt(old.points, stands).entry
	default:
		return float64(s.SlotMillis) + far*window.MinuteMillis/float64(s.Pace)*(1-supposed)
	}
}

// cameAt is when those entered who stood there.
func (m *Model) cameAt(stands int64) float64 {
	low, high := 0, len(m.came)-1
	for low < high {
		if mid := (low + high) / 2; m.came[mid].micros < stands {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return m.came[low].at
}

// watch counts that n stood there from one time until another, in a wait of that length. All
// in milliseconds.
func (c *counts) watch(from, until, wait, now, recall, n float64) {
	for b := range bins {
		begin, end := from+wait*float64(b)/bins, from+wait*float64(b+1)/bins
		if b == bins-1 {
			end = until
		}
		if begin, end = max(begin, now-recall), min(end, until); begin < end {
			c.exposure[b] += n * worth(wait) * recency * (math.Exp((end-now)/recency) - math.Exp((begin-now)/recency)) / wait
		}
	}
}

// part is in which of the bins a share of the wait lies.
func part(share float64) int { return min(bins-1, int(bins*min(max(share, 0), 1))) }

// worth is how much a wait of that length teaches.
func worth(wait float64) float64 { return wait / (wait + short) }

// stays returns how the hazard adds up over a wait: the probability of still being there at its
// end is exp(sum at the share that is over - sum at 1).
func (m *Model) stays() (sums hazard) {
	flat := -math.Log(1 - supposed)
	var was [bins]float64
	events, exposure := doubt, doubt
	for b := range bins {
		was[b] = (m.before.events[b] + 2*flat) / (m.before.exposure[b] + 2)
		events += m.lately.events[b]
		exposure += m.lately.exposure[b] * was[b]
	}
	weight := few
	if m.before.exposure[0] > 0 {
		weight = fewBefore
	}
	for b := range bins {
		rate := (m.lately.events[b] + weight*was[b]*events/exposure) / (m.lately.exposure[b] + weight)
		sums[b+1] = sums[b] + rate/bins
	}
	return sums
}

// hazard is a hazard added up, at the borders of the bins.
type hazard [bins + 1]float64

// staying is the probability that one is there at its turn who was there when that share of the wait was over.
func (h *hazard) staying(share float64) float64 {
	at := min(max(share, 0), 1) * bins
	b := min(int(at), bins-1)
	return math.Exp(h[b] + (h[b+1]-h[b])*(at-float64(b)) - h[bins])
}
