package embedded

import (
	"context"

	"github.com/openqueue/waitingroom/internal/store"
)

// Aside implements store.Teller.
func (s *Store) Aside(_ context.Context, zoneID string, each func(store.Silent)) error {
	q, _ := s.queue(zoneID)
	if q == nil { // nobody is in a zone that is not there
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, places := range q.aside.places {
		for id, its := range places {
			each(store.Silent{ID: id, AtMillis: its.atMillis, StandsMicros: its.stands})
		}
	}
	return nil
}

// StandsAt implements store.Teller.
func (s *Store) StandsAt(_ context.Context, zoneID string, rank int64) (micros int64, ok bool, err error) {
	q, _ := s.queue(zoneID)
	if q == nil {
		return 0, false, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if rank >= int64(q.line.len()) {
		return 0, false, nil
	}
	return q.line.at(rank).arrived, true, nil
}

// Progress implements store.Teller.
func (s *Store) Progress(_ context.Context, webhook string) (store.Document, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.progress[webhook], nil
}

// PutProgress implements store.Teller. NotKept says whether it is on the disk.
func (s *Store) PutProgress(_ context.Context, webhook string, d store.Document, was int64) error {
	return s.change(func() (bool, error) {
		is := s.progress[webhook]
		if is == d {
			return false, nil
		}
		if is.Version != was {
			return false, store.ErrDocumentChanged
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.progress[webhook] = d
		return true, nil
	})
}
