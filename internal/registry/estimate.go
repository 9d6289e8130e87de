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

// estimateAll makes the tables anew by which visitors are told how long they will wait. Zones
// do not wait for one another. Where the store is away the table of before holds for a while.
func (r *Registry) estimateAll(ctx context.Context) {
	for _, z := range *r.zones.Load() {
		if (z.lined.Load() || z.table.Load() != nil) && !z.sampling.Swap(true) {
			r.background.Go(func() {
				defer z.sampling.Store(false)
				r.estimate(ctx, z)
			})
		}
	}
}

// estimate is estimateAll for one zone.
func (r *Registry) estimate(ctx context.Context, z *remembered) {
	s, err := ask(ctx, r, z, store.Sample, func() (line.Sample, error) { return r.store.Sample(ctx, z.id, estimate.Sampled) })
	if err == nil {
		z.table.Store(z.model.Learn(s, z.settings.Load().IdleTimeout()))
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
