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
	only         string
	million      int
}

func newMeasureCommand() *cobra.Command {
	var o measureOptions
	c := &cobra.Command{
		Use: "queue-bench", Short: "Measures the waiting room beside baselines, prints the figures and writes the pages", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr()) },
	}
	c.Flags().BoolVar(&o.quick, "quick", false, "small crowds and short slices: some five minutes, to see that it works")
	c.Flags().StringVar(&o.docs, "docs", "", "the `folder` of performance.json and its pages; nowhere when absent")
	c.Flags().StringVar(&o.server, "server", "", "the queue-server to measure; built from this checkout when absent")
	c.Flags().IntVar(&o.million, "million", 0, "how many wait in the section of that name, for a machine with little memory; as planned when absent")
	c.Flags().StringVar(&o.only, "only", "all", "the part to measure: limits, site, line or million")
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
		Warm: 300 * time.Millisecond, Span: 2200 * time.Millisecond, Rounds: 3, idle: 200_000,
		limitClients: 100_000, OverloadConns: 8_000,
		Million: 10_000_000, MillionRound: millionRound, MillionWarm: millionWarm, MillionSpan: 3 * time.Minute, Rush: 2_000_000, RushWithin: 20 * time.Second,
	}
	quickPlan = plan{
		sizes: []int{1_000, 10_000, 50_000}, Conns: 256,
		Warm: 200 * time.Millisecond, Span: 800 * time.Millisecond, Rounds: 1, idle: 10_000,
		limitClients: 5_000, OverloadConns: 2_000,
		Million: 200_000, MillionRound: millionRound, MillionWarm: millionWarm, MillionSpan: 15 * time.Second, Rush: 40_000, RushWithin: 2 * time.Second,
	}
)

// bench is a run.
type bench struct {
	*servers

	plan plan
	// store asks Redis by itself, without a server.
	store *lua.Store
	// empty is what the stores hold before anybody waits.
	empty map[string]int64
	// stopFront ends those who poll at the front of the lines.
	stopFront func() error
	// What was found.
	out     benchReport
	limited limitsReport
	inside  siteReport
	million millionReport
}

// run measures, prints what it found and writes the pages.
func (o measureOptions) run(ctx context.Context, table, says io.Writer) error {
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
	if o.docs == "" {
		return nil
	}
	return out.keep(o.docs)
}

// measureAll runs the plan.
func measureAll(ctx context.Context, o measureOptions, p plan, says io.Writer) (out report, err error) {
	b := &bench{plan: p, stopFront: func() error { return nil }}
	b.out.Plan, b.limited.Conns, b.inside.Conns = p, p.Conns, p.Conns
	total := 0
	chosen := slices.DeleteFunc(b.sections(), func(s section) bool { return o.only != "all" && o.only != s.name })
	for _, s := range chosen {
		total += len(s.parts)
	}
	if total == 0 {
		return report{}, fmt.Errorf("there is no part %s", o.only)
	}
	began, n := time.Now(), 0
	begin := func(what string) {
		fmt.Fprintf(says, "[%s] %2d/%d %s\n", since(began), n, total, what)
		n++
	}
	at := describeMachine()
	begin("building and starting the servers")
	if b.servers, err = startServers(ctx, o); err != nil {
		return report{}, err
	}
	defer func() { err = errors.Join(err, b.stopFront(), b.stop()) }()
	if at.Redis, err = b.redis.Version(ctx); err != nil {
		return report{}, err
	}
	if b.store, err = lua.Open(ctx, lua.Options{URL: b.redis.URL()}); err != nil {
		return report{}, err
	}
	defer func() { err = errors.Join(err, b.store.Close()) }()
	for _, s := range chosen {
		before := time.Now()
		for _, p := range s.parts {
			begin(p.says)
			if err := p.run(ctx); err != nil {
				return report{}, err
			}
		}
		*s.occasion = occasion{When: began, Took: time.Since(before).Round(time.Second), machine: at}
		s.keep(&out)
	}
	return out, nil
}

type (
	// section is what --only names, and a part of the report.
	section struct {
		name  string
		parts []part
		// occasion is the report's, and keep puts the report where it belongs.
		occasion *occasion
		keep     func(*report)
	}
	// part is a part of a run.
	part struct {
		says string
		run  func(context.Context) error
	}
)

// sections are all of them, in their order.
func (b *bench) sections() []section {
	largest := count(b.plan.largest())
	line := []part{{"warming up", b.warmUp}}
	add := func(run func(context.Context) error, format string, a ...any) {
		line = append(line, part{fmt.Sprintf(format, a...), run})
	}
	for i, n := range b.plan.sizes {
		if i == 0 {
			add(func(ctx context.Context) error { return b.firstCrowd(ctx, n) }, "%s join", count(n))
		} else {
			add(b.grow, "%s more join", count(n-b.plan.sizes[i-1]))
		}
		add(func(ctx context.Context) error { return b.step(ctx, n) }, "polls with %s waiting", count(n))
		add(b.latency, "latency with %s waiting", count(n))
	}
	add(b.nearPolls, "polls near the front of %s", largest)
	add(b.joinsAtEnd, "joins with %s waiting", largest)
	add(b.overload, "three times the peak, with %s waiting", largest)
	add(b.appendOnly, "polls while Redis writes to disk")
	add(b.scripts, "processor time of Redis a poll")
	add(b.sweeps, "sweep of %s idle on Redis", count(b.plan.idle))
	return []section{
		{"limits", []part{
			{"bytes of limits in Redis and in memory", b.limitBytes},
			{"the longest script calls of limits", b.longestDecisions},
			{"processor time of Redis a decision", b.decisions},
			{"decisions over HTTP", b.limitsOverHTTP},
		}, &b.limited.occasion, func(r *report) { r.Limits = &b.limited }},
		{"site", []part{{"sessions of a site over HTTP", b.sessions}}, &b.inside.occasion, func(r *report) { r.Site = &b.inside }},
		{"line", line, &b.out.occasion, func(r *report) { r.Bench = &b.out }},
		{
			"million", []part{{fmt.Sprintf("%s waiting on one Redis", count(b.plan.Million)), b.millions}},
			&b.million.occasion, func(r *report) { r.Million = &b.million },
		},
	}
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
func (b *bench) contest(ctx context.Context, of []*contender, take func(context.Context, *contender) (sample, error)) (results, error) {
	turns, names := make([]turn, len(of)), make([]string, len(of))
	for i, c := range of {
		names[i] = c.name
		turns[i] = turn{c.name, func(ctx context.Context) (sample, error) { return take(ctx, c) }}
	}
	s, err := b.interleave(ctx, turns)
	return s.results(bareEcho, names...), err
}

// interleave takes the turns to and fro, so that a machine that becomes slower
// or faster favours none.
func (b *bench) interleave(ctx context.Context, of []turn) (series, error) {
	out := make(series)
	for round := range b.plan.Rounds {
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
