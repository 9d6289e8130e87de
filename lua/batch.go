package lua

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// maxInFlight is how many calls of one batch may be under way: one that Redis works on and one on the wire, or one
// whose reply seems lost and one for those who came after. One more may be, after each callTimeout without a call.
const maxInFlight = 2

// laterCalls is how many calls' worth of later requests may wait for a call: 8,192, or some 250 ms of Redis. So a crowd
// that Redis answers within callTimeout is answered, and not refused.
const laterCalls = 64

// caller waits for the answer to its request. It is part of each request.
type caller struct {
	ctx  context.Context // to drop callers that went away
	done chan struct{}
	err  error
	// later: all other requests go first. While too many wait, the oldest later request is refused.
	later bool
}

func (c *caller) waits() *caller { return c }

// batch gathers requests that can travel together: those of one zone, or of one
// partition of limits. When no call is under way a request is sent at once; those that
// come meanwhile travel together in the next call. Batches have nothing in common
// but the connections.
type batch[R interface{ waits() *caller }] struct {
	store *Store
	// send makes one call, and gives each its answer or its error. An error that
	// it returns is that of all.
	send func(ctx context.Context, requests []R) error
	// most is how many travel in one call.
	most int
	// maxPending is how many requests may wait for a call, of the later ones laterCalls calls' worth. With one more, the
	// oldest gets the error full at once: it would time out.
	maxPending int
	full       error
	// seconds gets how long a call took.
	seconds prometheus.Observer

	mu sync.Mutex
	// pending wait for a call. Requests in later wait until none are pending.
	pending, later []R
	inFlight       int
	sent           time.Time // when the latest call was
}

// do sends a request with others, and waits for its answer or for the caller's
// context. A caller that goes away is not sent if it still waits for a call.
func (b *batch[R]) do(ctx context.Context, r R) error {
	c := r.waits()
	c.ctx, c.done = ctx, make(chan struct{})
	b.mu.Lock()
	queue, most := &b.pending, b.maxPending
	if c.later {
		queue, most = &b.later, laterCalls*b.most
	}
	if len(*queue) >= most {
		b.store.metrics.overflows.Inc()
		finish((*queue)[:1], b.full)
		*queue = (*queue)[1:]
	}
	*queue = append(*queue, r)
	if b.inFlight == 0 || b.inFlight < maxInFlight && (len(b.pending)+len(b.later) >= b.most || b.stuck()) || time.Since(b.sent) > callTimeout {
		b.inFlight++
		b.store.work.Go(b.drive)
	}
	b.mu.Unlock()
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// drive sends calls until no request waits.
func (b *batch[R]) drive() {
	for requests := b.next(); requests != nil; requests = b.next() {
		ctx, cancel := context.WithTimeout(context.Background(), b.store.timeouts.batch)
		start := time.Now()
		err := b.send(ctx, requests)
		took := time.Since(start)
		b.seconds.Observe(took.Seconds())
		cancel()
		finish(requests, err)
		if err != nil && took > patience {
			finish(b.abandon(), err)
		}
	}
}

// finish gives the callers of a call its error, and wakes them.
func finish[R interface{ waits() *caller }](requests []R, err error) {
	for _, r := range requests {
		c := r.waits()
		if err != nil {
			c.err = err
		}
		close(c.done)
	}
}

// stuck reports whether all calls under way take too long. The caller holds mu.
func (b *batch[R]) stuck() bool { return time.Since(b.sent) > patience }

// abandon removes all requests from the queue, unless another call makes progress. They have waited for a call that
// timed out, and to wait for another would take longer than callers were promised.
func (b *batch[R]) abandon() (requests []R) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stuck() {
		requests = slices.Concat(b.pending, b.later)
		b.pending, b.later = nil, nil
	}
	return requests
}

// next removes the requests of the next call from the queues, the newest first: a caller that has waited long would get
// its answer too late. It drops the requests of callers that went away. If no request is left, next returns nil, and the
// driver ends.
func (b *batch[R]) next() []R {
	b.mu.Lock()
	defer b.mu.Unlock()
	requests := make([]R, 0, min(b.most, len(b.pending)+len(b.later)))
	for _, queue := range []*[]R{&b.pending, &b.later} {
		for len(*queue) > 0 && len(requests) < b.most {
			last := len(*queue) - 1
			if r := (*queue)[last]; r.waits().ctx.Err() == nil {
				requests = append(requests, r)
			}
			clear((*queue)[last:])
			*queue = (*queue)[:last]
		}
	}
	if len(requests) > 0 {
		b.sent = time.Now()
		return requests
	}
	b.pending, b.later = nil, nil
	b.inFlight--
	return nil
}
