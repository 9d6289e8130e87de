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

// At most sampledInAll visitors are looked at each time, in all zones, but leastSampled of each:
// where a hundred lines stand at once, each is known less well, and no store the busier.
const (
	sampledInAll = 4 * estimate.Sampled
	leastSampled = 16
)

// estimateAll makes the tables anew by which visitors are told how long they will wait. Zones
// do not wait for one another. Where the store is away the table of before holds for a while.
func (r *Registry) estimateAll(ctx context.Context) {
	lined := r.lined()
	most := sampledEach(len(lined))
	for _, z := range lined {
		if !z.sampling.Swap(true) {
			r.background.Go(func() {
				defer z.sampling.Store(false)
				r.estimate(ctx, z, most)
			})
		}
	}
}

// lined are the zones in which people wait, or did when last sampled.
func (r *Registry) lined() (all []*remembered) {
	for _, z := range *r.zones.Load() {
		if z.waiting.Load() > 0 || z.table.Load() != nil {
			all = append(all, z)
		}
	}
	return all
}

// sampledEach is how many are looked at in each of so many lines.
func sampledEach(lines int) int {
	return max(leastSampled, min(estimate.Sampled, sampledInAll/max(1, lines)))
}

// estimate is estimateAll for one zone, of which at most so many are looked at.
func (r *Registry) estimate(ctx context.Context, z *remembered, most int) {
	s, err := ask(ctx, r, z, store.Sample, func() (line.Sample, error) { return r.store.Sample(ctx, z.id, most) })
	if err != nil {
		z.before.CompareAndSwap(nil, z.table.Load())
	} else {
		table := z.model.Learn(s, z.settings.Load().IdleTimeout())
		if was := z.table.Swap(table); table.Changed(was) {
			z.judge.forget()
		}
		z.learn(s.State, r.now().Sub(r.began))
	}
}

// tell has an answer say how long its visitor will wait.
func (z *remembered) tell(a *line.Answer, score int64) {
	if a.Status == line.Waiting {
		stands := z.placed(a.Place)
		stands.ScoreMicros = max(stands.ScoreMicros, score)
		z.table.Load().Tell(a, stands.StandsAtMicros())
	}
}

// EstimateOnce makes the tables anew, one zone after the other: what Start has done every second.
func (r *Registry) EstimateOnce(ctx context.Context) {
	lined := r.lined()
	for _, z := range lined {
		r.estimate(ctx, z, sampledEach(len(lined)))
	}
}

// Expect returns about how long one would wait who stands there if the store, last heard of before,
// were back at a time, all in milliseconds of the zone's clock. It never asks the store. false:
// this server never heard of the line.
func (r *Registry) Expect(zoneID string, p line.Place, nowMillis int64) (millis int64, heard bool) {
	z := r.lookup(zoneID)
	if z == nil || z.now.Load() == 0 {
		return 0, false
	}
	return z.expect(z.placed(p).StandsAtMicros(), nowMillis), true
}

// expect goes by the table: nobody has entered since. Without one, while people gather or have just
// begun to wait, they are taken to stand evenly.
func (z *remembered) expect(stands, nowMillis int64) int64 {
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
