package operator

import (
	"context"
	"fmt"

	"github.com/openqueue/waitingroom/internal/observed"
	"github.com/openqueue/waitingroom/internal/steer"
)

// Observed returns what the gate of a zone that only observes would have had wait or refused, at this server. It returns a
// *serve.FieldError for a name that can be no zone's.
func (s *Service) Observed(ctx context.Context, zoneID string) (observed.List, error) {
	if _, err := s.Get(ctx, zoneID); err != nil {
		return observed.List{}, err
	}
	return s.Options.Observed.List(zoneID), nil
}

// Pilot returns what the autopilot of a zone saw and did. It returns a *serve.FieldError for a name that can be no zone's.
func (s *Service) Pilot(ctx context.Context, zoneID string) (steer.View, error) {
	is, err := s.Get(ctx, zoneID)
	if err != nil {
		return steer.View{}, err
	}
	v, err := s.Pilots.View(ctx, is)
	if err != nil {
		return steer.View{}, fmt.Errorf("operator: autopilot: %w", err)
	}
	return v, nil
}
