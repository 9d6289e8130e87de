package limiter

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/refusal"
	"github.com/openqueue/waitingroom/internal/serve/background"
)

// Errors of Check. Compare with errors.Is.
var (
	// ErrPolicyUnknown says that no policy of that name is in force on this server.
	ErrPolicyUnknown = refusal.New("limiter: no such policy", refusal.Refusal{
		Status: http.StatusNotFound, Code: "policy_unknown",
		Title:   "There is no such policy",
		Detail:  "Check the name; names of policies are case-sensitive.",
		Readers: refusal.Limits,
		Doc:     "No policy of this name is in force on this server.",
	})
	// ErrCost says that the cost is below 1, or more than a rule can ever permit at once.
	ErrCost = errors.New("limiter: cost out of range")
	// ErrKey says that the key is empty, or longer than MaxKey.
	ErrKey = errors.New("limiter: malformed key")
)

const (
	// MaxKey bounds a key, in bytes.
	MaxKey = 256
	// refusedFor is the wait that is told with a refusal without the store, in milliseconds:
	// about how long the store takes to be believed again.
	refusedFor = 1000
)

// Counters decides requests, for all servers or for this one. Both methods are called from
// any goroutine.
type Counters interface {
	// Allow decides a request. An error is a failure of the store, unless the
	// context has ended.
	Allow(ctx context.Context, r limit.Request) (limit.Verdict, error)
	// Partition returns the number of the request's partition: from 0, below
	// limit.Partitions. Requests of one partition fail together.
	Partition(r limit.Request) int
}

// Meter counts what happens here. Its methods are called from any goroutine.
type Meter interface {
	// Took counts how long Store or Local took to decide. Refusals from memory are not timed.
	Took(by Source, d time.Duration)
	// Failing says that questions of the partition are answered by failure policies from
	// now on, or that they go to the store again.
	Failing(partition int, failing bool)
}

// Dependencies are what a Limiter is made of. Local is required.
type Dependencies struct {
	// Store counts for all servers. Nil: there is one server, and Local counts.
	Store Counters
	// Local counts for this server: for policies of scope server, and for those with the
	// failure policy local while Store is away.
	Local Counters
	// Servers is the most servers that share Store, this one included. Less than 1 counts
	// as 1.
	Servers int64
	// Secret goes into the hash of keys, so that nobody who reads a store learns addresses.
	// It must be the same on all servers. Its first 64 bytes count.
	Secret []byte
	// Meter may be nil.
	Meter Meter
	// Logger defaults to one that discards.
	Logger *slog.Logger
	// Now defaults to time.Now.
	Now func() time.Time
}

// Question is what a guard asks.
type Question struct {
	// Policy is the name of a policy.
	Policy string
	// Key is the client, such as "ip:203.0.113.9". 1 to MaxKey bytes.
	Key string
	// Tier is the client's tier. One that the policy does not have counts as the default.
	Tier string
	// Cost is how many permits the request takes; 0 stands for 1.
	Cost int64
	// Scale fits the policy's rules to what the question is about, such as a zone; nil
	// leaves them as they are.
	Scale *limit.Scale
}

// Source is where an answer comes from.
type Source string

// The sources.
const (
	SourceStore  Source = "store"
	SourceMemory Source = "memory"
	SourceLocal  Source = "local"
	SourceOpen   Source = "open"
	SourceClosed Source = "closed"
)

// Answer is the answer to a Question.
type Answer struct {
	limit.Verdict
	// Policy and Tier are the policy and the tier that decided.
	Policy, Tier string
	// Rules are the tier's rules, in the order of Quotas. The caller must not change them.
	Rules []limit.Rule
	// Source is what decided.
	Source Source
}

// Limiter answers questions. Its methods may be called from any goroutine.
type Limiter struct {
	deps  Dependencies
	began time.Time

	// inForce is replaced, never changed, so that a question reads it without a lock. mu
	// guards its replacement.
	inForce    atomic.Pointer[policiesInForce]
	mu         sync.Mutex
	refusals   *refusalCache
	partitions [limit.Partitions]partition

	background background.Group
}

// New returns a Limiter without policies. Call Use to give it some, Start before the first
// Check and Stop after the last.
func New(d Dependencies) *Limiter {
	d.Servers, d.Secret = max(1, d.Servers), d.Secret[:min(len(d.Secret), maxSecret)]
	if d.Store == nil {
		d.Store = d.Local
	}
	if d.Meter == nil {
		d.Meter = noMeter{}
	}
	d.Logger = cmp.Or(d.Logger, slog.New(slog.DiscardHandler))
	if d.Now == nil {
		d.Now = time.Now
	}
	l := &Limiter{deps: d, began: d.Now(), refusals: newRefusalCache()}
	l.inForce.Store(&policiesInForce{})
	for i := range l.partitions {
		l.partitions[i].number = i
	}
	return l
}

// noMeter counts nothing.
type noMeter struct{}

func (noMeter) Took(Source, time.Duration) {}
func (noMeter) Failing(int, bool)          {}

// millis is the time since the limiter was made, in milliseconds, by the monotonic clock.
func (l *Limiter) millis() int64 { return l.deps.Now().Sub(l.began).Milliseconds() }

// Check answers a question, and counts the request if it is allowed. It returns
// ErrPolicyUnknown, ErrKey, ErrCost, or the context's error if that ended before the store
// answered. A failure of the store is no error: the failure policy then answers.
func (l *Limiter) Check(ctx context.Context, q Question) (Answer, error) {
	c, err := l.begin(q)
	if err == nil && !c.done {
		err = c.decide(ctx)
	}
	if err != nil {
		return Answer{}, err
	}
	return c.end(), nil
}

