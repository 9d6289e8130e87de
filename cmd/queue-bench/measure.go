package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/measure"
	"github.com/openqueue/waitingroom/lua"
)

// measureOptions are the flags of queue-bench itself.
type measureOptions struct {
	quick        bool
	docs, server string
	redis, nginx string
	only         string
	million      int
}

// onlyOnes are what --only knows.
var onlyOnes = []string{"all", "line", "http", "overload", "redis", "embedded", "limits", "site", "million"}

func newMeasureCommand() *cobra.Command {
	var o measureOptions
	c := &cobra.Command{
		Use: "queue-bench", Short: "Measures the waiting room beside baselines, prints the figures and writes the pages", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr()) },
	}
	c.Flags().BoolVar(&o.quick, "quick", false, "small crowds and short slices: some five minutes, to see that it works")
	c.Flags().StringVar(&o.docs, "docs", "", "the `folder` of performance.json and its pages; nowhere when absent")
	c.Flags().StringVar(&o.server, "server", "", "the queue-server to measure; built from this checkout when absent")
	c.Flags().StringVar(&o.redis, "redis", "redis-server", "the redis-server to measure with")
	c.Flags().StringVar(&o.nginx, "nginx", "nginx", "the nginx to measure with")
	c.Flags().IntVar(&o.million, "million", 0, "how many wait in the section of that name, for a machine with little memory; as planned when absent")
	c.Flags().StringVar(&o.only, "only", "all", fmt.Sprint("the part to measure, of ", onlyOnes))
	return c
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
	// OverloadConns ask at once where too much is asked.
	OverloadConns int `json:"overloadConns"`
	// Million is the very large crowd. It polls for MillionRound before the first may enter,
	// the line moves on for MillionWarm, and for MillionSpan, which counts; then Rush more join within RushWithin.
	Million      int           `json:"million"`
	MillionRound time.Duration `json:"-"`
	MillionWarm  time.Duration `json:"-"`
	MillionSpan  time.Duration `json:"-"`
	Rush         int           `json:"rush"`
	RushWithin   time.Duration `json:"-"`
}

// largest is the largest crowd.
func (p plan) largest() int { return p.sizes[len(p.sizes)-1] }

var (
	fullPlan = plan{
		sizes: []int{10_000, 100_000, 1_000_000}, Conns: 256,
		Warm: 300 * time.Millisecond, Span: 2200 * time.Millisecond, Rounds: 3, joinRounds: 3, idle: 200_000,
		limitClients: 100_000, OverloadConns: 8_000,
		Million: 10_000_000, MillionRound: millionRound, MillionWarm: millionWarm, MillionSpan: 3 * time.Minute, Rush: 2_000_000, RushWithin: 20 * time.Second,
	}
	quickPlan = plan{
		sizes: []int{1_000, 10_000, 50_000}, Conns: 256,
		Warm: 200 * time.Millisecond, Span: 800 * time.Millisecond, Rounds: 1, joinRounds: 1, idle: 10_000,
		limitClients: 5_000, OverloadConns: 2_000,
		Million: 200_000, MillionRound: millionRound, MillionWarm: millionWarm, MillionSpan: 15 * time.Second, Rush: 40_000, RushWithin: 2 * time.Second,
	}
)

// bench is a run.
type bench struct {
	*servers

	plan  plan
	began time.Time
	// program is redis-server.
	program string
	// store asks Redis by itself, without a server.
	store *lua.Store
	// empty is what the stores hold before anybody waits.
	empty map[string]int64
	// stopFront ends those who poll at the front of the lines.
	stopFront func() error
	out       benchReport
	limited   limitsReport
	million   *millionReport
	inside    siteReport
}

// run measures, prints what it found and writes the pages.
func (o measureOptions) run(ctx context.Context, table, says io.Writer) error {
	if !slices.Contains(onlyOnes, o.only) {
		return fmt.Errorf("--only is one of %v", onlyOnes)
	}
	p := fullPlan
	if o.quick {
		p = quickPlan
	}
	if o.million > 0 {
		p.Million = o.million
	}
	out, err := measureAll(ctx, o, p, says)
	if err != nil {
		return err
	}
	if err := pages.ExecuteTemplate(table, "performance.md.tmpl", out); err != nil {
		return err
	}
	if o.docs == "" || !slices.Contains([]string{"all", "line", "limits", "site", "million"}, o.only) {
		return nil
	}
	return out.keep(o.docs)
}

