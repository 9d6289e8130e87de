package embedded

import (
	"context"
	"slices"

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
		all := slices.Concat(events, s.operatorEvents)
		for i := range events {
			all[i].AtMillis = s.now().UnixMilli()
			s.entries++
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.credentials, s.operatorEvents = d, all[:min(len(all), audit.MaxEvents)]
		return true, nil
	})
}

// OperatorEvents implements store.Keeper.
func (s *Store) OperatorEvents(context.Context) ([]audit.Event, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.operatorEvents), nil
}