// CheckAll asks several questions at once, in the time of one call to the store, for a request that has
// to be allowed by all of them. It returns the answer to the first one that is refused, else
// that to the last. A policy that is not in force allows everything. The errors are those of Check
// without ErrPolicyUnknown.
//
// A question that memory knows to be refused costs nothing of the others. Otherwise each is counted for itself: if
// one is refused, the others may have taken their cost.
func (l *Limiter) CheckAll(ctx context.Context, questions ...Question) (Answer, error) {
	checks := make([]check, 0, len(questions))
	for _, q := range questions {
		c, err := l.begin(q)
		switch {
		case errors.Is(err, ErrPolicyUnknown):
			continue
		case err != nil:
			return Answer{}, err
		case c.done:
			return c.end(), nil
		}
		checks = append(checks, c)
	}
	if len(checks) == 0 {
		return Answer{Verdict: limit.Verdict{Allowed: true}}, nil
	}
	var others sync.WaitGroup
	errs := make([]error, len(checks))
	for i := range checks[1:] {
		others.Go(func() { errs[i+1] = checks[i+1].decide(ctx) })
	}
	errs[0] = checks[0].decide(ctx)
	others.Wait()
	var answer Answer
	for i := range checks {
		if errs[i] != nil {
			return Answer{}, errs[i]
		}
		a := checks[i].end()
		if i == 0 || answer.Allowed {
			answer = a
		}
	}
	return answer, nil
}

// check is a question on its way to its answer.
type check struct {
	Answer
	*Limiter
	question Question
	policy   *policy
	tier     *tier
	hash     uint64
	outcome  Outcome
	// done: memory has the answer.
	done bool
}

// begin finds the policy and the tier of a question, and looks into the memory of refusals.
func (l *Limiter) begin(q Question) (check, error) {
	p := (*l.inForce.Load())[q.Policy]
	if p == nil {
		return check{}, ErrPolicyUnknown
	}
	t := p.tier(q.Tier)
	if q.Scale != nil {
		t = t.scaled(*q.Scale, l.deps.Servers)
	}
	if q.Cost == 0 {
		q.Cost = 1
	}
	switch {
	case len(q.Key) == 0 || len(q.Key) > MaxKey:
		return check{}, ErrKey
	case q.Cost < 1 || q.Cost > permits(t.rules):
		return check{}, ErrCost
	}
	c := check{
		Answer: Answer{Policy: p.Name, Tier: t.name, Rules: t.rules, Source: SourceMemory}, Limiter: l,
		question: q, policy: p, tier: t, hash: t.hash(q.Key, q.Scale), outcome: RefusedFromMemory,
	}
	c.RetryMillis = l.refusals.wait(c.hash, q.Cost, l.millis())
	c.done = c.RetryMillis > 0
	return c, nil
}

// end counts the outcome and returns the answer.
func (c *check) end() Answer {
	c.tier.count(c.outcome)
	return c.Answer
}

// decide lets Store or Local decide, or the failure policy. A refusal by Store is remembered.
func (c *check) decide(ctx context.Context) error {
	r := limit.Request{
		Policy: c.policy.Name, Tier: c.tier.name, Subject: subject(c.deps.Secret, c.question.Key), Rules: c.tier.rules, Cost: c.question.Cost,
	}
	if c.policy.Scope == limit.ScopeServer {
		return c.remember(c.take(ctx, SourceLocal, r))
	}
	at := c.partition(r)
	if at.failing.Load() {
		return c.without(ctx, r)
	}
	sent := c.millis()
	took, err := c.take(ctx, SourceStore, r)
	if err == nil {
		return c.remember(took, nil)
	}
	ended := ctx.Err()
	if ended == nil || c.millis()-sent >= longWait {
		c.failed(at, r, err)
	}
	if ended != nil {
		return ended
	}
	return c.without(ctx, r)
}

// take lets Store or Local decide, and returns when the request was sent.
func (c *check) take(ctx context.Context, from Source, r limit.Request) (sent time.Time, err error) {
	counters := c.deps.Store
	if from == SourceLocal {
		counters = c.deps.Local
	}
	sent = c.deps.Now()
	v, err := counters.Allow(ctx, r)
	if err != nil {
		return sent, err
	}
	c.deps.Meter.Took(from, c.deps.Now().Sub(sent))
	c.Verdict, c.Source, c.outcome = v, from, outcome(v.Allowed, Allowed, Refused)
	return sent, nil
}

// remember keeps a refusal until it ends.
func (c *check) remember(sent time.Time, err error) error {
	if err == nil && !c.Allowed {
		c.refusals.refuse(c.hash, c.question.Cost, sent.Sub(c.began).Milliseconds(), c.RetryMillis)
	}
	return err
}

// without answers by the failure policy. A refusal by Local is not remembered: the store, when
// it is back, may allow the request.
func (c *check) without(ctx context.Context, r limit.Request) error {
	c.Verdict = limit.Verdict{}
	switch c.policy.OnStoreFailure {
	case limit.FailureOpen:
		c.Source, c.Allowed, c.outcome = SourceOpen, true, AllowedOpen
		return nil
	case limit.FailureClosed:
		c.Source, c.RetryMillis, c.outcome = SourceClosed, refusedFor, RefusedClosed
		return nil
	default:
	}
	r.Rules = c.tier.share
	if r.Cost > permits(r.Rules) {
		// This server's share can never permit that much.
		c.Source, c.RetryMillis, c.outcome = SourceLocal, refusedFor, RefusedLocally
		return nil
	}
	_, err := c.take(ctx, SourceLocal, r)
	c.outcome = outcome(c.Allowed, AllowedLocally, RefusedLocally)
	return err
}

func outcome(allowed bool, yes, no Outcome) Outcome {
	if allowed {
		return yes
	}
	return no
}
