package limiter

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/serve/background"
)

// Errors of Check. Compare with errors.Is.
var (
	// ErrPolicyUnknown says that no policy of that name is in force on this server.
	ErrPolicyUnknown = errors.New("limiter: no such policy")
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
	// maxTries is how many parts of a key one question asks at most.
	maxTries = 2
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
	// Others are the other secrets of a rotation, under which some servers still count, or count
	// already: see Question.Once. As a rule there are none.
	Others [][]byte
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
	// Look asks whether the request would be allowed, and takes nothing. The answer is
	// counted among the outcomes all the same.
	Look bool
	// Once says that permits taken under one of Others count, too. It is for things to be had once, which a
	// rotation of secrets must not give again. It costs one more call for each of Others.
	Once bool
	// Scale fits the policy's rules to what the question is about, such as a zone; nil
	// leaves them as they are. With a Scale, a key is not split into parts.
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
	// suspects gets a value when a partition begins to fail, since others may fail, too.
	suspects chan struct{}

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
	l := &Limiter{deps: d, began: d.Now(), refusals: newRefusalCache(), suspects: make(chan struct{}, 1)}
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
	p := l.inForce.Load().policies[q.Policy]
	if p == nil {
		return Answer{}, ErrPolicyUnknown
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
		return Answer{}, ErrKey
	case q.Cost < 1 || q.Cost > t.maxCost:
		return Answer{}, ErrCost
	}
	a := Answer{Policy: p.Name, Tier: t.name, Rules: t.rules, Source: SourceMemory}
	hash := t.hash(q.Key, q.Scale)
	part, retry := l.pick(t, hash, q.Cost, -1, l.millis())
	if part < 0 {
		a.RetryMillis = retry
		t.count(RefusedFromMemory)
		p.refuse(l, q.Key)
		return a, nil
	}
	outcome, err := Allowed, error(nil)
	if q.Once {
		outcome, err = l.look(ctx, &a, p, t, q, hash, part)
	}
	if outcome.Allows() && err == nil {
		outcome, err = l.ask(ctx, &a, p, t, q, l.subject(q.Key), hash, part)
	}
	if err != nil {
		return Answer{}, err
	}
	if outcome == Allowed || outcome == Refused {
		t.left.Add(left(&a))
	}
	t.count(outcome)
	if !a.Allowed {
		p.refuse(l, q.Key)
	}
	return a, nil
}

// pick chooses the part of the key to ask, which is not asked, the one that was asked already
// (-1 for none). If all others are known to refuse, part is -1, and retry is in how many
// milliseconds the first of them may not.
func (l *Limiter) pick(t *tier, hash uint64, cost, asked, now int64) (part, retry int64) {
	n := int64(len(t.parts))
	if n == 1 {
		if wait := l.refusals.wait(hash, cost, now); wait > 0 || asked == 0 {
			return -1, wait
		}
		return 0, 0
	}
	first := int64(t.next.Add(1) % uint64(n))
	for i := range n {
		part = (first + i) % n
		if part == asked {
			continue
		}
		wait := l.refusals.wait(partOf(hash, part), cost, now)
		if wait == 0 {
			return part, 0
		}
		if retry == 0 || wait < retry {
			retry = wait
		}
	}
	return -1, retry
}

// look asks what would be decided for the key under the subjects that the other secrets give it.
func (l *Limiter) look(ctx context.Context, a *Answer, p *policy, t *tier, q Question, hash uint64, part int64) (outcome Outcome, err error) {
	q.Look = true
	for _, secret := range l.deps.Others {
		if outcome, err = l.ask(ctx, a, p, t, q, subject(secret, q.Key), hash, part); err != nil || !a.Allowed {
			break
		}
	}
	return outcome, err
}

// ask lets Store or Local decide, or the failure policy.
func (l *Limiter) ask(ctx context.Context, a *Answer, p *policy, t *tier, q Question, subject string, hash uint64, part int64) (Outcome, error) {
	r := limit.Request{Policy: p.Name, Tier: t.name, Subject: subject, Cost: q.Cost, Look: q.Look}
	if p.Scope == limit.ScopeServer {
		a.Source = SourceLocal
		err := l.take(ctx, l.deps.Local, a, t, r, hash)
		return outcome(a.Allowed, Allowed, Refused), err
	}
	a.Source = SourceStore
	first := int64(0)
	for try := 1; ; try++ {
		r.Part = part
		at := l.partition(r)
		if at.failing.Load() {
			return l.without(ctx, a, p, t, r)
		}
		sent := l.millis()
		err := l.take(ctx, l.deps.Store, a, t, r, partOf(hash, part))
		if err != nil {
			ended := ctx.Err()
			if ended != nil && l.millis()-sent < longWait {
				at.doubt(r)
			} else {
				l.failed(at, r, err)
			}
			if ended != nil {
				return 0, ended
			}
			return l.without(ctx, a, p, t, r)
		}
		if a.Allowed {
			return Allowed, nil
		}
		other, soonest := l.pick(t, hash, q.Cost, part, l.millis())
		for _, retry := range []int64{first, soonest} {
			if retry > 0 {
				a.RetryMillis = min(a.RetryMillis, retry)
			}
		}
		first = a.RetryMillis
		if other < 0 || try == maxTries {
			return Refused, nil
		}
		part = other
	}
}

// take asks Store or Local, and remembers a refusal.
func (l *Limiter) take(ctx context.Context, from Counters, a *Answer, t *tier, r limit.Request, hash uint64) error {
	r.Rules = t.parts[r.Part]
	began := l.deps.Now()
	v, err := from.Allow(ctx, r)
	if err != nil {
		return err
	}
	l.deps.Meter.Took(a.Source, l.deps.Now().Sub(began))
	a.Verdict = v
	if !v.Allowed {
		l.refusals.refuse(hash, r.Cost, began.Sub(l.began).Milliseconds(), v.RetryMillis)
	}
	if n := int64(len(t.parts)); n > 1 {
		for i := range a.Quotas {
			a.Quotas[i].Remaining = min(a.Quotas[i].Remaining*n, t.rules[i].Quota())
		}
	}
	return nil
}

// without answers by the failure policy. A refusal by Local is not remembered: the store, when
// it is back, may allow the request.
func (l *Limiter) without(ctx context.Context, a *Answer, p *policy, t *tier, r limit.Request) (Outcome, error) {
	a.Verdict = limit.Verdict{}
	switch p.OnStoreFailure {
	case limit.FailureOpen:
		a.Source, a.Allowed = SourceOpen, true
		return AllowedOpen, nil
	case limit.FailureClosed:
		a.Source, a.RetryMillis = SourceClosed, refusedFor
		return RefusedClosed, nil
	default:
	}
	a.Source = SourceLocal
	r.Part, r.Rules = 0, t.share
	if r.Cost > permits(t.share) {
		// This server's share can never permit that much.
		a.RetryMillis = refusedFor
		return RefusedLocally, nil
	}
	began := l.deps.Now()
	v, err := l.deps.Local.Allow(ctx, r)
	if err != nil {
		return 0, err
	}
	l.deps.Meter.Took(SourceLocal, l.deps.Now().Sub(began))
	a.Verdict = v
	return outcome(v.Allowed, AllowedLocally, RefusedLocally), nil
}

func outcome(allowed bool, yes, no Outcome) Outcome {
	if allowed {
		return yes
	}
	return no
}
