package limit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"time"

	"github.com/openqueue/waitingroom/internal/limits/limit/local"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/limits/ratelimit"
	"github.com/openqueue/waitingroom/lua"
)

// Errors of Allow. Compare with errors.Is.
var (
	// ErrPolicyUnknown: no policy of that name is in force.
	ErrPolicyUnknown = limiter.ErrPolicyUnknown
	// ErrCost: the cost is below 1, or more than a rule can ever permit at once.
	ErrCost = limiter.ErrCost
	// ErrKey: the key is empty.
	ErrKey = limiter.ErrKey
)

// ErrSecret is the error of Open for Redis without a Secret, or with a short one.
var ErrSecret = errors.New("limit: a secret of 16 bytes or more is needed")

// minSecret is how many bytes a secret has at least: 128 bits cannot be found by trying.
const minSecret = 16

// Options of Open.
type Options struct {
	// Policies are in force at once; see SetPolicies.
	Policies []Policy
	// RedisURL is where the counts are: redis://host:port, rediss:// for TLS, several
	// hosts with commas for a cluster, redis+sentinel://hosts/master for Sentinel.
	// Empty: in this process's memory, for one server.
	RedisURL string
	// RedisRoots are the authorities that sign Redis's certificates. Nil: those that
	// this machine trusts.
	RedisRoots *x509.CertPool
	// Servers is the most servers that share Redis at a time: with FailLocal each
	// enforces one part in so many while Redis is away. 0: 1.
	Servers int64
	// Secret goes into the hash of keys, so that whoever reads Redis learns of no
	// address or account. The same on all servers, of 16 bytes or more, of which the first 64
	// count. Required with RedisURL, and not used without.
	Secret []byte
	// Logger gets an entry when Redis stops answering, and when it answers again. Nil: nothing is logged.
	Logger *slog.Logger
}

// Limiter decides. Its methods may be called from any goroutine.
type Limiter struct {
	limits *limiter.Limiter
	local  *local.Counters
	redis  *lua.Store // nil without one
	log    *slog.Logger
}

// Open returns a limiter, which is to be closed. Redis need not be there yet. The
// error wraps ErrInvalid if a policy is not valid, and is ErrSecret without a good Secret.
func Open(ctx context.Context, o Options) (*Limiter, error) {
	if o.RedisURL != "" && len(o.Secret) < minSecret {
		return nil, ErrSecret
	}
	l := &Limiter{log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), local: local.New(local.CountersOptions{})}
	settings := limiter.Dependencies{Local: l.local, Servers: o.Servers, Secret: o.Secret, Logger: l.log}
	if o.RedisURL != "" {
		var err error
		if l.redis, err = lua.Open(ctx, lua.Options{URL: o.RedisURL, Access: lua.Access{Roots: o.RedisRoots}, Logger: l.log}); err != nil {
			return nil, fmt.Errorf("limit: redis: %w", err)
		}
		settings.Store = l.redis
	}
	l.limits = limiter.New(settings)
	if err := l.SetPolicies(o.Policies...); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	l.limits.Start(ctx)
	return l, nil
}

// Close ends what Open began. To be called after the last Allow.
func (l *Limiter) Close() error {
	l.limits.Stop()
	l.local.Close()
	if l.redis == nil {
		return nil
	}
	return l.redis.Close()
}

// SetPolicies puts these policies into force, in place of all before. What clients
// have taken by a rule stays counted, unless the rule's algorithm or window changes. If a
// policy is not valid, the error wraps ErrInvalid, and nothing is changed.
func (l *Limiter) SetPolicies(policies ...Policy) error {
	b, err := policySet(policies)
	if err != nil {
		return fmt.Errorf("limit: %w", err)
	}
	l.limits.Use(b)
	return nil
}

// Request is a question.
type Request struct {
	// Policy is the name of one that is in force.
	Policy string
	// Key names the client. Requests with the same key are counted together. Not empty.
	Key string
	// Tier chooses the policy's rules. A tier that the policy does not have counts as no tier.
	Tier string
	// Cost is how many permits it takes; 0 for 1.
	Cost int64
}

// Source is what has decided.
type Source = limiter.Source

// The sources.
const (
	// SourceStore: the count in Redis or, without one, in this process.
	SourceStore = limiter.SourceStore
	// SourceMemory: an earlier refusal, which still holds.
	SourceMemory = limiter.SourceMemory
	// SourceLocal: this server's own count.
	SourceLocal = limiter.SourceLocal
	// SourceOpen and SourceClosed: nothing was counted, since Redis is away.
	SourceOpen   = limiter.SourceOpen
	SourceClosed = limiter.SourceClosed
)

// Decision is the answer.
type Decision struct {
	// Allowed: it may go on, and was counted by every rule; else by none.
	Allowed bool
	// RetryAfter is in how long a refused request would be allowed, if nobody else
	// took anything until then: exact, to the millisecond. 0 if Allowed.
	RetryAfter time.Duration
	// Delay is how long an allowed request should wait, for a LeakyBucket to flow
	// evenly. 0 without one.
	Delay time.Duration
	// Remaining is what is left of the rule with least left; -1 when it is not known.
	Remaining int64
	// Source is what has decided.
	Source Source

	answer limiter.Answer
}

// Allow decides a request, and counts it if it is allowed. A refusal is no error. While
// Redis is away, the policy's OnStoreFailure decides, which is no error either. Errors are
// ErrPolicyUnknown, ErrKey, ErrCost, and the context's.
func (l *Limiter) Allow(ctx context.Context, r Request) (Decision, error) {
	a, err := l.limits.Check(ctx, limiter.Question{Policy: r.Policy, Key: short(r.Key), Tier: r.Tier, Cost: r.Cost})
	if err != nil {
		return Decision{}, fmt.Errorf("limit: %w", err)
	}
	d := Decision{
		Allowed: a.Allowed, Source: a.Source, Remaining: -1, answer: a,
		RetryAfter: span(a.RetryMillis), Delay: span(a.DelayMillis),
	}
	if i := a.Tightest(a.Rules); i >= 0 {
		d.Remaining = a.Quotas[i].Remaining
	} else if a.Source == limiter.SourceMemory {
		d.Remaining = 0
	}
	return d, nil
}

// span converts milliseconds to a Duration, of at most 292 years.
func span(millis int64) time.Duration {
	return time.Duration(min(millis, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

// short returns the key, or its hash if the limiter refuses the key as too long.
func short(key string) string {
	if len(key) <= limiter.MaxKey {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return "sha256:" + base64.RawURLEncoding.EncodeToString(sum[:])
}

// SetHeader sets the fields that tell the client of the decision: RateLimit-Policy,
// RateLimit, X-RateLimit-Limit, -Remaining and -Reset and, with a refusal,
// Retry-After. It leaves all others alone.
func (d *Decision) SetHeader(h http.Header) { ratelimit.SetFields(h, &d.answer) }

// Problem is the document that tells of a refusal, as application/problem+json
// (RFC 9457). Its code is rate_limited, or limits_unavailable where Redis is away and
// the policy is FailClosed.
func (d *Decision) Problem() []byte { return ratelimit.AppendRefusal(nil, &d.answer) }
