package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/openqueue/waitingroom/internal/embedded"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/measure"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/token"
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

// timed adds how long each call held the store.
func (s sweepCost) timed(calls []time.Duration) sweepCost {
	slices.Sort(calls)
	s.Calls, s.P50, s.P99, s.Longest = len(calls), measure.Percentile(calls, 50), measure.Percentile(calls, 99), measure.Percentile(calls, 100)
	return s
}

// sweepAll sweeps the zone from its beginning to its end, and times the calls.
func sweepAll(ctx context.Context, swept store.Sweeper, name string, waiting int) (sweepCost, error) {
	cost, start := sweepCost{Store: name, Waiting: waiting}, time.Now()
	var calls []time.Duration
	for cursor := uint64(0); ; {
		began := time.Now()
		batch, err := swept.Sweep(ctx, benchZone, "bench", cursor)
		if err != nil {
			return cost, err
		}
		calls = append(calls, time.Since(began))
		cost.Removed += batch.Removed
		if cursor = batch.Next; cursor == 0 {
			cost.Took = time.Since(start)
			return cost.timed(calls), nil
		}
	}
}

// brief is the benchmark's zone where the silent are soon idle.
func brief() zone.Settings {
	z := zoneFor(benchZone)
	z.IdleTimeoutSeconds = zone.DefaultIdleTimeoutSeconds
	return z
}

// shuffled are the numbers of n visitors at random, the same each time: the first of them
// fall silent.
func shuffled(n int) []int { return rand.New(rand.NewPCG(1, 2)).Perm(n) }

// sweeps has a part of the crowd on Redis fall silent, and sweeps it. It comes
// last: it sets the zone's clock forward.
func (b *bench) sweeps(ctx context.Context) (err error) {
	// The zone's clock is about to be ours; a server's would set it back.
	if err := errors.Join(b.stopFront(), b.named(onRedis).stop()); err != nil {
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
	present := shuffled(len(places))[b.plan.idle:]
	if err := each(ctx, len(present), func(ctx context.Context, i int) error {
		_, err := store.Poll(ctx, benchZone, places[present[i]])
		return err
	}); err != nil {
		return err
	}
	if _, err := store.PutZone(ctx, brief(), nil, ""); err != nil {
		return err
	}
	ahead.advance(presence)
	if err := b.redis.WatchCalls(ctx, 0); err != nil {
		return err
	}
	cost, err := sweepAll(ctx, store, onRedis, len(places))
	if err != nil {
		return err
	}
	calls, err := b.redis.ScriptCalls(ctx)
	b.out.Sweeps = append(b.out.Sweeps, cost.timed(times(calls)))
	return err
}

// inProcessCost is what one call costs the embedded store, without HTTP.
type inProcessCost struct {
	Waiting int           `json:"waiting"`
	Join    time.Duration `json:"joinNanos"`
	Poll    time.Duration `json:"pollNanos"`
	Bytes   float64       `json:"bytes"`
}

// inProcess measures the embedded store by itself, by one goroutine.
func (b *bench) inProcess(ctx context.Context) (err error) {
	n := b.plan.largest()
	ahead := newClock(time.Now())
	store, err := embedded.Open(embedded.Options{Now: ahead.now})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if _, err := store.PutZone(ctx, brief(), nil, ""); err != nil {
		return err
	}
	places := make([]line.Place, n)
	for i := range places {
		places[i].ID = token.NewID()
	}
	before, start := heapBytes(), time.Now()
	for i := range places {
		ahead.advance(time.Microsecond)
		a, err := store.Join(ctx, benchZone, places[i].ID)
		if err != nil {
			return err
		}
		places[i].ArrivedAtMicros = a.Place.ArrivedAtMicros
	}
	out := inProcessCost{Waiting: n, Join: time.Since(start) / time.Duration(n)}
	out.Bytes = float64(heapBytes()-before) / float64(n)
	ahead.advance(absence)
	present := shuffled(n)[b.plan.idle:]
	start = time.Now()
	for _, i := range present {
		if _, err := store.Poll(ctx, benchZone, places[i]); err != nil {
			return err
		}
	}
	out.Poll = time.Since(start) / time.Duration(len(present))
	ahead.advance(presence)
	cost, err := sweepAll(ctx, store, onEmbedded, n)
	b.out.Embedded, b.out.Sweeps = out, append(b.out.Sweeps, cost)
	return err
}

// heapBytes is what this process's heap holds after a garbage collection.
func heapBytes() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// sweptStore counts whom a sweeper removes.
type sweptStore struct {
	*lua.Store
	removed *atomic.Int64
}

// Sweep implements store.Sweeper.
func (s sweptStore) Sweep(ctx context.Context, zoneID, owner string, cursor uint64) (line.Sweep, error) {
	batch, err := s.Store.Sweep(ctx, zoneID, owner, cursor)
	s.removed.Add(batch.Removed)
	return batch, err
}