// measureAll runs the plan.
func measureAll(ctx context.Context, o measureOptions, p plan, says io.Writer) (out report, err error) {
	b := &bench{plan: p, began: time.Now(), program: o.redis, stopFront: func() error { return nil }}
	began := occasion{When: b.began, machine: describeMachine()}
	chosen := slices.DeleteFunc(b.parts(), func(p part) bool { return !slices.Contains(p.of, o.only) })
	begin := func(i int, what string) { fmt.Fprintf(says, "[%s] %2d/%d %s\n", since(b.began), i, len(chosen), what) }
	begin(0, "building and starting the servers")
	if b.servers, err = startServers(ctx, o); err != nil {
		return report{}, err
	}
	defer func() { err = errors.Join(err, b.stopFront(), b.stop()) }()
	if began.Redis, err = b.redis.Version(ctx); err != nil {
		return report{}, err
	}
	if b.store, err = lua.Open(ctx, lua.Options{URL: b.redis.URL()}); err != nil {
		return report{}, err
	}
	defer func() { err = errors.Join(err, b.store.Close()) }()
	b.out.Plan, b.out.occasion, b.limited.occasion, b.limited.Conns = p, began, began, p.Conns
	b.inside.occasion, b.inside.Conns = began, p.Conns
	for i, part := range chosen {
		begin(i+1, part.says)
		before := time.Now()
		if err := part.run(ctx); err != nil {
			return report{}, err
		}
		for name, took := range map[string]*time.Duration{"limits": &b.limited.Took, "site": &b.inside.Took} {
			if slices.Contains(part.of, name) {
				*took = (*took + time.Since(before)).Round(time.Second)
			}
		}
	}
	b.out.Took = time.Since(began.When).Round(time.Second)
	if o.only == "all" || o.only == "limits" {
		out.Limits = &b.limited
	}
	if o.only == "all" || o.only == "site" {
		out.Site = &b.inside
	}
	out.Million = b.million
	if !slices.Contains([]string{"limits", "site", "million"}, o.only) {
		out.Bench = &b.out
	}
	return out, nil
}

// part is a part of a run.
type part struct {
	// of are what --only names it by.
	of   []string
	says string
	run  func(context.Context) error
}

// parts are all of them, in their order.
func (b *bench) parts() (all []part) {
	add := func(of []string, run func(context.Context) error, format string, a ...any) {
		all = append(all, part{of, fmt.Sprintf(format, a...), run})
	}
	limits, http, redis := []string{"all", "limits"}, []string{"all", "line", "http"}, []string{"all", "line", "redis"}
	crowd := []string{"all", "line", "http", "overload"} // what needs the crowds at the servers
	largest := count(b.plan.largest())
	add(limits, b.limitBytes, "bytes of limits in Redis and in memory")
	add(limits, b.longestDecisions, "the longest script calls of limits")
	add(limits, b.decisions, "processor time of Redis a decision")
	add(limits, b.shards, "how far limits in parts are used")
	add(limits, b.limitsOverHTTP, "decisions over HTTP")
	add([]string{"all", "site"}, b.sessions, "sessions of a site over HTTP")
	add(crowd, b.warmUp, "warming up")
	for i, n := range b.plan.sizes {
		if i == 0 {
			add(http, func(ctx context.Context) error { return b.firstCrowd(ctx, b.contenders, n) }, "%s join", count(n))
			add([]string{"overload"}, func(ctx context.Context) error { return b.firstCrowd(ctx, b.contenders, b.plan.largest()) }, "%s join", largest)
		} else {
			add(http, b.grow, "%s more join", count(n-b.plan.sizes[i-1]))
		}
		add(http, func(ctx context.Context) error { return b.step(ctx, n) }, "polls with %s waiting", count(n))
		add(http, b.latency, "latency with %s waiting", count(n))
	}
	add(http, b.nearPolls, "polls near the front of %s", largest)
	add(http, b.joinsAtEnd, "joins with %s waiting", largest)
	add(crowd, b.overload, "three times the peak, with %s waiting", largest)
	add(http, b.appendOnly, "polls while Redis writes to disk")
	add([]string{"redis"}, func(ctx context.Context) error {
		return b.firstCrowd(ctx, b.those(onRedis), b.plan.largest())
	}, "%s join", largest)
	add(redis, b.scripts, "processor time of Redis a poll")
	add(redis, b.sweeps, "sweep of %s idle on Redis", count(b.plan.idle))
	add([]string{"all", "million"}, b.millions, "%s waiting on one Redis", count(b.plan.Million))
	add([]string{"all", "line", "embedded"}, b.inProcess, "the embedded store by itself, %s waiting", largest)
	return all
}

