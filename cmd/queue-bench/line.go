package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// settleAfter is when Redis has been told of all polls that a server answered by itself: it is told within 2 s.
	settleAfter = 2200 * time.Millisecond
	// frontSize is how many keep the edge where it is: far more than are admitted during a run, at one in ten seconds.
	frontSize = 200
	// frontEvery is how often each of them polls: before it would be late.
	frontEvery = 2 * time.Second
	// pollers ask the store at once: enough that there always are that many for the next call.
	pollers = 1024
	// mostRefused is the share of requests up to which refusals leave a figure its meaning.
	mostRefused = 0.001
	// overloaded is how many times its peak is offered to a server.
	overloaded = 3
	// overloadWarm is left out: as many connections as that need it to open.
	overloadWarm = 2 * time.Second
)

// errRefused: too much was refused for a figure to mean anything.
var errRefused = errors.New("more than a thousandth of the requests was refused")

// line measures the servers, program being the queue-server.
func (b *bench) line(ctx context.Context, program string) (err error) {
	fmt.Fprintln(b.says, "starting the servers")
	if b.servers, err = startServers(ctx, program); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.stop()) }()
	keeping, cancel := context.WithCancel(ctx)
	var front errgroup.Group
	defer func() {
		cancel()
		err = errors.Join(err, front.Wait())
	}()
	fmt.Fprintf(b.says, "%d join\n", b.plan.waiting)
	b.table.add("waiting at each server", float64(b.plan.waiting), "")
	for _, c := range b.contenders[1:] {
		if err := b.fill(ctx, keeping, c, &front); err != nil {
			return err
		}
	}
	if err := b.compare(ctx, "polls", 1, 0.9, 0.6); err != nil {
		return err
	}
	if err := b.compare(ctx, "joins", 1, 0.85, 3); err != nil {
		return err
	}
	fmt.Fprintln(b.says, "three times the peak")
	return b.overload(ctx)
}

// fill lines the crowd up at a server, and has those at the front poll in time from then on, as visitors do, while the
// others are measured: where nobody at the front is there, the edge runs through the line to find somebody, and Redis
// answers all whom it passed.
func (b *bench) fill(ctx, keeping context.Context, c *contender, front *errgroup.Group) error {
	l, err := b.load(c, "joins")
	if err != nil {
		return err
	}
	l.budget = int64(min(frontSize, b.plan.waiting/2))
	if _, err := b.observe(ctx, c, l); err != nil {
		return err
	}
	first := crowd{slices.Clone(c.crowd.tokens)}
	front.Go(func() error {
		if err := b.keepFront(keeping, c, first); keeping.Err() == nil {
			return err
		}
		return nil
	})
	l.budget = int64(b.plan.waiting) - l.budget
	_, err = b.observe(ctx, c, l)
	return err
}

// load has the connections of the plan ask a contender for a slice: polls are of those who wait there, all of whom are due;
// who joins stays.
func (b *bench) load(c *contender, asked string) (load, error) {
	l := load{question: joins(&c.crowd), addr: c.addr, conns: b.plan.conns, warm: b.plan.warm, span: b.plan.span}
	if asked == "joins" {
		return l, nil
	}
	l.question = polls(&c.crowd)
	if c.lineless() {
		return l, nil
	}
	return l, c.crowd.renew(b.keys)
}

// contest gives each contender a turn in each round, to and fro, so that a machine that becomes slower or faster favours
// none.
func (b *bench) contest(ctx context.Context, take func(context.Context, *contender) (sample, error)) (series, error) {
	out := make(series)
	for round := range b.plan.rounds {
		for i := range b.contenders {
			if round%2 == 1 {
				i = len(b.contenders) - 1 - i
			}
			c := b.contenders[i]
			runtime.GC() // nobody pays for the generator's own garbage
			s, err := take(ctx, c)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			out[c.name] = append(out[c.name], s)
		}
	}
	return out, nil
}

// observe runs a load on one contender and takes its sample.
func (b *bench) observe(ctx context.Context, c *contender, l load) (s sample, err error) {
	var t tally
	server, own := c.cpu(), ownCPU()
	redis, err := rises(ctx, b.redis.cpu, func() (err error) {
		if t, err = l.run(ctx); err == nil && c.name == onRedis {
			err = pause(ctx, settleAfter)
		}
		return err
	})
	if err != nil {
		return s, err
	}
	requests := float64(t.sent)
	if t.done == 0 || float64(t.refused) > mostRefused*requests {
		return s, fmt.Errorf("%w: %d of %d", errRefused, t.refused, t.sent)
	}
	s = sample{perSecond: float64(t.done) / t.took.Seconds(), server: micros(c.cpu()-server) / requests, own: micros(ownCPU()-own) / requests}
	if c.name == onRedis {
		s.redis = micros(redis) / requests
	}
	return s, nil
}

