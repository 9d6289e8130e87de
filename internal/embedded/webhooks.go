package embedded

import (
	"context"

	"github.com/openqueue/waitingroom/internal/store"
)

// asideBatch is how many places that are set aside Aside looks at while it keeps others out of the zone: some 0.1 ms.
const asideBatch = 1_000

// Aside implements store.Webhooks. Others may change the maps between two batches: that the range goes on is promised by the language.
func (s *Store) Aside(ctx context.Context, zoneID string, each func(store.Silent)) error {
	q, _ := s.queue(zoneID)
	if q == nil { // nobody is in a zone that is not there
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for _, places := range q.aside.places {
		for id, its := range places {
			each(store.Silent{ID: id, AtMillis: its.atMillis, StandsMicros: its.stands})
			if n++; n%asideBatch == 0 {
				q.mu.Unlock()
				err := ctx.Err()
				q.mu.Lock()
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}
