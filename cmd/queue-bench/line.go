package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/openqueue/waitingroom/internal/check/baseline"
	"github.com/openqueue/waitingroom/lua"
)

const (
	// longCall is from when on a script call is looked at.
	longCall = 200 * time.Microsecond
	// settleAfter is when Redis has been told of all polls that a server answered by itself:
	// it is told within 2 s.
	settleAfter = 2200 * time.Millisecond
	// nearest are those whose polls Redis answers, each by itself; see position.lua.
	nearest = 51_200
	// frontSize is how many keep the edge where it is: far more than are let in
	// during a run, at one in ten seconds.
	frontSize = 200
	// frontEvery is how often each of them polls: before it would be late.
	frontEvery = 2 * time.Second
)

// warmUp has every server, and every connection, see each kind of request.
func (b *bench) warmUp(ctx context.Context) (err error) {
	for _, c := range b.contenders {
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
	b.empty, err = b.memory(ctx)
	return err
}

// step measures polls with n waiting, and what those hold.
func (b *bench) step(ctx context.Context, n int) error {
	s := step{Waiting: n, Bytes: make(map[string]float64)}
	full, err := b.memory(ctx)
	if err != nil {
		return err
	}
	for name, bytes := range full {
		s.Bytes[name] = float64(bytes-b.empty[name]) / float64(n)
	}
	err = b.watched(ctx, "polls", func() (err error) {
		s.Polls, err = b.measurePolls(ctx, b.contenders...)
		return err
	})
	b.out.Steps = append(b.out.Steps, s)
	return err
}

// watched does something, and keeps the longest call that each script made meanwhile. Those
// that poll.lua makes are of what was done.
func (b *bench) watched(ctx context.Context, what string, do func() error) error {
	if err := errors.Join(b.redis.WatchCalls(ctx, longCall), do()); err != nil {
		return err
	}
	calls, err := b.redis.ScriptCalls(ctx)
	b.out.Longest = longest(b.out.Longest, what, calls)
	return err
}

// longest adds calls to the longest of each kind.
func longest(known []longestCall, polls string, calls []baseline.ScriptCall) []longestCall {
	kinds := map[string]string{"poll": polls, "touch": "notes of polls", "sweep": "sweeps"}
	for _, c := range calls {
		kind, ours := kinds[lua.ScriptNamed(c.SHA)]
		i := slices.IndexFunc(known, func(k longestCall) bool { return k.Name == kind })
		switch {
		case !ours:
		case i < 0:
			known = append(known, longestCall{kind, c.Took})
		default:
			known[i].Took = max(known[i].Took, c.Took)
		}
	}
	return known
}

// times are how long calls took.
func times(calls []baseline.ScriptCall) (all []time.Duration) {
	for _, c := range calls {
		all = append(all, c.Took)
	}
	return all
}

// nearPolls measures polls of those at the front of the largest crowd.
func (b *bench) nearPolls(ctx context.Context) (err error) {
	b.last().Near, err = b.contestLoads(ctx, b.contenders, func(c *contender) (load, error) {
		// Tokens are in the order of the joins, but for the few that were asked at once.
		front := crowd{c.crowd.tokens[:min(nearest, c.crowd.len())*tokenSize]}
		return b.polls(c, &front)
	})
	return err
}

// last is the step that is measured.
func (b *bench) last() *step { return &b.out.Steps[len(b.out.Steps)-1] }

// latency measures polls at half the rate that each has shown.
func (b *bench) latency(ctx context.Context) (err error) {
	b.last().Latency, err = b.contestLoads(ctx, b.those(bareEcho, onEmbedded, onRedis), func(c *contender) (load, error) {
		l, err := b.polls(c, &c.crowd)
		l.every = time.Duration(float64(l.conns) * 2 / b.last().Polls.Of(c.name).PerSecond * float64(time.Second))
		return l, err
	})
	return err
}

// appendOnly measures polls while Redis writes a log to disk.
func (b *bench) appendOnly(ctx context.Context) error {
	if err := b.redis.SetAppendOnly(ctx, true); err != nil {
		return err
	}
	var err error
	b.out.AppendOnly, err = b.measurePolls(ctx, b.those(bareEcho, onRedis)...)
	return errors.Join(err, b.redis.SetAppendOnly(ctx, false))
}

// measurePolls measures polls as fast as they go.
func (b *bench) measurePolls(ctx context.Context, of ...*contender) (results, error) {
	return b.contestLoads(ctx, of, func(c *contender) (load, error) { return b.polls(c, &c.crowd) })
}

// contestLoads puts load on contenders, in rounds, each by the load that is made for it.
func (b *bench) contestLoads(ctx context.Context, of []*contender, loadOf func(*contender) (load, error)) (results, error) {
	return b.contest(ctx, of, func(ctx context.Context, c *contender) (sample, error) {
		l, err := loadOf(c)
		if err != nil {
			return sample{}, err
		}
		return b.observe(ctx, c, l)
	})
}

// polls are of some of those who wait at a contender, all of whom are due.
func (b *bench) polls(c *contender, of *crowd) (load, error) {
	l := b.load(c, polls(benchZone, of))
	if c.lineless() {
		return l, nil
	}
	return l, of.renew(b.keys)
}

// firstCrowd lines up the first n at each, and has those at the front of each line poll
// in time from then on, as visitors do, while the others are measured: where nobody at
// the front is there, the edge runs through the line to find somebody, and Redis answers all
// whom it passed.
func (b *bench) firstCrowd(ctx context.Context, n int) error {
	ctx, cancel := context.WithCancel(ctx)
	var front errgroup.Group
	b.stopFront = func() error {
		cancel()
		return front.Wait()
	}
	for _, c := range b.contenders {
		if c.lineless() {
			continue
		}
		if _, err := b.join(ctx, c, joins, min(frontSize, n/2)); err != nil {
			return err
		}
		first := crowd{slices.Clone(c.crowd.tokens)}
		front.Go(func() error {
			if err := b.keepFront(ctx, c, first); ctx.Err() == nil {
				return err
			}
			return nil
		})
		if _, err := b.join(ctx, c, joins, n-c.crowd.len()); err != nil {
			return err
		}
	}
	return nil
}

// keepFront has those who were the first in line poll in time, until the context ends. On Redis they ask it by
// themselves, so that they get through when the server is offered more than it can answer.
func (b *bench) keepFront(ctx context.Context, c *contender, first crowd) error {
	if c.name != onRedis {
		l := b.load(c, inTurn("/traffic/entry", &first))
		l.every, l.span = time.Duration(l.conns)*frontEvery/time.Duration(first.len()), longestLoad
		_, err := l.run(ctx)
		return err
	}
	places, err := first.places(b.keys)
	for err == nil && pause(ctx, frontEvery) == nil {
		err = each(ctx, pollers, len(places), func(ctx context.Context, i int) error {
			_, err := b.store.Poll(ctx, benchZone, places[i])
			return err
		})
	}
	return err
}

// join has n line up as fast as it goes; or, if n is 0, as many as do in a slice. At the
// baselines they always do for a slice, and nobody stays. ask is how they join.
func (b *bench) join(ctx context.Context, c *contender, ask func(zoneID string, into *crowd) question, n int) (sample, error) {
	var newcomers crowd
	l := b.load(c, ask(benchZone, &newcomers))
	if !c.lineless() {
		l.budget = int64(n)
	}
	s, err := b.observe(ctx, c, l)
	if err != nil || c.lineless() {
		return s, err
	}
	c.crowd.tokens = append(c.crowd.tokens, newcomers.tokens...)
	return s, nil
}

// grow lines up newcomers, until the next size waits at each server, in rounds.
func (b *bench) grow(ctx context.Context) (err error) {
	n, left := b.plan.sizes[len(b.out.Steps)], make(map[*contender]int)
	b.last().Joins, err = b.contest(ctx, b.contenders, func(ctx context.Context, c *contender) (sample, error) {
		if left[c] == 0 {
			left[c] = b.plan.Rounds
		}
		some := (n - c.crowd.len()) / left[c]
		left[c]--
		return b.join(ctx, c, joins, some)
	})
	return err
}

// joinsAtEnd measures joins with the largest crowd waiting, without a clientId and with one.
func (b *bench) joinsAtEnd(ctx context.Context) error {
	one := func(ask func(string, *crowd) question, into *results) func() error {
		return func() (err error) {
			*into, err = b.contest(ctx, b.contenders, func(ctx context.Context, c *contender) (sample, error) {
				return b.join(ctx, c, ask, 0)
			})
			return errors.Join(err, b.leaveAgain(ctx))
		}
	}
	return errors.Join(
		b.watched(ctx, "joins", one(joins, &b.last().Joins)),
		b.watched(ctx, "joins", one(joinsByName, &b.last().Named)),
	)
}

// leaveAgain has those leave who came after the largest crowd.
func (b *bench) leaveAgain(ctx context.Context) error {
	for _, c := range b.contenders {
		if c.lineless() || c.crowd.len() <= b.plan.largest() {
			continue
		}
		newcomers := c.crowd.cut(b.plan.largest())
		l := b.load(c, inTurn("/traffic/leave", &newcomers))
		l.budget = int64(newcomers.len())
		if _, err := l.run(ctx); err != nil {
			return fmt.Errorf("%s: leave: %w", c.name, err)
		}
	}
	return nil
}

// memory is what each store holds, in bytes.
func (b *bench) memory(ctx context.Context) (map[string]int64, error) {
	used, err := b.redis.UsedMemory(ctx)
	heap, failed := b.named(onEmbedded).heap(ctx)
	return map[string]int64{onRedis: used, onEmbedded: heap}, errors.Join(err, failed)
}
