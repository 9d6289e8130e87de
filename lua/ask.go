package lua

import (
	"context"

	"github.com/openqueue/waitingroom/internal/line"
)

const (
	// maxBatch is how many visitors travel in one call: past 256 the fixed
	// cost of a call is below 2 % of it, and its time stays near 2 ms.
	maxBatch = 256
	// maxPending is how many visitors of a zone wait for a call. It is half
	// a second's work for one Redis.
	maxPending = 50_000
)

// ask is one visitor's request, waiting for its answer.
type ask struct {
	caller
	op    op
	place line.Place // of one who polls or leaves
	what  string     // of the others: an argument of visit.lua

	// glance: the answer is worked out already, and good if the visitor is in
	// the line.
	glance bool
	answer line.Answer
	stats  line.Totals
	// histogram is how long the admitted had waited.
	histogram []int64
}

// zoneBatch gathers the requests of one zone.
type zoneBatch struct {
	batch[*ask]
	zoneID string
	keys   []string
	view   view
}

func (s *Store) batch(zoneID string) *zoneBatch {
	s.mu.RLock()
	b := s.batches[zoneID]
	s.mu.RUnlock()
	if b != nil {
		return b
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b = s.batches[zoneID]; b == nil {
		b = &zoneBatch{zoneID: zoneID, keys: s.keys(zoneID)}
		b.terms = terms[*ask]{
			send: func(ctx context.Context, asks []*ask) error { return s.visit(ctx, b, asks) },
			most: maxBatch, maxPending: maxPending, full: line.ErrStoreUnavailable,
			sizes: s.metrics.batch, seconds: s.metrics.seconds.WithLabelValues("visit"),
		}
		s.batches[zoneID] = b
	}
	return b
}

func (s *Store) do(ctx context.Context, zoneID string, a *ask) error {
	return do(ctx, s, &s.batch(zoneID).batch, a)
}
