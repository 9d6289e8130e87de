package registry

import (
	"cmp"
	"context"
	"time"

	"github.com/openqueue/waitingroom/internal/estimate"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/window"
)

// estimateEvery is how often the line of each zone in which people wait is sampled.
const estimateEvery = time.Second

// Each time, at most sampledInAll visitors are sampled in all zones together, but at least leastSampled of each zone. So
// a hundred lines at once cost the store little more than a few: each estimate is only less exact.
const (
	sampledInAll = 4 * estimate.Sampled
	leastSampled = 16
)

// estimateAll makes anew the tables by which visitors are told how long they will wait. Zones do not wait for one
// another. While the store is away, a zone keeps its last table.
func (r *Registry) estimateAll(ctx context.Context) {
	lined := r.lined()
	most := sampledEach(len(lined))
	for _, z := range lined {
		r.background.GoAlone(&z.sampling, func() { r.estimate(ctx, z, most) })
	}
}

// lined returns the zones in which people wait, or that have a table still.
func (r *Registry) lined() (all []*Zone) {
	for _, z := range *r.zones.Load() {
		if z.waiting.Load() > 0 || z.table.Load() != nil {
			all = append(all, z)
		}
	}
	return all
}

// sampledEach returns how many visitors are sampled in each of so many lines.
func sampledEach(lines int) int {
	return max(leastSampled, min(estimate.Sampled, sampledInAll/max(1, lines)))
}

// estimate is estimateAll for one zone, with a sample of at most so many visitors.
func (r *Registry) estimate(ctx context.Context, z *Zone, most int) {
	s, err := ask(ctx, z, store.Sample, func() (line.Sample, error) { return r.store.Sample(ctx, z.id, most) })
	if err != nil {
		z.before.CompareAndSwap(nil, z.table.Load())
	} else {
		table := z.model.Learn(s, z.settings.Load().IdleTimeout())
		if was := z.table.Swap(table); table.Changed(was) {
			z.judge.forget()
		}
		z.learn(s.State, r.Millis())
	}
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

// EstimateOnce makes the tables anew, one zone after the other. After Start this is done once a second.
func (r *Registry) EstimateOnce(ctx context.Context) {
	lined := r.lined()
	for _, z := range lined {
		r.estimate(ctx, z, sampledEach(len(lined)))
	}
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
	if t := cmp.Or(z.before.Load(), z.table.Load()); t != nil {
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
