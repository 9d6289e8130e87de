package operator

import (
	"context"
	"errors"
	"fmt"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// ErrExists: there is a zone of that name already. Nothing was changed.
var ErrExists = errors.New("operator: zone exists")

// Create makes a zone, and never sets one that is there: it returns ErrExists.
// Of two who create the same one within a millisecond, both are told that they
// did; the record of changes tells who was later. It returns an error that wraps
// zone.ErrInvalid before the store is asked.
func (s *Service) Create(ctx context.Context, settings zone.Settings, by string) error {
	if err := settings.Validate(); err != nil {
		return fmt.Errorf("operator: create zone: %w", err)
	}
	switch _, err := s.store.Zone(ctx, settings.ZoneID); {
	case err == nil:
		return ErrExists
	case !errors.Is(err, line.ErrZoneUnknown) && !errors.Is(err, line.ErrZoneDeleted):
		return fmt.Errorf("operator: create zone: %w", err)
	}
	created, err := s.store.PutZone(ctx, settings, nil, by)
	if err != nil {
		return fmt.Errorf("operator: create zone: %w", err)
	}
	s.log.InfoContext(ctx, "zone put", "zone", settings.ZoneID, "created", created, "by", by, "settings", settings)
	return nil
}

// Replace sets a zone from what the caller saw to something else. If it is not
// what the caller saw, nothing is changed: it returns line.ErrZoneChanged. It
// returns an error that wraps zone.ErrInvalid before the store is asked.
func (s *Service) Replace(ctx context.Context, was, now zone.Settings, by string) error {
	if err := now.Validate(); err != nil {
		return fmt.Errorf("operator: replace zone: %w", err)
	}
	if _, err := s.store.PutZone(ctx, now, &was, by); err != nil {
		return fmt.Errorf("operator: replace zone: %w", err)
	}
	s.log.InfoContext(ctx, "zone patched", "zone", now.ZoneID, "by", by, "was", was, "settings", now)
	return nil
}
