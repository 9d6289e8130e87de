package lua

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/openqueue/waitingroom/internal/limits/limit"
)

const (
	// maxDecisions is how many decisions travel in one pipeline. Redis makes them
	// one after the other before it turns to anybody else, in some 2 ms.
	maxDecisions = 128
	// maxUndecided is how many of a partition wait for a pipeline. All partitions together
	// are half a second's work for one Redis.
	maxUndecided = 2_500
	// lingerFor is how long a limit's key is kept beyond its use: a master that
	// takes over may have a clock that is ahead, and would let too many in if the
	// key had gone before its time.
	lingerFor = time.Second
)

// letters name the algorithms in take.lua and in keys.
var letters = map[limit.Algorithm]string{
	limit.SlidingLog: "l", limit.SlidingCounter: "c", limit.TokenBucket: "t",
	limit.LeakyBucket: "q", limit.FixedWindow: "f",
}

// takes are take.lua for requests of one algorithm alone, by letter.
var takes = map[string]*script{
	"l": takeWith("sliding_log"), "c": takeWith("counter", "sliding_counter"), "f": takeWith("counter", "fixed_window"),
	"t": takeWith("token_bucket"), "q": takeWith("token_bucket", "leaky_bucket"),
}

// takeWith is take.lua with some of its includes.
func takeWith(includes ...string) *script {
	text, err := sources.ReadFile("take.lua")
	if err != nil {
		panic("lua: " + err.Error())
	}
	includes = append(includes, "clock", "arithmetic")
	return newScript("take", expand(string(text), func(name string) bool { return slices.Contains(includes, name) }))
}

// singleTakeScripts are those of takes.
func singleTakeScripts() []*script { return slices.Collect(maps.Values(takes)) }

// takeScriptFor is the one that has what the rules need, and least else.
func takeScriptFor(rules []limit.Rule) *script {
	for _, r := range rules[1:] {
		if r.Algorithm != rules[0].Algorithm {
			return takeScript
		}
	}
	return takes[letters[rules[0].Algorithm]]
}

// decision is one request, waiting for its verdict.
type decision struct {
	caller
	limit.Request
	base    string // of its keys
	verdict limit.Verdict
}

// Take decides a request, all rules together, on the clock of the node that has
// its keys. Requests of one partition that arrive while a call is under way travel
// together in the next one.
//
// An error wraps limit.ErrStoreUnavailable, after 400 ms at most, or is the
// context's. Whether the request was counted is then not known; it is never sent
// twice.
func (s *Store) Take(ctx context.Context, q limit.Request) (limit.Verdict, error) {
	d := &decision{Request: q, base: s.limitKey(q)}
	bounded, cancel := context.WithTimeout(ctx, s.timeouts.call)
	defer cancel()
	err := do(bounded, s, s.partitions[partitionOf(d.base)], d)
	switch {
	case err == nil:
		return d.verdict, nil
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, limit.ErrStoreUnavailable):
		return limit.Verdict{}, fmt.Errorf("%w: take: %w", limit.ErrStoreUnavailable, err)
	default:
		return limit.Verdict{}, err
	}
}

// Partition is which of limit.Partitions the request's keys are in. Partitions share neither a
// queue nor a call; two may share a node.
func (s *Store) Partition(q limit.Request) int { return partitionOf(s.limitKey(q)) }

// limitKey begins the keys of what a request counts under; all of them are in one
// slot. No zone's name has a ":", so no zone's keys begin so.
func (s *Store) limitKey(q limit.Request) string {
	key := s.prefix + "{:" + q.Policy + ":" + q.Tier + ":" + q.Subject
	if q.Part > 0 {
		key += ":" + strconv.FormatInt(q.Part, 10)
	}
	return key + "}:"
}

// openPartitions makes the partitions of limits.
func (s *Store) openPartitions() {
	for i := range s.partitions {
		s.partitions[i] = &batch[*decision]{terms: terms[*decision]{
			send: s.decide, most: maxDecisions, maxPending: maxUndecided, full: limit.ErrStoreUnavailable,
			sizes: s.metrics.decisions, seconds: s.metrics.seconds.WithLabelValues("take"),
		}}
	}
}

// decide makes the decisions of one partition, and gives each its verdict or its error.
func (s *Store) decide(ctx context.Context, all []*decision) error {
	missing := s.pipeline(ctx, all, false)
	if len(missing) > 0 {
		// NOSCRIPT is an answer, so nothing has run there.
		s.metrics.reloaded.Inc()
		s.pipeline(ctx, missing, true)
	}
	failed, cause := 0, error(nil)
	for _, d := range all {
		if d.err != nil {
			failed, cause = failed+1, d.err
		}
	}
	if failed == 0 {
		return nil
	}
	err := s.failedAs(ctx, limit.ErrStoreUnavailable, "take", cause)
	if failed == len(all) {
		return err
	}
	for _, d := range all {
		if d.err != nil {
			d.err = err
		}
	}
	return nil
}

// pipeline sends decisions, by their script's hash or with its text, and reads the
// replies. It returns those for which the
// node does not have the script.
func (s *Store) pipeline(ctx context.Context, all []*decision, withText bool) (missing []*decision) {
	pipe := s.client.Pipeline()
	cmds := make([]once, len(all))
	for i, d := range all {
		cmds[i] = once{redis.NewCmd(ctx, s.takeArgs(d, withText)...)}
		_ = pipe.Process(ctx, cmds[i]) // adds it
	}
	_, _ = pipe.Exec(ctx) // each has its own error
	for i, d := range all {
		reply, err := cmds[i].Result()
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			missing = append(missing, d)
		}
		if err == nil {
			d.verdict, err = verdictOf(reply, len(d.Rules))
		}
		d.err = err
	}
	return missing
}

// takeArgs is the command of one decision.
func (s *Store) takeArgs(d *decision, withText bool) []any {
	script := takeScriptFor(d.Rules)
	command, what := "evalsha", script.sha
	if withText {
		command, what = "eval", script.text
	}
	const fixed, each = 6, 5
	args := make([]any, 0, fixed+each*len(d.Rules))
	args = append(args, command, what, len(d.Rules))
	for _, r := range d.Rules {
		args = append(args, d.base+letters[r.Algorithm]+strconv.FormatInt(r.WindowSeconds, 10))
	}
	args = append(args, s.clock(), s.linger.Milliseconds(), d.Cost)
	for _, r := range d.Rules {
		// Redis need not know the Burst: the permits have it.
		args = append(args, letters[r.Algorithm], r.Limit, r.Permits(), r.Window().Milliseconds())
	}
	return args
}

// verdictOf reads the reply of take.lua.
func verdictOf(reply any, rules int) (limit.Verdict, error) {
	v, err := numbers(reply)
	if err != nil {
		return limit.Verdict{}, err
	}
	const fixed = 3
	if len(v) != fixed+2*rules {
		return limit.Verdict{}, fmt.Errorf("lua: take: a reply of %d numbers for %d rules", len(v), rules)
	}
	out := limit.Verdict{Allowed: v[0] == 1, RetryMillis: v[1], DelayMillis: v[2], Quotas: make([]limit.Quota, rules)}
	for i := range out.Quotas {
		out.Quotas[i] = limit.Quota{Remaining: v[fixed+2*i], ResetMillis: v[fixed+2*i+1]}
	}
	return out, nil
}
