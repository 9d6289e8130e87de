package zones

import (
	"context"
	"sync/atomic"
	"time"
)

// together is for how long all calls that begin share one deadline. So a call waits for Within, or up to together less.
const together = 25 * time.Millisecond

// On a busy machine a reply is late though the store is not: a call takes several turns of this process, and a timer one.
// So a call may take lateTimes as long more as the latest timer was late, up to mostLater halves of Within.
const (
	lateTimes = 10
	mostLater = 3
)

// deadlines gives all calls the same time limit. A context with a timer for each call would be the most expensive part
// of a poll in this process, so calls that begin together share a timer.
type deadlines struct {
	within time.Duration
	latest atomic.Pointer[deadline]
	// late is by how much the latest timer was late, in nanoseconds: how busy this machine is.
	late atomic.Int64
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
		within := d.within + min(d.within*mostLater/2, lateTimes*time.Duration(d.late.Load()))
		latest = &deadline{began: now, ends: now.Add(within), passed: make(chan struct{})}
		time.AfterFunc(within, func() {
			d.late.Store(int64(time.Since(latest.ends)))
			close(latest.passed)
		})
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
