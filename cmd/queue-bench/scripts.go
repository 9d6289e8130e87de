package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/lua"
)

// The contenders for Redis: our script and the minimal one, each with the
// largest crowd waiting and with the smallest.
const (
	oursLarge    = "visit script, large"
	oursSmall    = "visit script, small"
	minimalLarge = "minimal script, large"
	minimalSmall = "minimal script, small"
)

const (
	// together256 is how many visitors the minimal script serves in a call.
	together256 = 256
	// pollers ask the store at once: enough that there always are that many
	// for the next call.
	pollers = 1024
	// smallZone has the smallest crowd, in Redis beside the largest.
	smallZone = "SMALL"
)

// onlyCrowd lines up the crowd on Redis, for a run that leaves HTTP out.
func (b *bench) onlyCrowd(ctx context.Context) error {
	n := b.plan.largest()
	b.progress.begin("%s join", count(n))
	if err := b.firstCrowd(ctx, b.plan.sizes[0]); err != nil {
		return err
	}
	if err := b.keepFront(ctx); err != nil {
		return err
	}
	_, err := b.join(ctx, b.room(onRedis), n-b.plan.sizes[0])
	return err
}

// scripts measures the processor time of Redis a poll, driven by package lua's
// own store in this process, with as many visitors a call as it takes.
func (b *bench) scripts(ctx context.Context) (err error) {
	b.progress.begin("processor time of Redis a poll")
	store, err := lua.Open(ctx, lua.Options{URL: b.redis.URL()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	large, err := b.room(onRedis).crowd.places(b.keys)
	if err != nil {
		return err
	}
	small, err := lineUp(ctx, store, smallZone, b.plan.sizes[0])
	if err != nil {
		return err
	}
	before, err := b.redis.UsedMemory(ctx)
	if err != nil {
		return err
	}
	yardLarge, yardSmall := b.redis.Line("yard:large"), b.redis.Line("yard:small")
	if err := yardLarge.Fill(ctx, large, time.Now().UnixMilli()); err != nil {
		return err
	}
	after, err := b.redis.UsedMemory(ctx)
	if err != nil {
		return err
	}
	b.out.MinimalBytes = float64(after-before) / float64(len(large))
	if err := yardSmall.Fill(ctx, small, time.Now().UnixMilli()); err != nil {
		return err
	}

	ours := func(zoneID string, places []line.Place) task {
		return task{pollers, func(ctx context.Context, rng *rand.Rand) (int, error) {
			_, err := store.Poll(ctx, zoneID, places[rng.IntN(len(places))])
			return 1, err
		}}
	}
	minimal := func(poll func(context.Context, []line.Place, int64) ([]int64, error), places []line.Place) task {
		return task{2, func(ctx context.Context, rng *rand.Rand) (int, error) {
			some := make([]line.Place, together256)
			for i := range some {
				some[i] = places[rng.IntN(len(places))]
			}
			_, err := poll(ctx, some, time.Now().UnixMilli())
			return len(some), err
		}}
	}
	s, err := b.interleave(ctx, b.plan.Rounds, []turn{
		{oursLarge, b.burden(ours(benchZone, large))},
		{minimalLarge, b.burden(minimal(yardLarge.Poll, large))},
		{oursSmall, b.burden(ours(smallZone, small))},
		{minimalSmall, b.burden(minimal(yardSmall.Poll, small))},
	})
	b.out.Growth = s.ratio(oursLarge, oursSmall, redisMicros)
	for _, size := range []struct {
		waiting       int
		minimal, ours string
	}{{len(small), minimalSmall, oursSmall}, {len(large), minimalLarge, oursLarge}} {
		b.out.Scripts = append(b.out.Scripts,
			scriptCost{size.waiting, "minimal", s.median(size.minimal, redisMicros), 1},
			scriptCost{size.waiting, "ours", s.median(size.ours, redisMicros), s.ratio(size.ours, size.minimal, redisMicros)})
	}
	return err
}

// task is what so many goroutines do at once; it returns for how many visitors.
type task struct {
	workers int
	do      func(context.Context, *rand.Rand) (visitors int, err error)
}

// burden is what the task costs Redis a visitor.
func (b *bench) burden(t task) func(context.Context) (sample, error) {
	return func(ctx context.Context) (sample, error) {
		before, err := b.redis.CPU(ctx)
		if err != nil {
			return sample{}, err
		}
		start := time.Now()
		visitors, err := t.run(ctx, start.Add(b.plan.Span))
		if err != nil {
			return sample{}, err
		}
		took := time.Since(start)
		after, err := b.redis.CPU(ctx)
		return sample{
			PerSecond:   float64(visitors) / took.Seconds(),
			RedisMicros: micros(after-before) / float64(max(1, visitors)),
		}, err
	}
}

// run has the workers do the task again and again until then.
func (t task) run(ctx context.Context, until time.Time) (visitors int64, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var workers sync.WaitGroup
	var sum atomic.Int64
	for i := range t.workers {
		workers.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), uint64(until.UnixNano())))
			for ctx.Err() == nil && time.Now().Before(until) {
				n, err := t.do(ctx, rng)
				if err != nil {
					cancel(err)
					return
				}
				sum.Add(int64(n))
			}
		})
	}
	workers.Wait()
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	return sum.Load(), nil
}

// lineUp makes a zone in Redis with n waiting, and returns their places.
func lineUp(ctx context.Context, store *lua.Store, zoneID string, n int) ([]line.Place, error) {
	if _, err := store.PutZone(ctx, zoneFor(zoneID), nil, ""); err != nil {
		return nil, err
	}
	places := make([]line.Place, n)
	err := each(ctx, n, func(ctx context.Context, i int) error {
		a, err := store.Join(ctx, zoneID, token.NewID())
		if err == nil && a.Status > line.AdmittedBefore {
			err = fmt.Errorf("join: status %d", a.Status)
		}
		places[i] = a.Place
		places[i].DueMillis += (24 * time.Hour).Milliseconds() // as of one who keeps the newest token
		return err
	})
	return places, err
}

// each calls do for 0 to n-1, by many goroutines at once.
func each(ctx context.Context, n int, do func(context.Context, int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var workers sync.WaitGroup
	var next atomic.Int64
	for range pollers {
		workers.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1) - 1)
				if i >= n {
					return
				}
				if err := do(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	workers.Wait()
	return context.Cause(ctx)
}
