package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// longCall is from when on a script call is looked at: a tenth of what it may
	// take at most.
	longCall = time.Millisecond
	// frontSize is how many keep the edge where it is: far more than are let in
	// during a run, at one in ten seconds.
	frontSize = 200
	// frontEvery is how often each of them polls: before it would be late.
	frontEvery = 2 * time.Second
)

// http measures the servers at each size of the crowd.
func (b *bench) http(ctx context.Context) error {
	b.begin("warming up")
	for _, c := range b.contenders {
		// Every server, and every connection, sees each kind of request.
		var met crowd
		l := b.load(c, joins(warmZone, &met))
		l.budget = 20 * int64(l.conns)
		if _, err := l.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		if _, err := b.load(c, polls(warmZone, &met)).run(ctx); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	empty, err := b.memory(ctx)
	if err != nil {
		return err
	}
	for i, n := range b.plan.sizes {
		if i == 0 {
			b.begin("%s join", count(n))
			err = b.firstCrowd(ctx, b.contenders, n)
		} else {
			b.begin("%s more join", count(n-b.plan.sizes[i-1]))
			b.out.Steps[i-1].Joins, err = b.grow(ctx, n)
		}
		if err != nil {
			return err
		}
		s, err := b.step(ctx, n, empty)
		if err != nil {
			return err
		}
		b.out.Steps = append(b.out.Steps, s)
	}
	b.begin("joins with %s waiting", count(b.plan.largest()))
	if b.out.Steps[len(b.out.Steps)-1].Joins, err = b.joinsAtEnd(ctx); err != nil {
		return err
	}
	b.begin("polls while Redis writes to disk")
	if err := b.redis.SetAppendOnly(ctx, true); err != nil {
		return err
	}
	if b.out.AppendOnly, err = b.measurePolls(ctx, b.named(bareEcho), b.named(onRedis)); err != nil {
		return err
	}
	return b.redis.SetAppendOnly(ctx, false)
}

// step measures with n waiting.
func (b *bench) step(ctx context.Context, n int, empty map[string]int64) (s step, err error) {
	s = step{Waiting: n, Bytes: make(map[string]float64)}
	full, err := b.memory(ctx)
	if err != nil {
		return s, err
	}
	for name, bytes := range full {
		s.Bytes[name] = float64(bytes-empty[name]) / float64(n)
	}
	b.begin("polls with %s waiting", count(n))
	if err := b.redis.WatchCalls(ctx, longCall); err != nil {
		return s, err
	}
	if s.Polls, err = b.measurePolls(ctx, b.contenders...); err != nil {
		return s, err
	}
	calls, err := b.redis.ScriptCalls(ctx)
	if err != nil {
		return s, err
	}
	s.Longest = slices.Max(append(calls, 0))
	b.begin("latency with %s waiting", count(n))
	s.Latency, err = b.contest(ctx, b.plan.Rounds, b.contenders, func(ctx context.Context, c *contender) (sample, error) {
		l := b.load(c, polls(benchZone, &c.crowd))
		// Half the rate that it has shown, evenly spread over the connections.
		l.every = time.Duration(float64(l.conns) * 2 / s.Polls.Of(c.name).PerSecond * float64(time.Second))
		return b.observe(ctx, c, l)
	})
	return s, err
}

// measurePolls measures polls as fast as they go.
func (b *bench) measurePolls(ctx context.Context, of ...*contender) (results, error) {
	return b.contest(ctx, b.plan.Rounds, of, func(ctx context.Context, c *contender) (sample, error) {
		return b.observe(ctx, c, b.load(c, polls(benchZone, &c.crowd)))
	})
}

// firstCrowd lines up the first n at each, and has those at the front of each line poll
// in time from then on, as visitors do, while the others are measured: where nobody at
// the front is there, the edge runs through the line to find somebody, and everybody is
// told to come back at once.
func (b *bench) firstCrowd(ctx context.Context, at []*contender, n int) error {
	ctx, cancel := context.WithCancel(ctx)
	var front errgroup.Group
	b.stopFront = func() error {
		cancel()
		return front.Wait()
	}
	for _, c := range at {
		if c.name == bareEcho {
			continue
		}
		if _, err := b.join(ctx, c, n); err != nil {
			return err
		}
		first, err := c.crowd.first(b.keys, frontSize)
		if err != nil {
			return err
		}
		l := b.load(c, inTurn("/traffic/entry", benchZone, &first))
		l.every, l.span = time.Duration(l.conns)*frontEvery/time.Duration(first.len()), longestLoad
		front.Go(func() error {
			if _, err := l.run(ctx); ctx.Err() == nil {
				return err
			}
			return nil
		})
	}
	return nil
}

// join has n line up as fast as it goes; or, if n is 0, as many as do in a slice. At the
// baseline they always do for a slice, and nobody stays.
func (b *bench) join(ctx context.Context, c *contender, n int) (sample, error) {
	var newcomers crowd
	l := b.load(c, joins(benchZone, &newcomers))
	if c.name != bareEcho {
		l.budget = int64(n)
	}
	s, err := b.observe(ctx, c, l)
	if err != nil || c.name == bareEcho {
		return s, err
	}
	// Clients keep the newest token, which says when its visitor is due; those of a crowd keep
	// their first, so it is made to say a day from now. Without that, the stores would
	// look each of them up as one who comes late.
	places, err := newcomers.places(b.keys)
	for i := range places {
		places[i].DueMillis = time.Now().Add(24 * time.Hour).UnixMilli()
		c.crowd.tokens = append(c.crowd.tokens, b.keys.Sign(benchZone, places[i])...)
	}
	return s, err
}

// grow lines up newcomers until n wait at each server, in rounds.
func (b *bench) grow(ctx context.Context, n int) (results, error) {
	left := make(map[*contender]int)
	return b.contest(ctx, b.plan.joinRounds, b.contenders, func(ctx context.Context, c *contender) (sample, error) {
		if left[c] == 0 {
			left[c] = b.plan.joinRounds
		}
		some := (n - c.crowd.len()) / left[c]
		left[c]--
		return b.join(ctx, c, some)
	})
}

// joinsAtEnd measures joins with the largest crowd waiting; then the newcomers
// leave, so that the crowd is as large as before.
func (b *bench) joinsAtEnd(ctx context.Context) (results, error) {
	s, err := b.contest(ctx, b.plan.Rounds, b.contenders, func(ctx context.Context, c *contender) (sample, error) { return b.join(ctx, c, 0) })
	for _, c := range b.contenders {
		if err != nil || c.name == bareEcho {
			continue
		}
		newcomers := c.crowd.cut(b.plan.largest())
		l := b.load(c, inTurn("/traffic/leave", benchZone, &newcomers))
		l.budget = int64(newcomers.len())
		if _, failed := l.run(ctx); failed != nil {
			err = fmt.Errorf("%s: leave: %w", c.name, failed)
		}
	}
	return s, err
}

// memory is what each store holds, in bytes.
func (b *bench) memory(ctx context.Context) (map[string]int64, error) {
	used, err := b.redis.UsedMemory(ctx)
	heap, failed := b.named(onEmbedded).heap(ctx)
	return map[string]int64{onRedis: used, onEmbedded: heap}, errors.Join(err, failed)
}
