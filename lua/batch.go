package lua

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// maxInFlight is how many calls of one batch are under way: one that Redis works
// on, and one on the wire; or one whose reply seems lost, and one that goes on
// without it.
const maxInFlight = 2

// caller waits for the answer to its request. It is part of each request.
type caller struct {
	ctx  context.Context // to drop those that went away
	done chan struct{}
	err  error
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
	// maxPending is how many wait for a call. Whoever comes on top would time out,
	// and is better told so at once, with the error full.
	maxPending int
	full       error
	// sizes and seconds get how many travelled, and how long it took.
	sizes, seconds prometheus.Observer

	mu       sync.Mutex
	pending  []R
	inFlight int
	sent     time.Time // when the latest call was
}

// do sends a request with others, and waits for its answer or for the caller's
// context. A caller that goes away is not sent if it still waits for a call.
func (b *batch[R]) do(ctx context.Context, r R) error {
	c := r.waits()
	c.ctx, c.done = ctx, make(chan struct{})
	b.mu.Lock()
	if len(b.pending) >= b.maxPending {
		b.mu.Unlock()
		b.store.metrics.overflows.Inc()
		return b.full
	}
	b.pending = append(b.pending, r)
	if b.inFlight == 0 || b.inFlight < maxInFlight && (len(b.pending) >= b.most || b.stuck()) {
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

// drive sends calls until nobody waits.
func (b *batch[R]) drive() {
	for requests := b.next(); requests != nil; requests = b.next() {
		b.sizes.Observe(float64(len(requests)))
		ctx, cancel := context.WithTimeout(context.Background(), b.store.timeouts.call)
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

// finish tells those of a call how it ended.
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

// abandon removes everybody from the queue, unless another call makes progress:
// they have waited for one that timed out, and one more is more than they were
// promised to wait.
func (b *batch[R]) abandon() (requests []R) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stuck() {
		requests, b.pending = b.pending, nil
	}
	return requests
}

// next removes the next call's requests from the queue, without those who went
// away. Where nobody is left it returns nil, and the driver has ended.
func (b *batch[R]) next() []R {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.pending) > 0 {
		n := min(b.most, len(b.pending))
		requests := make([]R, 0, n)
		for _, r := range b.pending[:n] {
			if r.waits().ctx.Err() == nil {
				requests = append(requests, r)
			}
		}
		clear(b.pending[:n])
		b.pending = b.pending[n:]
		if len(requests) > 0 {
			b.sent = time.Now()
			return requests
		}
	}
	b.pending = nil
	b.inFlight--
	return nil
}