// mostHeld is the longest that a script call may hold the store.
const mostHeld = 10 * time.Millisecond

// compare has the contenders take turns in what is asked, as fast as it goes, and adds the figures to the table: ratios that
// are wanted to be at least those bounds, and the processor time of Redis.
func (b *bench) compare(ctx context.Context, asked string, toEcho, toEmbedded, mostRedis float64) error {
	fmt.Fprintln(b.says, asked)
	var s series
	calls, err := b.redis.longestCalls(ctx, func() (err error) {
		s, err = b.contest(ctx, func(ctx context.Context, c *contender) (sample, error) {
			l, err := b.load(c, asked)
			if err != nil {
				return sample{}, err
			}
			return b.observe(ctx, c, l)
		})
		return err
	})
	if err != nil {
		return err
	}
	for _, c := range b.contenders {
		b.table.add(asked+", "+c.name+": a second", s.median(c.name, perSecond), "")
		b.table.add(asked+", "+c.name+": server CPU", s.median(c.name, func(s sample) float64 { return s.server }), "µs")
	}
	b.table.atMost(asked+", Redis: Redis CPU", s.median(onRedis, func(s sample) float64 { return s.redis }), "µs", mostRedis)
	b.table.atLeast(asked+", embedded / bare echo", s.ratio(onEmbedded, bareEcho, perSecond), toEcho)
	b.table.add(asked+", embedded / bare echo, by processor time", s.ratio(bareEcho, onEmbedded, allMicros), "")
	b.table.atLeast(asked+", Redis / embedded", s.ratio(onRedis, onEmbedded, perSecond), toEmbedded)
	b.table.add(asked+", Redis / embedded, by processor time", s.ratio(onEmbedded, onRedis, allMicros), "")
	b.table.addCalls(asked, calls)
	return nil
}

// keepFront has those who were the first in line poll in time, until the context ends. On Redis they ask it by
// themselves, so that they get through when the server is offered more than it can answer.
func (b *bench) keepFront(ctx context.Context, c *contender, first crowd) error {
	if c.name != onRedis {
		l := load{question: inTurn("/traffic/entry", &first), addr: c.addr, conns: b.plan.conns, span: longestLoad}
		l.every = time.Duration(l.conns) * frontEvery / time.Duration(first.len())
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

// overload offers each server its peak, which is what it answers to as many connections as elsewhere, and then three
// times of that from thousands of connections, which ask at fixed times whether answers come or not.
func (b *bench) overload(ctx context.Context) error {
	for _, asked := range []string{"polls", "joins"} {
		s, err := b.contest(ctx, func(ctx context.Context, c *contender) (sample, error) {
			return b.peakAndOverload(ctx, c, asked)
		})
		if err != nil {
			return fmt.Errorf("overload: %w", err)
		}
		for _, c := range b.contenders {
			at := asked + " at three times the peak, " + c.name
			ratio := s.median(c.name, func(s sample) float64 { return s.perSecond / s.peak })
			if c.lineless() {
				b.table.add(at+": answered / peak", ratio, "")
			} else {
				b.table.atLeast(at+": answered / peak", ratio, 0.95)
			}
			b.table.add(at+": refused, or not answered within 10 s", 100*s.median(c.name, func(s sample) float64 { return s.refused }), "%")
		}
	}
	return nil
}

// peakAndOverload is one round: a slice at the peak, and one above it.
func (b *bench) peakAndOverload(ctx context.Context, c *contender, asked string) (s sample, err error) {
	l, err := b.load(c, asked)
	if err != nil {
		return s, err
	}
	t, err := l.run(ctx)
	if err != nil {
		return s, err
	}
	s.peak = float64(t.done) / t.took.Seconds()
	if l, err = b.load(c, asked); err != nil {
		return s, err
	}
	l.conns, l.warm = b.plan.overloadConns, overloadWarm
	l.every = time.Duration(float64(l.conns) / (overloaded * s.peak) * float64(time.Second))
	if t, err = l.run(ctx); err != nil {
		return s, err
	}
	s.perSecond, s.refused = float64(t.done)/t.took.Seconds(), float64(t.refused)/float64(max(1, t.sent))
	return s, nil
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
