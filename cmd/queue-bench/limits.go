package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limit/local"
	"github.com/openqueue/waitingroom/lua"
)

const (
	// limitSubjects are the clients whose decisions are measured.
	limitSubjects = 10_000
	// deepSubjects share the same load, so that their logs are long.
	deepSubjects = 100
	// httpClients are those who are allowed over HTTP, httpRefused those who are not.
	httpClients, httpRefused = 10_000, 1_000
	// plenty is a limit that nobody reaches; within plentyWindow seconds a log grows
	// to what an eager client's has.
	plenty, plentyWindow = 5_000, 10
	refusals             = "refused, from memory"
)

type (
	// limitsReport is what decisions on limits cost.
	limitsReport struct {
		occasion
		Conns int `json:"conns"`
		// HTTP are decisions over HTTP for clients who are allowed, by algorithm, beside
		// fixed_window; Refusals of clients who are known to be refused, beside bare echo.
		HTTP     results `json:"http"`
		Refusals results `json:"refusals"`
		// Decisions are what one costs Redis, and the bytes of a client with one permit.
		Decisions []decisionCost `json:"decisions"`
		// DeepLog is what a decision costs Redis where the log is long, in microseconds.
		DeepLog float64 `json:"deepLogMicros"`
		// Logs are the bytes of one permit in a log, by how many it has.
		Logs    []logCost     `json:"logs"`
		Longest []longestCall `json:"longest"`
	}
	decisionCost struct {
		Algorithm limit.Algorithm `json:"algorithm"`
		Allowed   float64         `json:"allowedMicros"`
		Refused   float64         `json:"refusedMicros"`
		Bytes     float64         `json:"redisBytes"`
		Own       float64         `json:"ownBytes"`
	}
	logCost struct {
		Permits int     `json:"permits"`
		Bytes   float64 `json:"redisBytes"`
		Own     float64 `json:"ownBytes"`
	}
	// longestCall is the longest script call of one thing that takes long.
	longestCall struct {
		Name string        `json:"name"`
		Took time.Duration `json:"tookNanos"`
	}
)

// many is a rule that nobody reaches.
func many(a limit.Algorithm) limit.Rule {
	r := limit.Rule{Algorithm: a, Limit: plenty, WindowSeconds: plentyWindow}
	if a.HasBurst() {
		r.Burst = plenty
	}
	return r
}

// limitsFile is the part of a configuration that has the measured policies.
func limitsFile() []byte {
	text := []byte("limits:\n")
	for _, a := range limit.Algorithms {
		r := many(a)
		text = fmt.Appendf(text, "  - {name: allow-%s, rules: [{algorithm: %s, limit: %d, windowSeconds: %d, burst: %d}]}\n",
			a, a, r.Limit, r.WindowSeconds, r.Burst)
	}
	return fmt.Appendf(text, "  - {name: refuse, rules: [{algorithm: %s, limit: 1, windowSeconds: 86400}]}\n", limit.SlidingLog)
}

// taker takes permits: Redis, or the memory of this process.
type taker interface {
	Allow(ctx context.Context, q limit.Request) (limit.Verdict, error)
}

// permit asks for one permit, of a client whose name is as long as a hash of its key is.
func permit(policy string, client int, r limit.Rule) limit.Request {
	return limit.Request{Policy: policy, Tier: limit.DefaultTier, Subject: fmt.Sprintf("%022d", client), Rules: []limit.Rule{r}, Cost: 1}
}

// take takes a permit, which must be there or not.
func take(ctx context.Context, from taker, q limit.Request, allowed bool) error {
	v, err := from.Allow(ctx, q)
	if err == nil && v.Allowed != allowed {
		err = fmt.Errorf("%w: %s: allowed is %t", errAnswer, q.Policy, v.Allowed)
	}
	return err
}

// decisions measures what one costs Redis: of clients who are allowed, of clients
// who are refused, and of logs with thousands of permits.
func (b *bench) decisions(ctx context.Context) error {
	ask := func(policy string, clients int, r limit.Rule, allowed bool) func(context.Context) (sample, error) {
		return b.burden(pollers, func(ctx context.Context) (int, error) {
			return 1, take(ctx, b.store, permit(policy, rand.IntN(clients), r), allowed)
		})
	}
	const refused, long = ", refused", "long log"
	var turns []turn
	window := int64(limit.MaxWindowSeconds)
	for window-time.Now().Unix()%window < 3600 {
		window -= 3600 // a fixed window of a day ends at midnight, and whoever was refused is allowed
	}
	for _, a := range limit.Algorithms {
		full := limit.Rule{Algorithm: a, Limit: 1, WindowSeconds: window}
		clients := min(limitSubjects, b.plan.limitClients)
		for i := range clients {
			if _, err := b.store.Allow(ctx, permit("full", i, full)); err != nil {
				return err
			}
		}
		turns = append(turns,
			turn{string(a), ask("many", limitSubjects, many(a), true)}, turn{string(a) + refused, ask("full", clients, full, false)})
	}
	turns = append(turns, turn{long, ask("long", deepSubjects,
		limit.Rule{Algorithm: limit.SlidingLog, Limit: limit.MaxLogLimit, WindowSeconds: plentyWindow}, true)})
	costs, err := b.interleave(ctx, turns)
	for i := range b.limited.Decisions {
		d := &b.limited.Decisions[i]
		d.Allowed, d.Refused = costs.median(string(d.Algorithm), redisMicros), costs.median(string(d.Algorithm)+refused, redisMicros)
	}
	b.limited.DeepLog = costs.median(long, redisMicros)
	return err
}

