package embedded

import (
	"context"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/store"
)

// Credentials implements store.Keeper.
func (s *Store) Credentials(context.Context) (store.Document, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.credentials, nil
}

// PutCredentials implements store.Keeper. NotKept says whether they are on the disk.
func (s *Store) PutCredentials(_ context.Context, d store.Document, was int64, events ...audit.Event) error {
	return s.change(func() (bool, error) {
		if s.credentials == d {
			return false, nil
		}
		if s.credentials.Version != was {
			return false, store.ErrDocumentChanged
		}
		events, refusals := audit.SplitRefusals(events)
		for name, some := range map[string][]audit.Event{audit.Operators: events, audit.Refusals: refusals} {
			if len(some) == 0 {
				continue
			}
			if err := s.note(name, audit.Batch[audit.Event]{Changes: some}); err != nil {
				return false, err
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.credentials = d
		return true, nil
	})
}
