package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"
)

// measureCommand is queue-bench measure.
type measureCommand struct {
	Quick  bool   `help:"Small crowds and short slices: under two minutes, to see that it works."`
	Docs   string `placeholder:"DIR" help:"Where performance.md and img/ are written. Nowhere when absent."`
	Server string `placeholder:"FILE" help:"The queue-server to measure. Built from this checkout when absent."`
	Redis  string `default:"redis-server" placeholder:"FILE" help:"The redis-server to measure with."`
	Only   string `hidden:"" enum:"all,http,redis,embedded,limits" default:"all" help:"Measure a part (all, http, redis, embedded or limits)."`
}

// plan is how much is measured.
type plan struct {
	// sizes are the crowds, rising.
	sizes []int
	// conns is how many visitors ask at once.
	conns int
	// A slice counts for span after warm; rounds of them are taken.
	warm, span time.Duration
	rounds     int
	// joinRounds is how often those who join take turns on the way from one
	// size to the next.
	joinRounds int
	// idle of the largest crowd are swept.
	idle int
	// limitClients are those whose limits' memory is measured.
	limitClients int
}

var (
	fullPlan = plan{
		sizes: []int{10_000, 100_000, 1_000_000}, conns: 256,
		warm: 300 * time.Millisecond, span: 2200 * time.Millisecond, rounds: 5, joinRounds: 5, idle: 200_000,
		limitClients: 100_000,
	}
	quickPlan = plan{
		sizes: []int{1_000, 10_000, 50_000}, conns: 256,
		warm: 200 * time.Millisecond, span: 800 * time.Millisecond, rounds: 3, joinRounds: 2, idle: 10_000,
		limitClients: 5_000,
	}
)

// bench is a run.
type bench struct {
	measureCommand
	plan plan
	*servers
	progress *progress
	front    *front
	out      results
}

// Run measures, prints the table and writes the document.
func (c *measureCommand) Run(ctx context.Context, to output) error {
	p := fullPlan
	if c.Quick {
		p = quickPlan
	}
	out, err := measure(ctx, *c, p, to.progress)
	if err != nil {
		return err
	}
	if err := out.print(to.table); err != nil {
		return err
	}
	if c.Docs != "" && c.Only == "limits" {
		return out.writeLimits(c.Docs)
	}
	if c.Docs == "" || c.Only != "all" {
		return nil
	}
	if err := out.write(c.Docs); err != nil {
		return err
	}
	return writeScaling(c.Docs)
}

// measure runs the plan.
func measure(ctx context.Context, c measureCommand, p plan, says io.Writer) (out results, err error) {
	b := &bench{measureCommand: c, plan: p, progress: newProgress(says, 3*len(p.sizes)+13)}
	defer b.progress.end()
	b.out = results{began: time.Now(), plan: p}
	b.out.machine = describeMachine()
	b.progress.begin("building and starting the servers")
	if b.servers, err = startServers(ctx, c, p.conns); err != nil {
		return results{}, err
	}
	defer func() { err = errors.Join(err, b.front.stop(), b.stop()) }()
	if b.out.machine.redis, err = b.redis.Version(ctx); err != nil {
		return results{}, err
	}
	parts := []struct {
		in  []string
		run func(context.Context) error
	}{
		{[]string{"all", "limits"}, b.limits},
		{[]string{"all", "http"}, b.http},
		{[]string{"redis"}, b.onlyCrowd},
		{[]string{"all", "redis"}, b.scripts},
		{[]string{"all", "redis"}, b.sweeps},
		{[]string{"all", "embedded"}, b.inProcess},
	}
	for _, part := range parts {
		for _, only := range part.in {
			if only != c.Only {
				continue
			}
			if err := part.run(ctx); err != nil {
				return results{}, err
			}
		}
	}
	b.out.took = time.Since(b.out.began)
	return b.out, nil
}

