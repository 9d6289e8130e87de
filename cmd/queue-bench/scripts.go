package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/lua"
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

// scripts measures the processor time of Redis a poll: of our script, called by package
// lua's own store in this process with as many visitors a call as it takes, and of the
// minimal one; each with the smallest crowd waiting and with the largest.
func (b *bench) scripts(ctx context.Context) error {
	large, err := b.named(onRedis).crowd.places(b.keys)
	if err != nil {
		return err
	}
	small, err := lineUp(ctx, b.store, smallZone, b.plan.sizes[0])
	if err != nil {
		return err
	}
	const ours, minimal = "ours, ", "minimal, "
	var turns []turn
	crowds := map[string][]line.Place{smallZone: small, benchZone: large}
	for _, zoneID := range []string{smallZone, benchZone} {
		places, plain := crowds[zoneID], b.redis.Line("baseline:"+zoneID)
		bytes, err := rises(ctx, b.redis.UsedMemory, func() error { return plain.Fill(ctx, places, time.Now().UnixMilli()) })
		if err != nil {
			return err
		}
		b.out.MinimalBytes = float64(bytes) / float64(len(places)) // the largest crowd's is the last
		turns = append(turns,
			turn{ours + zoneID, b.burden(pollers, func(ctx context.Context) (int, error) {
				p := places[rand.IntN(len(places))]
				p.DueMillis = time.Now().UnixMilli()
				_, err := b.store.Poll(ctx, zoneID, p)
				return 1, err
			})},
			turn{minimal + zoneID, b.burden(2, func(ctx context.Context) (int, error) {
				some := make([]line.Place, together256)
				for i := range some {
					some[i] = places[rand.IntN(len(places))]
				}
				_, err := plain.Poll(ctx, some, time.Now().UnixMilli())
				return len(some), err
			})})
	}
	s, err := b.interleave(ctx, turns)
	b.out.Growth = s.ratio(ours+benchZone, ours+smallZone, redisMicros)
	for _, zoneID := range []string{smallZone, benchZone} {
		n := len(crowds[zoneID])
		b.out.Scripts = append(b.out.Scripts,
			scriptCost{n, "minimal", s.median(minimal+zoneID, redisMicros), 1},
			scriptCost{n, "ours", s.median(ours+zoneID, redisMicros), s.ratio(ours+zoneID, minimal+zoneID, redisMicros)})
	}
	return err
}

// burden is what it costs Redis a visitor when so many goroutines do something again and
// again for a slice; do returns for how many visitors it was.
func (b *bench) burden(workers int, do func(context.Context) (visitors int, err error)) func(context.Context) (sample, error) {
	return func(ctx context.Context) (sample, error) {
		var visitors atomic.Int64
		var took time.Duration
		used, err := rises(ctx, b.redis.CPU, func() error {
			start := time.Now()
			all, working := errgroup.WithContext(ctx)
			for range workers {
				all.Go(func() error {
					for working.Err() == nil && time.Since(start) < b.plan.Span {
						n, err := do(working)
						if err != nil {
							return err
						}
						visitors.Add(int64(n))
					}
					return ctx.Err()
				})
			}
			err := all.Wait()
			took = time.Since(start)
			return err
		})
		n := float64(max(1, visitors.Load()))
		return sample{PerSecond: n / took.Seconds(), RedisMicros: micros(used) / n}, err
	}
}

// lineUp makes a zone in Redis with n waiting, and returns their places.
func lineUp(ctx context.Context, store *lua.Store, zoneID string, n int) ([]line.Place, error) {
	if _, err := store.PutZone(ctx, zoneFor(zoneID), nil, ""); err != nil {
		return nil, err
	}
	places := make([]line.Place, n)
	err := each(ctx, pollers, n, func(ctx context.Context, i int) error {
		a, err := store.Join(ctx, zoneID, token.NewID())
		if err == nil && a.Status > line.AdmittedBefore {
			err = fmt.Errorf("join: status %d", a.Status)
		}
		places[i] = a.Place
		return err
	})
	return places, err
}

// each calls do for 0 to n-1, in their order as far as they are called at once, by so many goroutines.
func each(ctx context.Context, workers, n int, do func(context.Context, int) error) error {
	var next atomic.Int64
	all, working := errgroup.WithContext(ctx)
	for range workers {
		all.Go(func() error {
			for i := int(next.Add(1)) - 1; i < n && working.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := do(working, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return errors.Join(all.Wait(), ctx.Err())
}
