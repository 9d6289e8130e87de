package conformance

import (
	"slices"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// sampled is how many the fixture looks at: fewer than wait in most lines.
const sampled = 5

// observe has the state and totals of the line, and some of those who wait.
func (m *model) observe(most int64) line.Observation {
	s := line.Observation{
		Stats: m.stats(), Pace: m.rates.Pace, GraceMillis: window.GraceMillis,
		FirstMillis: m.now + m.opensIn(0), Coming: m.shows.Coming(m.rates), FrontMicros: m.edge, Line: []line.Seen{},
	}
	all, of := m.shows.Share(m.live(), m.rates)
	enters := func(ahead int64) int64 {
		at := m.rates.Enters(ahead, func(ahead int64) int64 { return m.now + m.opensIn(ahead) })
		if m.c.full && m.hold() == 0 {
			at = max(at, m.rates.Leaves(ahead, m.c.room, m.now))
		}
		return at
	}
	s.SlotMillis = enters(all / of)
	s.SlotMillis += (enters(all/of+1) - s.SlotMillis) * (all % of) / of
	for v := range filter(m.waiting, func(v *visitor) bool { return v.live }) {
		s.FrontMicros = v.StandsAtMicros()
		break
	}
	if m.capped() && m.settings.InsideBy == zone.InsideByAdmission {
		ends := make([]int64, 0, len(m.c.in))
		for _, stay := range m.c.in {
			ends = append(ends, stay.ends)
		}
		slices.Sort(ends)
		known := int64(len(ends))
		s.Ends = line.Ends{Room: m.c.room, Known: known}
		n := min(known, line.MaxEnds)
		for i := range n {
			s.Ends.Millis = append(s.Ends.Millis, ends[line.EndRank(i, n, known)])
		}
	}
	if m.gathers() {
		return s
	}
	n := min(most, m.len())
	for i := range n {
		v := m.waiting[line.SampleRank(i, n, m.len(), m.now)]
		s.Line = append(s.Line, line.Seen{StandsAtMicros: v.StandsAtMicros(), PolledMillis: v.polled, PeriodMillis: v.due - v.polled})
	}
	return s
}
