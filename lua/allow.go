package lua

import (
	"context"
	"errors"
	"fmt"
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

// letters name the algorithms in allow.lua and in keys.
var letters = map[limit.Algorithm]string{
	limit.SlidingLog: "l", limit.SlidingCounter: "c", limit.TokenBucket: "t",
	limit.LeakyBucket: "q", limit.FixedWindow: "f",
}

// decision is one request, waiting for its verdict.
type decision struct {
	caller
	limit.Request
	base    string // of its keys
	verdict limit.Verdict
}

// Allow decides a request, all rules together, on the clock of the node that has
// its keys. Requests of one partition that arrive while a call is under way travel
// together in the next one.
//
// An error wraps limit.ErrStoreUnavailable, after 400 ms at most, or is the
// context's. Whether the request was counted is then not known; it is never sent
// twice.
func (s *Store) Allow(ctx context.Context, q limit.Request) (limit.Verdict, error) {
	d := &decision{Request: q, base: s.limitKey(q)}
	bounded, cancel := context.WithTimeout(ctx, s.timeouts.call)
	defer cancel()
	err := s.partitions[partitionOf(d.base)].do(bounded, d)
	switch {
	case err == nil:
		return d.verdict, nil
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, limit.ErrStoreUnavailable):
		err = fmt.Errorf("%w: %s: %w", limit.ErrStoreUnavailable, allowScript.name, err)
	}
	return limit.Verdict{}, err
}

// Partition is which of limit.Partitions the request's keys are in. Partitions share neither a
// queue nor a call; two may share a node.
func (s *Store) Partition(q limit.Request) int { return partitionOf(s.limitKey(q)) }

// limitKey begins the keys of what a request counts under; all of them are in one
// slot. No zone's name has a ":", so no zone's keys begin so.
func (s *Store) limitKey(q limit.Request) string {
	return s.prefix + "{:" + q.Policy + ":" + q.Tier + ":" + q.Subject + "}:"
}

// openPartitions makes the partitions of limits.
func (s *Store) openPartitions() {
	for i := range s.partitions {
		s.partitions[i] = &batch[*decision]{
			store: s, send: s.decide, most: maxDecisions, maxPending: maxUndecided, full: limit.ErrStoreUnavailable,
			seconds: s.metrics.seconds.WithLabelValues(allowScript.name),
		}
	}
}

// decide makes the decisions of one partition, and gives each its verdict or its error.
func (s *Store) decide(ctx context.Context, all []*decision) error {
	if missing := s.pipeline(ctx, all, false); len(missing) > 0 {
		// NOSCRIPT is an answer, so nothing has run there.
		s.metrics.reloaded.Inc()
		s.pipeline(ctx, missing, true)
	}
	var failed []*decision
	for _, d := range all {
		if d.err != nil {
			failed = append(failed, d)
		}
	}
	if len(failed) == 0 {
		return nil
	}
	err := s.failedAs(ctx, limit.ErrStoreUnavailable, allowScript.name, failed[len(failed)-1].err)
	if len(failed) == len(all) {
		return err
	}
	for _, d := range failed {
		d.err = err
	}
	return nil
}

// pipeline sends decisions, by their script's hash or with its text, and reads the
// replies. It returns those for which the node does not have the script.
func (s *Store) pipeline(ctx context.Context, all []*decision, withText bool) (missing []*decision) {
	pipe := s.client.Pipeline()
	cmds := make([]once, len(all))
	for i, d := range all {
		keys, args := s.allowArgs(d)
		cmds[i] = allowScript.command(ctx, withText, keys, args)
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

// allowArgs are the keys and the arguments of one decision.
func (s *Store) allowArgs(d *decision) (keys []string, args []any) {
	const fixed, each = 3, 4
	keys, args = make([]string, len(d.Rules)), make([]any, 0, fixed+each*len(d.Rules))
	args = append(args, s.clock(), s.linger.Milliseconds(), d.Cost)
	for i, r := range d.Rules {
		keys[i] = d.base + letters[r.Algorithm] + strconv.FormatInt(r.WindowSeconds, 10)
		// Redis need not know the Burst: the permits have it.
		args = append(args, letters[r.Algorithm], r.Limit, r.Permits(), r.Window().Milliseconds())
	}
	return keys, args
}

// verdictOf reads the reply of allow.lua.
func verdictOf(reply any, rules int) (limit.Verdict, error) {
	list, err := numbers(reply)
	if err != nil {
		return limit.Verdict{}, err
	}
	v := reader{left: list}
	out := limit.Verdict{
		Allowed: v.next() == 1, RetryMillis: v.next(), DelayMillis: v.next(), Quotas: make([]limit.Quota, rules),
	}
	for i := range out.Quotas {
		out.Quotas[i] = limit.Quota{Remaining: v.next(), ResetMillis: v.next()}
	}
	return out, v.end(allowScript.name, "a verdict")
}
