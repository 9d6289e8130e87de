package lua

import (
	"context"
	"sync"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
)

const (
	// maxBatch is how many visitors travel in one call: past 256 the fixed
	// cost of a call is below 2 % of it, and its time stays near 2 ms.
	maxBatch = 256
	// maxInFlight is how many calls of one zone are under way: one that
	// Redis works on, and one on the wire; or one whose reply seems lost, and
	// one that goes on without it.
	maxInFlight = 2
	// maxPending is how many visitors of a zone wait for a call. It is half
	// a second's work for one Redis: whoever comes on top would time out,
	// and is better told so at once.
	maxPending = 50_000
)

// ask is one visitor's request, waiting for its answer.
type ask struct {
	op    op
	place line.Place      // of one who polls or leaves
	what  string          // of the others: an argument of visit.lua
	ctx   context.Context // the caller's, to drop those that went away
	done  chan struct{}

	// glance: the answer is worked out already, and good if the visitor is in
	// the line.
	glance bool
	answer line.Answer
	stats  line.Totals
	waits  []int64
	err    error
}

// batch gathers the requests of one zone. When no call is under way a request
// is sent at once; those that come meanwhile travel together in the next call.
// Zones have nothing in common but the connections.
type batch struct {
	zoneID string
	keys   []string
	view   view

	mu       sync.Mutex
	pending  []*ask
	inFlight int
	sent     time.Time // when the latest call was
}

func (s *Store) batch(zoneID string) *batch {
	s.mu.RLock()
	b := s.batches[zoneID]
	s.mu.RUnlock()
	if b != nil {
		return b
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b = s.batches[zoneID]; b == nil {
		b = &batch{zoneID: zoneID, keys: s.keys(zoneID)}
		s.batches[zoneID] = b
	}
	return b
}

// do sends a request with others, and waits for its answer or for the caller's
// context. A caller that goes away is not sent if it still waits for a call.
func (s *Store) do(ctx context.Context, zoneID string, a *ask) error {
	a.ctx, a.done = ctx, make(chan struct{})
	b := s.batch(zoneID)
	b.mu.Lock()
	if len(b.pending) >= maxPending {
		b.mu.Unlock()
		s.metrics.overflows.Inc()
		return line.ErrStoreUnavailable
	}
	b.pending = append(b.pending, a)
	start := b.inFlight == 0 ||
		b.inFlight < maxInFlight && (len(b.pending) >= maxBatch || b.stuck())
	if start {
		b.inFlight++
		s.work.Add(1)
	}
	b.mu.Unlock()
	if start {
		go s.drive(b)
	}
	select {
	case <-a.done:
		return a.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// drive sends calls until nobody waits.
func (s *Store) drive(b *batch) {
	defer s.work.Done()
	for {
		asks := b.take()
		if asks == nil {
			return
		}
		s.metrics.batch.Observe(float64(len(asks)))
		ctx, cancel := context.WithTimeout(context.Background(), s.timeouts.call)
		start := time.Now()
		err := s.visit(ctx, b, asks)
		took := time.Since(start)
		s.metrics.seconds.WithLabelValues("visit").Observe(took.Seconds())
		cancel()
		finish(asks, err)
		if err != nil && took > patience {
			finish(b.abandon(), err)
		}
	}
}

// finish tells those of a call how it ended.
func finish(asks []*ask, err error) {
	for _, a := range asks {
		if err != nil {
			a.err = err
		}
		close(a.done)
	}
}

// stuck reports whether all calls under way take too long. The caller holds mu.
func (b *batch) stuck() bool { return time.Since(b.sent) > patience }

// abandon removes everybody from the queue, unless another call makes progress:
// they have waited for one that timed out, and one more is more than they were
// promised to wait.
func (b *batch) abandon() []*ask {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.stuck() {
		return nil
	}
	asks := b.pending
	b.pending = nil
	return asks
}

// take removes the next batch from the queue, without those who went away. Nil
// ends the call's turn.
func (b *batch) take() []*ask {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.pending) > 0 {
		n := min(maxBatch, len(b.pending))
		asks := make([]*ask, 0, n)
		for _, a := range b.pending[:n] {
			if a.ctx.Err() == nil {
				asks = append(asks, a)
			}
		}
		clear(b.pending[:n])
		b.pending = b.pending[n:]
		if len(asks) > 0 {
			b.sent = time.Now()
			return asks
		}
	}
	b.pending = nil
	b.inFlight--
	return nil
}
