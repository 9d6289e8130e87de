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
)

type (
	// limitsReport is what decisions on limits cost.
	limitsReport struct {
		occasion
		Conns int `json:"conns"`
		// HTTP are decisions over HTTP for clients who are allowed, by algorithm, beside
		// fixed_window; Refusals of clients who are known to be refused, beside bare echo.
		HTTP     standings `json:"http"`
		Refusals standings `json:"refusals"`
		// Decisions are what one costs Redis, and the bytes of a client with one permit.
		Decisions []decisionCost `json:"decisions"`
		// DeepLog is what a decision costs Redis where the log is long, in microseconds.
		DeepLog float64 `json:"deepLogMicros"`
		// Logs are the bytes of one permit in a log, by how many it has.
		Logs    []logCost     `json:"logs"`
		Longest []longestCall `json:"longest"`
		Shards  []shardUse    `json:"shards"`
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

// logSizes are how many permits the measured logs have.
var logSizes = []int{10, 100, 1_000, limit.MaxLogLimit}

// decision names a contender for Redis.
func decision(a limit.Algorithm, how string) string { return string(a) + ", " + how }

// How the measured decisions end.
const (
	allowed = "allowed"
	refusal = "refused"
	deepLog = "allowed, long log"
)

// subject is a client's name, as long as a hash of its key is.
func subject(i int) string { return fmt.Sprintf("%022d", i) }

// limitQuestion asks for one permit under one rule.
func limitQuestion(policy string, client int, r limit.Rule) limit.Request {
	return limit.Request{Policy: policy, Tier: limit.DefaultTier, Subject: subject(client), Rules: []limit.Rule{r}, Cost: 1}
}

// limits measures decisions on limits.
func (b *bench) limits(ctx context.Context) (err error) {
	began := time.Now()
	store, err := lua.Open(ctx, lua.Options{URL: b.redis.URL()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	b.progress.begin("bytes of limits in Redis and in memory")
	if err := b.limitBytes(ctx, store); err != nil {
		return err
	}
	b.progress.begin("the longest script calls of limits")
	if err := b.longestDecisions(ctx); err != nil {
		return err
	}
	b.progress.begin("processor time of Redis a decision")
	if err := b.decisions(ctx, store); err != nil {
		return err
	}
	b.progress.begin("how far limits in parts are used")
	if b.limited.Shards, err = shardUses(ctx); err != nil {
		return err
	}
	err = b.limitsOverHTTP(ctx)
	b.limited.Took = time.Since(began).Round(time.Second)
	return err
}

// decisions measures what one costs Redis: of clients who are allowed, of clients
// who are refused, and of logs with thousands of permits.
func (b *bench) decisions(ctx context.Context, store *lua.Store) (err error) {
	const window, plenty = 10, 5_000
	ask := func(policy string, clients int, r limit.Rule, allowed bool) task {
		return task{pollers, func(ctx context.Context, rng *rand.Rand) (int, error) {
			v, err := store.Allow(ctx, limitQuestion(policy, rng.IntN(clients), r))
			if err == nil && v.Allowed != allowed {
				err = fmt.Errorf("%w: %s: allowed is %t", errAnswer, policy, v.Allowed)
			}
			return 1, err
		}}
	}
	var all []turn
	for _, a := range limit.Algorithms {
		many := limit.Rule{Algorithm: a, Limit: plenty, WindowSeconds: window}
		if a == limit.LeakyBucket {
			many.Burst = plenty
		}
		one := limit.Rule{Algorithm: a, Limit: 1, WindowSeconds: limit.MaxWindowSeconds}
		refused := min(limitSubjects, b.plan.limitClients)
		for i := range refused {
			if _, err := store.Allow(ctx, limitQuestion("full", i, one)); err != nil {
				return err
			}
		}
		all = append(all,
			turn{decision(a, allowed), b.burden(ask("many", limitSubjects, many, true))},
			turn{decision(a, refusal), b.burden(ask("full", refused, one, false))})
	}
	long := limit.Rule{Algorithm: limit.SlidingLog, Limit: limit.MaxLogLimit, WindowSeconds: window}
	all = append(all, turn{decision(limit.SlidingLog, deepLog), b.burden(ask("long", deepSubjects, long, true))})
	costs, err := b.interleave(ctx, b.plan.Rounds, all)
	for i := range b.limited.Decisions {
		d := &b.limited.Decisions[i]
		d.Allowed, d.Refused = costs.median(decision(d.Algorithm, allowed), redisMicros), costs.median(decision(d.Algorithm, refusal), redisMicros)
	}
	b.limited.DeepLog = costs.median(decision(limit.SlidingLog, deepLog), redisMicros)
	return err
}

// limitBytes measures memory: of clients with one permit, and of logs.
func (b *bench) limitBytes(ctx context.Context, store *lua.Store) error {
	out := &b.limited
	clients := b.plan.limitClients
	for _, a := range limit.Algorithms {
		r := limit.Rule{Algorithm: a, Limit: 100, WindowSeconds: 3600}
		bytes, own, err := b.bytesOf(ctx, store, "bytes", clients, 1, r)
		if err != nil {
			return err
		}
		out.Decisions = append(out.Decisions, decisionCost{Algorithm: a, Bytes: bytes / float64(clients), Own: own / float64(clients)})
	}
	for _, n := range logSizes {
		r := limit.Rule{Algorithm: limit.SlidingLog, Limit: int64(n), WindowSeconds: 3600}
		logs := max(1, clients/n)
		bytes, own, err := b.bytesOf(ctx, store, "log"+strconv.Itoa(n), logs, n, r)
		if err != nil {
			return err
		}
		out.Logs = append(out.Logs, logCost{n, bytes / float64(logs*n), own / float64(logs*n)})
	}
	return nil
}

// bytesOf has clients take permits of a rule, in Redis and in a store of this
// process, and returns by how much each has grown.
func (b *bench) bytesOf(ctx context.Context, store *lua.Store, policy string, clients, permits int, r limit.Rule) (inRedis, own float64, err error) {
	before, err := b.redis.UsedMemory(ctx)
	if err != nil {
		return 0, 0, err
	}
	take := func(ctx context.Context, i int) error {
		v, err := store.Allow(ctx, limitQuestion(policy, i%clients, r))
		if err == nil && !v.Allowed {
			err = fmt.Errorf("%w: %s: refused", errAnswer, policy)
		}
		return err
	}
	if err := each(ctx, clients*permits, take); err != nil {
		return 0, 0, err
	}
	after, err := b.redis.UsedMemory(ctx)
	if err != nil {
		return 0, 0, err
	}
	heap := heapBytes()
	mine := local.New(local.Options{})
	defer mine.Close()
	for i := range clients * permits {
		if _, err := mine.Allow(ctx, limitQuestion(policy, i%clients, r)); err != nil {
			return 0, 0, err
		}
	}
	return float64(after - before), float64(heapBytes() - heap), nil
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
	fill := func(policy string) error {
		return each(ctx, limit.MaxLogLimit-1, func(ctx context.Context, _ int) error {
			_, err := store.Allow(ctx, limitQuestion(policy, 0, full))
			return err
		})
	}
	watch := func(name string, q limit.Request) error {
		if err := b.redis.WatchCalls(ctx, 0); err != nil {
			return err
		}
		if _, err := store.Allow(ctx, q); err != nil {
			return err
		}
		calls, err := b.redis.ScriptCalls(ctx)
		if err == nil {
			b.limited.Longest = append(b.limited.Longest, longestCall{name, slices.Max(append(calls, 0))})
		}
		return err
	}
	if err := fill("forgets"); err != nil {
		return err
	}
	ahead.advance(window / 2)
	q := limitQuestion("forgets", 0, full)
	if _, err := store.Allow(ctx, q); err != nil { // stays
		return err
	}
	ahead.advance(window/2 + time.Second)
	if err := watch("most of a log of 10,000 permits has left it at once", q); err != nil {
		return err
	}
	if err := fill("set"); err != nil {
		return err
	}
	ahead.advance(-2 * window)
	if err := watch("a log of 10,000 permits, after the clock was set back", limitQuestion("set", 0, full)); err != nil {
		return err
	}
	q = limitQuestion("eight", 0, full)
	q.Rules, q.Cost = nil, limit.MaxLogCost
	for i := range limit.MaxRules {
		r := full
		r.WindowSeconds -= int64(i)
		q.Rules = append(q.Rules, r)
	}
	return watch("8 rules, 8,000 permits", q)
}
