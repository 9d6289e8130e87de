package registry

import (
	"context"
	"time"

	"github.com/openqueue/waitingroom/internal/estimate"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
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
	var lined []*remembered
	for _, z := range *r.zones.Load() {
		if z.lined.Load() || z.table.Load() != nil {
			lined = append(lined, z)
		}
	}
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

// sampledEach is how many are looked at in each of so many lines.
func sampledEach(lines int) int {
	return max(leastSampled, min(estimate.Sampled, sampledInAll/max(1, lines)))
}

// estimate is estimateAll for one zone, of which at most so many are looked at.
func (r *Registry) estimate(ctx context.Context, z *remembered, most int) {
	s, err := ask(ctx, r, z, store.Sample, func() (line.Sample, error) { return r.store.Sample(ctx, z.id, most) })
	if err == nil {
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
