package zones

import (
	"cmp"

	"github.com/openqueue/waitingroom/internal/estimate"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
)

// Each time, at most sampledInAll visitors are sampled in all zones together, but at least leastSampled of each zone. So
// a hundred lines at once cost the store little more than a few: each estimate is only less exact.
const (
	sampledInAll = 4 * estimate.Sampled
	leastSampled = 16
)

// sampledEach returns how many visitors are sampled in each of so many lines.
func sampledEach(lines int) int {
	return max(leastSampled, min(estimate.Sampled, sampledInAll/max(1, lines)))
}

// setEstimate returns the answer with how long its visitor will wait.
func (z *Zone) setEstimate(a line.Answer, score int64) line.Told {
	stands := a.Place
	if a.Status == line.Waiting {
		stands = z.placed(stands)
		stands.ScoreMicros = max(stands.ScoreMicros, score)
	}
	return z.table.Load().Tell(a, stands.StandsAtMicros())
}

// estimated returns the stats with how long one who joins now will wait, and remembers them for Latest.
func (z *Zone) estimated(s line.Stats) line.Stats {
	if told, ok := z.table.Load().Joining(&s.State); ok {
		s.EstimateMillis, s.LowMillis, s.HighMillis = told.EstimateMillis, told.LowMillis, told.HighMillis
	}
	z.latest.Store(&latest{s, z.zones.Millis()})
	return s
}

// Upto returns the last place in a zone's line whose turn is expected by a time on the zone's clock, as estimate.Table.Upto does; 0 for a
// zone that is not known.
func (r *Zones) Upto(zoneID string, millis int64) int64 {
	if z := r.Known(zoneID); z != nil {
		return z.table.Load().Upto(millis)
	}
	return 0
}

// expect returns about how long a visitor who stands there would still wait, in milliseconds, if a store that is away
// were back at nowMillis on the zone's clock. The range is 0 to window.MaxEstimateMillis. It goes by the last table,
// since nobody has entered after it was made. Without a table, while people gather or have just begun to wait, it assumes
// that their arrivals are spread evenly.
func (z *Zone) expect(stands, nowMillis int64) int64 {
	s := z.settings.Load().InForce()
	pace, g := window.RatesOf(s).Pace, s.EventState.Gate()
	if pace == 0 {
		return window.MaxEstimateMillis
	}
	if t := cmp.Or(z.tableBefore.Load(), z.table.Load()); t != nil {
		return min(t.Wait(stands, min(nowMillis, g.OpensAtMillis)), window.MaxEstimateMillis)
	}
	edge, upto := z.edge.Load(), z.lastArrival.Load()
	from := max(edge, g.GatherAtMillis*1000)
	if g.Scores(stands) {
		from, upto = max(edge, g.FromMicros), g.UptoMicros
	}
	share := min(max(0, float64(stands-from)/float64(max(1, upto-from))), 1)
	ahead := int64(share * float64(z.waiting.Load()))
	return min(max(0, g.OpensAtMillis-nowMillis)+ahead*window.MinuteMillis/pace, window.MaxEstimateMillis)
}
