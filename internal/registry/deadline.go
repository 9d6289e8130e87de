package registry

import (
	"context"
	"sync/atomic"
	"time"
)

// together is for how long all calls that begin share one deadline. So a call waits for Within, or up to together less.
const together = 25 * time.Millisecond

// deadlines gives all calls the same time limit. A context with a timer for each call would be the most expensive part
// of a poll in this process, so calls that begin together share a timer.
type deadlines struct {
	within time.Duration
	latest atomic.Pointer[deadline]
}

// deadline is a time limit that calls share.
type deadline struct {
	began, ends time.Time
	passed      chan struct{} // closed when the limit has passed
}

// bound returns ctx with a time limit; a ctx that ends sooner is returned as it is. Of the returned context, only Err
// shows that ctx was cancelled. Done is closed at the limit alone, which is soon enough.
func (d *deadlines) bound(ctx context.Context) context.Context {
	if d.within <= 0 {
		return ctx
	}
	now, latest := time.Now(), d.latest.Load()
	if latest == nil || now.Sub(latest.began) >= together {
		// Two callers at once may make two deadlines, which does no harm.
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
