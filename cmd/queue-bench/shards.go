package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limit/local"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
)

// shardUse is how much of a limit in so many parts was used.
type shardUse struct {
	Parts int64 `json:"parts"`
	// Used is the share of what could have passed that did, by load: what came, as
	// a share of the limit. See shardLoads.
	Used []float64 `json:"used"`
}

const (
	// shardLimit a shardWindow is what is split, for so many windows.
	shardLimit   = 1_000
	shardWindow  = 10 * time.Second
	shardWindows = 12
	shardServers = 2
)

var shardLoads = []float64{0.5, 0.8, 0.9, 1, 1.2, 2}

// shards has one client of a split limit ask at random moments, on two servers in
// turn, in virtual time.
func (b *bench) shards(ctx context.Context) (err error) {
	for _, parts := range []int64{1, 4, 16, 64} {
		use := shardUse{parts, make([]float64, len(shardLoads))}
		for i, load := range shardLoads {
			if use.Used[i], err = shardUsed(ctx, parts, load); err != nil {
				return err
			}
		}
		b.limited.Shards = append(b.limited.Shards, use)
	}
	return nil
}

func shardUsed(ctx context.Context, parts int64, load float64) (float64, error) {
	clock := newClock(time.Unix(1_800_000_000, 0))
	store := local.New(local.CountersOptions{Now: clock.now})
	defer store.Close()
	policy := limit.Policy{
		Name: "hot", Shards: parts,
		Rules: []limit.Rule{{Algorithm: limit.SlidingLog, Limit: shardLimit, WindowSeconds: int64(shardWindow.Seconds())}},
	}
	var servers [shardServers]*limiter.Limiter
	for i := range servers {
		servers[i] = limiter.New(limiter.Dependencies{Store: store, Local: store, Servers: shardServers, Now: clock.now})
		servers[i].Use(limit.PolicySet{}.Put(policy))
	}
	rng := rand.New(rand.NewPCG(uint64(parts), uint64(100*load)))
	rate := load * shardLimit / shardWindow.Seconds()
	asked, passed := 0, 0
	for left := shardWindows * shardWindow.Seconds(); ; asked++ {
		pause := rng.ExpFloat64() / rate
		if left -= pause; left < 0 {
			return float64(passed) / min(float64(asked), shardWindows*shardLimit), nil
		}
		clock.advance(time.Duration(pause * float64(time.Second)))
		a, err := servers[asked%shardServers].Check(ctx, limiter.Question{Policy: "hot", Key: "all"})
		if err != nil {
			return 0, err
		}
		if a.Allowed {
			passed++
		}
	}
}
