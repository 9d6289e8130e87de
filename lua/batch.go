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

// request is what a batch gathers.
type request interface{ waits() *caller }

// batch gathers requests that can travel together: those of one zone, or of one
// partition of limits. When no call is under way a request is sent at once; those that
// come meanwhile travel together in the next call. Batches have nothing in common
// but the connections.
type batch[R request] struct {
	terms[R]

	mu       sync.Mutex
	pending  []R
	inFlight int
	sent     time.Time // when the latest call was
}

// terms are how a batch is sent.
type terms[R request] struct {
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
}

// do sends a request with others, and waits for its answer or for the caller's
// context. A caller that goes away is not sent if it still waits for a call.
func do[R request](ctx context.Context, s *Store, b *batch[R], r R) error {
	a := r.waits()
	a.ctx, a.done = ctx, make(chan struct{})
	b.mu.Lock()
	if len(b.pending) >= b.maxPending {
		b.mu.Unlock()
		s.metrics.overflows.Inc()
		return b.full
	}
	b.pending = append(b.pending, r)
	start := b.inFlight == 0 ||
		b.inFlight < maxInFlight && (len(b.pending) >= b.most || b.stuck())
	if start {
		b.inFlight++
		s.work.Add(1)
	}
	b.mu.Unlock()
	if start {
		go drive(s, b)
	}
	select {
	case <-a.done:
		return a.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// drive sends calls until nobody waits.
func drive[R request](s *Store, b *batch[R]) {
	defer s.work.Done()
	for {
		requests := b.take()
		if requests == nil {
			return
		}
		b.sizes.Observe(float64(len(requests)))
		ctx, cancel := context.WithTimeout(context.Background(), s.timeouts.call)
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
func finish[R request](requests []R, err error) {
	for _, r := range requests {
		a := r.waits()
		if err != nil {
			a.err = err
		}
		close(a.done)
	}
}

// stuck reports whether all calls under way take too long. The caller holds mu.
func (b *batch[R]) stuck() bool { return time.Since(b.sent) > patience }

// abandon removes everybody from the queue, unless another call makes progress:
// they have waited for one that timed out, and one more is more than they were
// promised to wait.
func (b *batch[R]) abandon() []R {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.stuck() {
		return nil
	}
	requests := b.pending
	b.pending = nil
	return requests
}

// take removes the next call's requests from the queue, without those who went
// away. Nil ends the call's turn.
func (b *batch[R]) take() []R {
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
