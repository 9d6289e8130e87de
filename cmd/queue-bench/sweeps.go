package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/openqueue/waitingroom/internal/measure"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/lua"
)

// clock is a clock that is set. The stores take it instead of their own, so
// that people become idle without anybody waiting for it.
type clock struct{ micros atomic.Int64 }

func newClock(at time.Time) *clock {
	c := &clock{}
	c.micros.Store(at.UnixMicro())
	return c
}

func (c *clock) now() time.Time          { return time.UnixMicro(c.micros.Load()) }
func (c *clock) advance(d time.Duration) { c.micros.Add(d.Microseconds()) }

const (
	// absence makes everybody idle who does not poll after it.
	absence = 3 * time.Minute
	// presence is how long after their poll the others are swept: as long as
	// they may be silent, but for a second.
	presence = zone.DefaultIdleTimeoutSeconds*time.Second - time.Second
)

// sweepCost is what it took to sweep the idle out of a crowd.
type sweepCost struct {
	Store   string `json:"store"`
	Waiting int    `json:"waiting"`
	Removed int64  `json:"removed"`
	// Took is the time from the first batch to the last; each of the calls held the
	// store for up to Longest.
	Took    time.Duration `json:"tookNanos"`
	Calls   int           `json:"calls"`
	P50     time.Duration `json:"p50Nanos,omitzero"`
	P99     time.Duration `json:"p99Nanos,omitzero"`
	Longest time.Duration `json:"longestNanos"`
}

// sweeps has a part of the crowd on Redis fall silent, and sweeps it. It comes
// last: it sets the zone's clock forward.
func (b *bench) sweeps(ctx context.Context) (err error) {
	// The zone's clock is about to be ours; a server's would set it back.
	if err := errors.Join(b.stopFront(), b.named(onRedis).Stop()); err != nil {
		return err
	}
	ahead := newClock(time.Now().Add(absence))
	store, err := lua.Open(ctx, lua.Options{URL: b.redis.URL(), Now: ahead.now})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	places, err := b.named(onRedis).crowd.places(b.keys)
	if err != nil {
		return err
	}
	// The same fall silent each time.
	present := rand.New(rand.NewPCG(1, 2)).Perm(len(places))[b.plan.idle:]
	if err := each(ctx, pollers, len(present), func(ctx context.Context, i int) error {
		_, err := store.Poll(ctx, benchZone, places[present[i]])
		return err
	}); err != nil {
		return err
	}
	brief := zoneFor(benchZone)
	brief.IdleTimeoutSeconds = zone.DefaultIdleTimeoutSeconds
	if _, err := store.PutZone(ctx, brief, nil, ""); err != nil {
		return err
	}
	ahead.advance(presence)
	if err := b.redis.WatchCalls(ctx, 0); err != nil {
		return err
	}
	start, removed := time.Now(), int64(0)
	for cursor := uint64(0); ; {
		batch, err := store.Sweep(ctx, benchZone, "bench", cursor)
		if err != nil {
			return err
		}
		removed += batch.Removed
		if cursor = batch.Next; cursor == 0 {
			break
		}
	}
	took := time.Since(start)
	calls, err := b.redis.ScriptCalls(ctx)
	b.out.Sweeps = append(b.out.Sweeps, sweepOf(len(places), removed, took, times(calls)))
	return err
}

// sweepOf is a sweep on Redis whose calls took so long.
func sweepOf(waiting int, removed int64, took time.Duration, calls []time.Duration) sweepCost {
	slices.Sort(calls)
	return sweepCost{
		Store: onRedis, Waiting: waiting, Removed: removed, Took: took, Calls: len(calls),
		P50: measure.Percentile(calls, 50), P99: measure.Percentile(calls, 99), Longest: measure.Percentile(calls, 100),
	}
}

// heapBytes is what this process's heap holds after a garbage collection.
func heapBytes() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
