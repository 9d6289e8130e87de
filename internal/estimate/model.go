package estimate

import (
	"sort"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
)

const (
	// Sampled is how many visitors a sample should have: with 512, a share is known to
	// some 2 %.
	Sampled = 512
	// recall is how far back a sample tells of who left, in milliseconds, unless the idle timeout is shorter.
	recall = 60_000.0
	// recency is for how long what happened counts fully by share: it falls to a third in that time.
	recency = 15_000.0
	// keep is what of the earlier samples counts beside a new one.
	keep = 0.85
	// gain is the part of a difference by which a new table moves towards what was measured. pull is how much is added
	// to gain for a difference as long as the wait: so chance moves the table little, and a real change much.
	gain, pull = 0.1, 2.0
	// steady is the share of a wait by which the told time of entry moves at most between two polls. It may move by
	// more if the told wait is longer than tooLate times the measured one, or the measured than tooSoon times the told.
	steady, tooLate, tooSoon = 0.1, 1.2, 1.4
	// late is how long, beyond the grace, it takes until a sample shows that a visitor did not come, in milliseconds.
	late = 250.0
	// short is the wait, in milliseconds, from which half as much is learnt as from a very long one: a short wait is
	// mostly decided by when polls happen to come.
	short = 30_000.0
	// rounds is how often the hazard and the waits, which depend on each other, are worked out in turn.
	rounds = 3
	// newest and older are the weights of the last crowd and those before.
	newest, older = 0.1, 0.5
	// leastUsed is the least share of the pace from which something is learnt: where less is used, those who wait are not
	// there. fewEntered is how many the pace has to allow in the time that is measured.
	leastUsed, fewEntered = 0.8, 60
	// maxSlots bounds what is remembered of when people enter, maxFavoured what an earlier crowd
	// says of by what the next one leaves.
	maxSlots, maxFavoured = 512, 8.0
)

// entered are n visitors who entered at a time, and stood in the line since from. Times are Unix milliseconds.
type entered struct {
	from, at float64
	n        int64
}

// slot is when a visitor who stands at micros enters, in Unix milliseconds.
type slot struct {
	micros int64
	at     float64
}

// Model is what is known of how the visitors of one zone leave. The zero value knows nothing.
// It is for one goroutine at a time; the tables that it makes are for any number.
type Model struct {
	// lately is known from the latest samples, crowd from all of this crowd, before of
	// earlier ones.
	lately, crowd, before counts
	hazard                hazard
	// favours is the logarithm of how much likelier the latest sample is by the hazard by time than by that by share.
	// favoured is its moving mean.
	favours, favoured float64
	admitted, lostAt  int64
	table             *Table
	flow              flow
	// front is the furthest place that was the first of the live released.
	front int64
	// slots are in the order of the line. came are those who entered in the last minute.
	slots       []slot
	came        []entered
	ranges      ranges
	reason      line.Reason
	reasonUntil int64
}

// Learn takes in a sample, and returns the table for estimates from now on. It returns nil if nobody waits, or if the zone
// is on hold and there was no table before. Samples are to come about once a second, in order.
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
	m.flow.measure(&s, old.goesOn(&s) && s.Admitted >= m.admitted)
	if held {
		if old == nil {
			m.table = nil
			return nil
		}
		// The table is made as if the zone went on now.
		s.Pace, s.FirstMillis, s.SlotMillis = old.pace, now, now+int64(old.opens)-old.at
	}
	m.enter(&s)
	if !held {
		s.SlotMillis = s.FirstMillis + int64(float64(s.SlotMillis-s.FirstMillis)/m.flow.used())
	}
	t := &Table{
		at: now, edge: s.State.EdgeMicros, front: s.FrontMicros, last: s.State.EdgeMicros, pace: s.Pace, held: held,
		each:  window.MinuteMillis / float64(s.Pace) / m.flow.used(),
		opens: float64(s.SlotMillis), slot: float64(s.SlotMillis), coming: s.Coming,
	}
	m.ranges.score(&s, int64(1000*m.standsWho(float64(now))))
	m.lately.scale(keep)
	seen, known := counts{}, old
	m.near(t, &s)
	m.slotted(t.edge, t.slot)
	for range rounds {
		seen = m.see(&s, min(recall, float64(idle.Milliseconds())), known)
		seen.add(&m.lately, 1)
		m.hazard = m.learn(&seen)
		m.near(t, &s)
		m.slotted(t.edge, t.slot)
		m.far(t, &s)
		known = t
	}
	t.follow(old)
	m.lately = seen
	m.crowd.add(&seen, 1-keep)
	m.favoured += (1 - keep) * (m.favours - m.favoured)
	m.ranges.put(t)
	m.ranges.remember(t)
	m.say(t, &s, old)
	m.table = t
	return t
}

