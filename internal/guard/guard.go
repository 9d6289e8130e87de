package guard

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"golang.org/x/time/rate"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/refusal"
)

// Limiter decides whether a client is within its limits. *limiter.Limiter does.
type Limiter interface {
	Check(ctx context.Context, q limiter.Question) (limiter.Answer, error)
	CheckAll(ctx context.Context, questions ...limiter.Question) (limiter.Answer, error)
}

// Meter shows what happens here. Its methods are called from any goroutine.
type Meter interface {
	// JoinUnlimited counts one join that was not limited by address. reason is one of Reasons.
	JoinUnlimited(reason string)
	// ForwardedRefused counts one join that was refused by its address although a header says that a proxy forwarded
	// it. The proxy is not among the trusted ones, but may be the operator's.
	ForwardedRefused()
}

// Unlimited is a Limiter that allows everything.
type Unlimited struct{}

// Check allows.
func (Unlimited) Check(context.Context, limiter.Question) (limiter.Answer, error) {
	return allowed, nil
}

// CheckAll allows.
func (Unlimited) CheckAll(context.Context, ...limiter.Question) (limiter.Answer, error) {
	return allowed, nil
}

var allowed = limiter.Answer{Verdict: limit.Verdict{Allowed: true}}

// Options of a Guard. Limiter is required.
type Options struct {
	// Limiter decides by the guard's policies.
	Limiter Limiter
	// Within bounds how long a join waits for a limiter that counts in a store. 0 sets no bound.
	Within time.Duration
	// Trusted are the networks of the proxies in front.
	Trusted []netip.Prefix
	// Backends are the networks of services that join for their users. The clientIp in their requests is believed.
	Backends []netip.Prefix
	// Meter may be nil.
	Meter Meter
	// Logger defaults to one that discards.
	Logger *slog.Logger
}

// Guard limits joins, and the polls that come before their time. Its methods may be called from any number of goroutines.
type Guard struct {
	options Options

	// What the log may say at most once in warnEvery: joins come from addresses that are no visitor's; a trusted proxy does not say for
	// whom it asks; forwarded joins are refused; a limit could not be checked.
	private, silent, forwarded, unchecked rate.Sometimes
}

// New returns a Guard.
func New(o Options) *Guard {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Meter == nil {
		o.Meter = noMeter{}
	}
	return &Guard{
		options: o,
		private: rate.Sometimes{Interval: warnEvery}, silent: rate.Sometimes{Interval: warnEvery},
		forwarded: rate.Sometimes{Interval: warnEvery}, unchecked: rate.Sometimes{Interval: warnEvery},
	}
}

type noMeter struct{}

func (noMeter) JoinUnlimited(string) {}
func (noMeter) ForwardedRefused()    {}

// ErrRefused: this client asks too often. Nothing was done. Compare with errors.Is.
var ErrRefused = refusal.New("guard: refused", refusal.TooManyRequests)

// RefusedError is ErrRefused, with when to come back.
type RefusedError struct {
	// RetryMillis is in how many milliseconds to come back.
	RetryMillis int64
}

// Error returns the sentence for a log.
func (r *RefusedError) Error() string { return fmt.Sprintf("%v for %d ms", ErrRefused, r.RetryMillis) }

// Unwrap returns ErrRefused.
func (r *RefusedError) Unwrap() error { return ErrRefused }

// RetryAfterSeconds is when to come back, rounded up, at least 1 s.
func (r *RefusedError) RetryAfterSeconds() int { return int(max(1, (r.RetryMillis+999)/1000)) }
