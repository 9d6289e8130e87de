package fallback

import (
	"context"
	"sync/atomic"
	"time"
)

// together is for how long calls that begin share a deadline: each waits for
// Within, or by up to so much less.
const together = 25 * time.Millisecond

// deadlines gives calls the same time limit. A context with a timer for each
// would be the dearest part of a poll in this process: calls that begin together
// share one.
type deadlines struct {
	within time.Duration
	latest atomic.Pointer[deadline]
}

// deadline is one that is shared.
type deadline struct {
	began, ends time.Time
	passed      chan struct{} // closed when it has
}

// bound returns ctx with a time limit; one that ends sooner by itself as it is. It is told
// that the caller went away by Err alone: Done waits for an answer or the limit, which is
// soon enough.
func (d *deadlines) bound(ctx context.Context) context.Context {
	if d.within <= 0 {
		return ctx
	}
	now, latest := time.Now(), d.latest.Load()
	if latest == nil || now.Sub(latest.began) >= together {
		// Two at once make one too many, which does no harm.
		latest = &deadline{began: now, ends: now.Add(d.within), passed: make(chan struct{})}
		time.AfterFunc(d.within, func() { close(latest.passed) })
		d.latest.Store(latest)
	}
	if own, ok := ctx.Deadline(); ok && own.Before(latest.ends) {
		return ctx
	}
	return bounded{ctx, latest}
}

// bounded is a context with a shared deadline.
type bounded struct {
	context.Context
	limit *deadline
}

// Deadline is the limit.
func (b bounded) Deadline() (time.Time, bool) { return b.limit.ends, true }

// Done is closed when the limit has passed.
func (b bounded) Done() <-chan struct{} { return b.limit.passed }

// Err is context.DeadlineExceeded after the limit, else the caller's.
func (b bounded) Err() error {
	select {
	case <-b.limit.passed:
		return context.DeadlineExceeded
	default:
		return b.Context.Err()
	}
}