// http measures the servers at each size of the crowd.
func (b *bench) http(ctx context.Context) error {
	b.progress.begin("warming up")
	if err := b.warmUp(ctx); err != nil {
		return err
	}
	memory, err := b.memory(ctx)
	if err != nil {
		return err
	}
	var taken series // on the way to the present size
	for i, n := range b.plan.sizes {
		if i == 0 {
			b.progress.begin("%s join", count(n))
			if err := b.firstCrowd(ctx, n); err != nil {
				return err
			}
			if err := b.keepFront(ctx); err != nil {
				return err
			}
		} else {
			b.progress.begin("%s more join", count(n-b.plan.sizes[i-1]))
			if taken, err = b.grow(ctx, n); err != nil {
				return err
			}
			b.out.steps[i-1].joins = taken
		}
		s := step{waiting: n}
		if s.bytes, err = b.bytesSince(ctx, memory, n); err != nil {
			return err
		}
		b.progress.begin("polls with %s waiting", count(n))
		if err := b.redis.WatchCalls(ctx, longCall); err != nil {
			return err
		}
		if s.polls, err = b.polls(ctx, b.rooms); err != nil {
			return err
		}
		calls, err := b.redis.ScriptCalls(ctx)
		if err != nil {
			return err
		}
		for _, took := range calls {
			s.longest = max(s.longest, took)
		}
		b.progress.begin("latency with %s waiting", count(n))
		if s.latency, err = b.latency(ctx, s.polls); err != nil {
			return err
		}
		b.out.steps = append(b.out.steps, s)
	}
	b.progress.begin("joins with %s waiting", count(b.plan.sizes[len(b.plan.sizes)-1]))
	if taken, err = b.joinsAtEnd(ctx); err != nil {
		return err
	}
	b.out.steps[len(b.out.steps)-1].joins = taken
	return b.appendOnly(ctx)
}

// longCall is from when on a script call is looked at: a tenth of what it may
// take at most.
const longCall = time.Millisecond

// appendOnly measures polls while Redis writes a log to disk.
func (b *bench) appendOnly(ctx context.Context) (err error) {
	b.progress.begin("polls while Redis writes to disk")
	if err := b.redis.SetAppendOnly(ctx, true); err != nil {
		return err
	}
	if b.out.appendOnly, err = b.polls(ctx, []*contender{b.room(bareEcho), b.room(onRedis)}); err != nil {
		return err
	}
	return b.redis.SetAppendOnly(ctx, false)
}

// turn is one contender's part of a round.
type turn struct {
	name string
	take func(context.Context) (sample, error)
}

// turns gives each contender one.
func turns(of []*contender, take func(context.Context, *contender) (sample, error)) []turn {
	out := make([]turn, len(of))
	for i, c := range of {
		out[i] = turn{c.name, func(ctx context.Context) (sample, error) {
			s, err := take(ctx, c)
			if err != nil {
				err = fmt.Errorf("%w\n%s", err, c.log)
			}
			return s, err
		}}
	}
	return out
}

// interleave takes the turns to and fro, so that a machine that becomes slower
// or faster favours none.
func (b *bench) interleave(ctx context.Context, rounds int, of []turn) (series, error) {
	out := make(series)
	for round := range rounds {
		for i := range of {
			if round%2 == 1 {
				i = len(of) - 1 - i
			}
			b.progress.note("round %d of %d, %s", round+1, rounds, of[i].name)
			// Nobody pays for the generator's own garbage.
			runtime.GC()
			s, err := of[i].take(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", of[i].name, err)
			}
			out[of[i].name] = append(out[of[i].name], s)
		}
	}
	return out, nil
}

// observe runs a load on one contender and takes its sample.
func (b *bench) observe(ctx context.Context, c *contender, load func() (tally, error)) (sample, error) {
	var before, after map[string]float64
	var err error
	if c.name == onRedis {
		if before, err = c.metrics(ctx); err != nil {
			return sample{}, err
		}
	}
	redisBefore, err := b.redis.CPU(ctx)
	if err != nil {
		return sample{}, err
	}
	cpu, self := c.cpu(), ownCPU()
	t, err := load()
	if err != nil {
		return sample{}, err
	}
	if t.done == 0 {
		return sample{}, fmt.Errorf("%w: %d requests, none of them was served", errAnswer, t.sent)
	}
	requests := float64(t.sent)
	s := sample{
		perSecond: t.perSecond(), refused: float64(t.refused) / requests,
		serverMicros: micros(c.cpu()-cpu) / requests, selfMicros: micros(ownCPU()-self) / requests,
		p50: percentile(t.latencies, 50), p99: percentile(t.latencies, 99),
	}
	if c.name != onRedis {
		return s, nil
	}
	redisAfter, err := b.redis.CPU(ctx)
	if err != nil {
		return sample{}, err
	}
	s.redisMicros = micros(redisAfter-redisBefore) / requests
	if after, err = c.metrics(ctx); err != nil {
		return sample{}, err
	}
	const batch = "queue_redis_batch_visitors"
	if calls := after[batch+"_count"] - before[batch+"_count"]; calls > 0 {
		s.together = (after[batch+"_sum"] - before[batch+"_sum"]) / calls
	}
	return s, nil
}