// limitBytes measures memory: of clients with one permit, and of logs.
func (b *bench) limitBytes(ctx context.Context) error {
	const window = 3600
	clients := b.plan.limitClients
	for _, a := range limit.Algorithms {
		inRedis, own, err := b.bytesOf(ctx, "bytes", clients, 1, limit.Rule{Algorithm: a, Limit: 100, WindowSeconds: window})
		if err != nil {
			return err
		}
		b.limited.Decisions = append(b.limited.Decisions, decisionCost{Algorithm: a, Bytes: inRedis, Own: own})
	}
	for _, n := range []int{10, 100, 1_000, limit.MaxLogLimit} {
		inRedis, own, err := b.bytesOf(ctx, "log"+strconv.Itoa(n), max(1, clients/n), n,
			limit.Rule{Algorithm: limit.SlidingLog, Limit: int64(n), WindowSeconds: window})
		if err != nil {
			return err
		}
		b.limited.Logs = append(b.limited.Logs, logCost{n, inRedis, own})
	}
	return nil
}

// bytesOf has clients take permits of a rule, in Redis and in a store of this
// process, and returns by how much each has grown, a permit.
func (b *bench) bytesOf(ctx context.Context, policy string, clients, permits int, r limit.Rule) (inRedis, own float64, err error) {
	n := clients * permits
	bytes, err := rises(ctx, b.redis.UsedMemory, func() error {
		return each(ctx, pollers, n, func(ctx context.Context, i int) error { return take(ctx, b.store, permit(policy, i%clients, r), true) })
	})
	if err != nil {
		return 0, 0, err
	}
	heap := heapBytes()
	mine := local.New(local.CountersOptions{})
	defer mine.Close()
	for i := range n {
		if err := take(ctx, mine, permit(policy, i%clients, r), true); err != nil {
			return 0, 0, err
		}
	}
	return float64(bytes) / float64(n), float64(heapBytes()-heap) / float64(n), nil
}

// longestDecisions measures the script calls that do most, on a clock that is set.
func (b *bench) longestDecisions(ctx context.Context) (err error) {
	ahead := newClock(time.Now())
	store, err := lua.Open(ctx, lua.Options{URL: b.redis.URL(), Now: ahead.now})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	const window = time.Hour
	full := limit.Rule{Algorithm: limit.SlidingLog, Limit: limit.MaxLogLimit, WindowSeconds: int64(window.Seconds())}
	fill := func(policy string, permits int) error {
		return each(ctx, pollers, permits, func(ctx context.Context, _ int) error {
			_, err := store.Allow(ctx, permit(policy, 0, full))
			return err
		})
	}
	eight := permit("eight", 0, full)
	eight.Rules, eight.Cost = nil, limit.MaxLogCost
	for i := range limit.MaxRules {
		r := full
		r.WindowSeconds -= int64(i)
		eight.Rules = append(eight.Rules, r)
	}
	for _, one := range []struct {
		name    string
		prepare func() error
		ask     limit.Request
	}{
		{"most of a log of 10,000 permits has left it at once", func() error {
			err := fill("forgets", limit.MaxLogLimit-1)
			ahead.advance(window / 2)
			err = errors.Join(err, fill("forgets", 1)) // stays
			ahead.advance(window/2 + time.Second)
			return err
		}, permit("forgets", 0, full)},
		{"a log of 10,000 permits, after the clock was set back", func() error {
			err := fill("set", limit.MaxLogLimit-1)
			ahead.advance(-2 * window)
			return err
		}, permit("set", 0, full)},
		{"8 rules, 8,000 permits", func() error { return nil }, eight},
	} {
		if err := errors.Join(one.prepare(), b.redis.WatchCalls(ctx, 0)); err != nil {
			return err
		}
		if _, err := store.Allow(ctx, one.ask); err != nil {
			return err
		}
		calls, err := b.redis.ScriptCalls(ctx)
		if err != nil {
			return err
		}
		b.limited.Longest = append(b.limited.Longest, longestCall{one.name, slices.Max(append(times(calls), 0))})
	}
	return nil
}

// limitsOverHTTP measures the limits' listener of the server on Redis.
func (b *bench) limitsOverHTTP(ctx context.Context) error {
	ask := func(q question, refusals bool) load {
		l := b.load(b.named(onRedis), q)
		l.addr, l.refusals = b.named(onRedis).limits, refusals
		return l
	}
	var turns []turn
	var names []string
	for _, a := range limit.Algorithms {
		q := checks("allow-"+string(a), httpClients)
		names = append(names, string(a))
		turns = append(turns, turn{string(a), func(ctx context.Context) (sample, error) {
			s, err := b.observe(ctx, b.named(onRedis), ask(q, false))
			if err == nil && s.Refused > 0 {
				err = fmt.Errorf("%w: %.3f %% were refused", errAnswer, 100*s.Refused)
			}
			return s, err
		}})
	}
	s, err := b.interleave(ctx, turns)
	if err != nil {
		return err
	}
	b.limited.HTTP = s.results(string(limit.FixedWindow), names...)
	known := ask(checks("refuse", httpRefused), true)
	// Each is allowed once, and refused by the store once.
	if _, err := known.run(ctx); err != nil {
		return err
	}
	echo := b.named(bareEcho)
	s, err = b.interleave(ctx, []turn{
		{bareEcho, func(ctx context.Context) (sample, error) {
			return b.observe(ctx, echo, b.load(echo, polls(benchZone, &echo.crowd)))
		}},
		{refusals, func(ctx context.Context) (sample, error) { return b.observe(ctx, b.named(onRedis), known) }},
	})
	b.limited.Refusals = s.results(bareEcho, bareEcho, refusals)
	// Permits of an hour would end while the line is measured, and their memory would be missed there.
	return errors.Join(err, b.redis.Remove(ctx, "*{:*:*:*}:*"))
}
