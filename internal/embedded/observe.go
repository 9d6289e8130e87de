package embedded

import (
	"context"
	"slices"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Observe implements store.Observer.
func (s *Store) Observe(_ context.Context, zoneID string, most int) (out line.Observation, err error) {
	a, err := s.transact(zoneID, func(q *zoneQueue, t *transaction) (none line.Answer) {
		out = q.sample(t, most)
		out.Totals, out.Waits, out.MostInSecond = q.totals, slices.Clone(q.waits), q.peak.Latest(t.now)
		out.Stays = slices.Clone(q.in.stayed)
		out.EstimateMillis = q.estimate(t, int64(q.line.len())-q.line.upTo(q.edge))
		return none
	})
	out.State = a.State
	return out, err
}

// sample describes the line. It cuts the line into most parts of equal length, and looks at
// one visitor in each; at all if fewer wait.
func (q *zoneQueue) sample(t *transaction, most int) line.Observation {
	out := line.Observation{
		Pace: q.rates.Pace, FrontMicros: q.edge,
		FirstMillis: q.opens(t, 0), GraceMillis: window.GraceMillis,
	}
	// all/of, the number of live released who are expected to come, need not be whole. SlotMillis
	// is interpolated between the times of the two whole numbers next to it.
	out.Coming = q.shows.Coming(q.rates)
	all, of := q.shows.Share(int64(q.live.len()), q.rates)
	enters := func(ahead int64) int64 {
		at := q.rates.Enters(ahead, func(ahead int64) int64 { return q.opens(t, ahead) })
		if t.full && t.hold == 0 {
			at = max(at, q.rates.Leaves(ahead, t.cap, t.now))
		}
		return at
	}
	out.SlotMillis = enters(all / of)
	out.SlotMillis += (enters(all/of+1) - out.SlotMillis) * (all % of) / of
	if first := q.live.first(); first != nil {
		out.FrontMicros = first.arrived
	}
	if q.capped() && q.settings.InsideBy == zone.InsideByAdmission {
		known := int64(q.in.byEnd.len())
		out.Ends = line.Ends{Room: t.cap, Known: known}
		n := min(known, line.MaxEnds)
		for i := range n {
			out.Ends.Millis = append(out.Ends.Millis, q.in.byEnd.at(line.EndRank(i, n, known)).arrived)
		}
	}
	waiting := int64(q.line.len())
	n := min(waiting, int64(most))
	if t.gathers {
		n = 0
	}
	out.Line = make([]line.Seen, 0, n)
	for i := range n {
		r := q.line.at(line.SampleRank(i, n, waiting, t.now))
		out.Line = append(out.Line, line.Seen{StandsAtMicros: r.arrived, PolledMillis: r.lastPoll(), PeriodMillis: r.period()})
	}
	return out
}