// end takes in that the crowd has gone.
func (m *Model) end() {
	if m.crowd.share[0].exposure > 0 {
		m.before.scale(older)
		m.before.add(&m.crowd, newest)
	}
	m.ranges.renew()
	*m = Model{
		before: m.before, flow: m.flow, ranges: ranges{q: m.ranges.q}, lostAt: m.lostAt,
		favoured: min(maxFavoured, max(-maxFavoured, m.favoured)),
	}
}

// enter notes how many entered since the sample before, and where they stood.
func (m *Model) enter(s *line.Sample) {
	now := float64(s.State.NowMillis)
	if len(m.slots) == 0 || s.FrontMicros > m.front {
		m.front = s.FrontMicros
		m.slotted(m.front, now)
	}
	if m.admitted > 0 && s.Admitted > m.admitted {
		m.came = append(m.came, entered{from: m.standsWho(now), at: now, n: s.Admitted - m.admitted})
	}
	m.admitted = s.Admitted
	for len(m.came) > 0 && m.came[0].at < now-recall {
		m.came = m.came[1:]
	}
}

// flow measures at what share of the pace people enter, over whole minutes: within a window, they may enter unevenly. Where
// less than fewEntered may enter in a minute it takes more of them.
type flow struct {
	// unused is the share of the pace at which nobody entered in the latest minute that was measured.
	unused float64
	// from is when the minute may begin; began is when it did, 0 before; admitted is how many had been let in by then.
	from, began, admitted int64
}

// measure takes in a sample. steady: since the one before the zone went on at this pace, with enough of the released there.
func (f *flow) measure(s *line.Sample, steady bool) {
	now := s.State.NowMillis
	switch {
	case !steady:
		f.from, f.began = max(now, s.FirstMillis), 0
	case f.began == 0 && now >= f.from:
		f.began, f.admitted = now, s.Admitted
	case f.began > 0 && now-f.began >= window.MinuteMillis*max(1, fewEntered/s.Pace):
		share := float64(s.Admitted-f.admitted) * window.MinuteMillis / (float64(now-f.began) * float64(s.Pace))
		if share >= leastUsed {
			f.unused = 1 - min(1, share)
		}
		f.began, f.admitted = now, s.Admitted
	}
}

// used is the share of the pace at which people enter.
func (f *flow) used() float64 { return 1 - f.unused }

// goesOn reports whether the zone went on at the same pace since the table, and a few seconds' worth of the released are there.
func (t *Table) goesOn(s *line.Sample) bool {
	return t != nil && !t.held && t.pace == s.Pace && s.State.NowMillis <= t.at+staleMillis &&
		s.State.Live*window.MinuteMillis >= 3*window.SecondMillis*s.Pace
}

// slotted notes when the first visitor beyond the edge enters.
func (m *Model) slotted(edge int64, at float64) {
	n := len(m.slots)
	for n > 0 && (m.slots[n-1].micros >= edge || m.slots[n-1].at > at) {
		n--
	}
	m.slots = append(m.slots[:n], slot{edge, at})
	if len(m.slots) > maxSlots {
		m.slots = m.slots[1:]
	}
}

// standsWho returns where visitors stand who enter at a time. Both are Unix milliseconds.
func (m *Model) standsWho(at float64) float64 {
	i := sort.Search(len(m.slots), func(i int) bool { return m.slots[i].at >= at })
	switch {
	case i == len(m.slots):
		return float64(m.slots[i-1].micros) / 1000
	case i == 0:
		return float64(m.slots[0].micros) / 1000
	}
	a, b := m.slots[i-1], m.slots[i]
	return (float64(a.micros) + float64(b.micros-a.micros)*(at-a.at)/(b.at-a.at)) / 1000
}

// cameAt returns when a released visitor who stands there enters, or entered, in Unix milliseconds.
func (m *Model) cameAt(stands int64) float64 {
	i := sort.Search(len(m.slots), func(i int) bool { return m.slots[i].micros >= stands })
	switch {
	case i == len(m.slots):
		return m.slots[i-1].at
	case i == 0:
		return m.slots[0].at
	}
	a, b := m.slots[i-1], m.slots[i]
	return a.at + (b.at-a.at)*float64(stands-a.micros)/float64(b.micros-a.micros)
}
