package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"
)

// measureCommand is queue-bench measure.
type measureCommand struct {
	Quick  bool   `help:"Small crowds and short slices: under two minutes, to see that it works."`
	Docs   string `placeholder:"DIR" help:"Where performance.json is kept, and the pages are written. Nowhere when absent."`
	Server string `placeholder:"FILE" help:"The queue-server to measure. Built from this checkout when absent."`
	Redis  string `default:"redis-server" placeholder:"FILE" help:"The redis-server to measure with."`
	Only   string `hidden:"" enum:"all,http,redis,embedded,limits" default:"all" help:"Measure a part (all, http, redis, embedded or limits)."`
}

// plan is how much is measured.
type plan struct {
	// sizes are the crowds, rising.
	sizes []int
	// Conns is how many visitors ask at once.
	Conns int `json:"conns"`
	// A slice counts for Span after Warm; Rounds of them are taken.
	Warm   time.Duration `json:"warmNanos"`
	Span   time.Duration `json:"spanNanos"`
	Rounds int           `json:"rounds"`
	// joinRounds is how often those who join take turns on the way from one
	// size to the next.
	joinRounds int
	// idle of the largest crowd are swept.
	idle int
	// limitClients are those whose limits' memory is measured.
	limitClients int
}

// largest is the largest crowd.
func (p plan) largest() int { return p.sizes[len(p.sizes)-1] }

var (
	fullPlan = plan{
		sizes: []int{10_000, 100_000, 1_000_000}, Conns: 256,
		Warm: 300 * time.Millisecond, Span: 2200 * time.Millisecond, Rounds: 5, joinRounds: 5, idle: 200_000,
		limitClients: 100_000,
	}
	quickPlan = plan{
		sizes: []int{1_000, 10_000, 50_000}, Conns: 256,
		Warm: 200 * time.Millisecond, Span: 800 * time.Millisecond, Rounds: 3, joinRounds: 2, idle: 10_000,
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
	out      benchReport
	limited  limitsReport
}

// Run measures, prints the tables and writes the document.
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
	if c.Docs == "" || c.Only != "all" && c.Only != "limits" {
		return nil
	}
	return out.keep(c.Docs)
}

// measure runs the plan.
func measure(ctx context.Context, c measureCommand, p plan, says io.Writer) (out report, err error) {
	b := &bench{measureCommand: c, plan: p, progress: newProgress(says, 3*len(p.sizes)+13)}
	defer b.progress.end()
	began := occasion{When: time.Now(), machine: describeMachine()}
	b.progress.begin("building and starting the servers")
	if b.servers, err = startServers(ctx, c, p.Conns); err != nil {
		return report{}, err
	}
	defer func() { err = errors.Join(err, b.front.stop(), b.stop()) }()
	if began.Redis, err = b.redis.Version(ctx); err != nil {
		return report{}, err
	}
	b.out.Plan, b.out.occasion, b.limited.occasion, b.limited.Conns = p, began, began, p.Conns
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
		if !slices.Contains(part.in, c.Only) {
			continue
		}
		if err := part.run(ctx); err != nil {
			return report{}, err
		}
	}
	b.out.Took = time.Since(began.When).Round(time.Second)
	if c.Only == "all" || c.Only == "limits" {
		out.Limits = &b.limited
	}
	if c.Only != "limits" {
		out.Bench = &b.out
	}
	return out, nil
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
	var taken standings // on the way to the present size
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
			b.out.Steps[i-1].Joins = taken
		}
		s := step{Waiting: n}
		if s.Bytes, err = b.bytesSince(ctx, memory, n); err != nil {
			return err
		}
		b.progress.begin("polls with %s waiting", count(n))
		if err := b.redis.WatchCalls(ctx, longCall); err != nil {
			return err
		}
		if s.Polls, err = b.polls(ctx, b.rooms); err != nil {
			return err
		}
		calls, err := b.redis.ScriptCalls(ctx)
		if err != nil {
			return err
		}
		for _, took := range calls {
			s.Longest = max(s.Longest, took)
		}
		b.progress.begin("latency with %s waiting", count(n))
		if s.Latency, err = b.latency(ctx, s.Polls); err != nil {
			return err
		}
		b.out.Steps = append(b.out.Steps, s)
	}
	b.progress.begin("joins with %s waiting", count(b.plan.largest()))
	if taken, err = b.joinsAtEnd(ctx); err != nil {
		return err
	}
	b.out.Steps[len(b.out.Steps)-1].Joins = taken
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
	if b.out.AppendOnly, err = b.polls(ctx, []*contender{b.room(bareEcho), b.room(onRedis)}); err != nil {
		return err
	}
	return b.redis.SetAppendOnly(ctx, false)
}

// turn is one contender's part of a round.
type turn struct {
	name string
	take func(context.Context) (sample, error)
}

// contest gives each contender a turn in each round, and compares them with bare echo.
func (b *bench) contest(ctx context.Context, rounds int, of []*contender, take func(context.Context, *contender) (sample, error)) (standings, error) {
	all, names := make([]turn, len(of)), make([]string, len(of))
	for i, c := range of {
		names[i] = c.name
		all[i] = turn{c.name, func(ctx context.Context) (sample, error) {
			s, err := take(ctx, c)
			if err != nil {
				err = fmt.Errorf("%w\n%s", err, c.log)
			}
			return s, err
		}}
	}
	s, err := b.interleave(ctx, rounds, all)
	return s.standings(bareEcho, names...), err
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
		PerSecond: t.perSecond(), Refused: float64(t.refused) / requests,
		ServerMicros: micros(c.cpu()-cpu) / requests, selfMicros: micros(ownCPU()-self) / requests,
		P50: percentile(t.latencies, 50), P99: percentile(t.latencies, 99),
	}
	if c.name != onRedis {
		return s, nil
	}
	redisAfter, err := b.redis.CPU(ctx)
	if err != nil {
		return sample{}, err
	}
	s.RedisMicros = micros(redisAfter-redisBefore) / requests
	if after, err = c.metrics(ctx); err != nil {
		return sample{}, err
	}
	const batch = "queue_redis_batch_visitors"
	if calls := after[batch+"_count"] - before[batch+"_count"]; calls > 0 {
		s.Together = (after[batch+"_sum"] - before[batch+"_sum"]) / calls
	}
	return s, nil
}