// since writes minutes and seconds.
func since(began time.Time) string {
	took := time.Since(began).Round(time.Second)
	return fmt.Sprintf("%d:%02d", int(took.Minutes()), int(took.Seconds())%60)
}

// turn is one contender's part of a round.
type turn struct {
	name string
	take func(context.Context) (sample, error)
}

// contest gives each contender a turn in each round, and compares them with bare echo.
func (b *bench) contest(ctx context.Context, rounds int, of []*contender, take func(context.Context, *contender) (sample, error)) (results, error) {
	turns, names := make([]turn, len(of)), make([]string, len(of))
	for i, c := range of {
		names[i] = c.name
		turns[i] = turn{c.name, func(ctx context.Context) (sample, error) { return take(ctx, c) }}
	}
	s, err := interleave(ctx, rounds, turns)
	return s.results(bareEcho, names...), err
}

// interleave takes the turns to and fro, so that a machine that becomes slower
// or faster favours none.
func interleave(ctx context.Context, rounds int, of []turn) (series, error) {
	out := make(series)
	for round := range rounds {
		for i := range of {
			if round%2 == 1 {
				i = len(of) - 1 - i
			}
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

// load has the connections of the plan ask a contender for a slice.
func (b *bench) load(c *contender, q question) load {
	return load{question: q, addr: c.addr, conns: b.plan.Conns, warm: b.plan.Warm, span: b.plan.Span}
}

// mostRefused is the share of requests up to which refusals are reported beside a figure.
const mostRefused = 0.001

// errRefused: too much was refused for a figure to mean anything.
var errRefused = errors.New("more than a thousandth of the requests was refused")

// batch is the metric of how many visitors travelled in one script call.
const batch = "queue_redis_batch_visitors"

// observe runs a load on one contender and takes its sample.
func (b *bench) observe(ctx context.Context, c *contender, l load) (s sample, err error) {
	var before, after map[string]float64
	if c.name == onRedis {
		if before, err = c.metrics(ctx); err != nil {
			return s, err
		}
	}
	var t tally
	server, _ := c.used()
	own := ownCPU()
	redis, err := rises(ctx, b.redis.CPU, func() (err error) {
		if t, err = l.run(ctx); err == nil && c.name == onRedis && l.noted {
			err = pause(ctx, settleAfter)
		}
		return err
	})
	if err != nil {
		return s, err
	}
	serverAfter, _ := c.used()
	requests := float64(t.sent)
	s = sample{
		PerSecond: float64(t.done) / t.took.Seconds(), Refused: float64(t.refused) / requests,
		ServerMicros: micros(serverAfter-server) / requests, ownMicros: micros(ownCPU()-own) / requests,
		P50: measure.Percentile(t.latencies, 50), P99: measure.Percentile(t.latencies, 99),
	}
	if t.done == 0 || s.Refused > mostRefused && !l.refusals {
		return s, fmt.Errorf("%w: %d of %d", errRefused, t.refused, t.sent)
	}
	if c.name != onRedis {
		return s, nil
	}
	s.RedisMicros = micros(redis) / requests
	if after, err = c.metrics(ctx); err == nil && after[batch+"_count"] > before[batch+"_count"] {
		s.Together = (after[batch+"_sum"] - before[batch+"_sum"]) / (after[batch+"_count"] - before[batch+"_count"])
	}
	return s, err
}
