package operator

import (
	"context"

	"github.com/openqueue/waitingroom/internal/observed"
)

// Observed returns what the gate of a zone that only observes would have had wait or refused, at this server. It returns a
// *serve.FieldError for a name that can be no zone's.
func (s *Service) Observed(ctx context.Context, zoneID string) (observed.List, error) {
	if _, err := s.Get(ctx, zoneID); err != nil {
		return observed.List{}, err
	}
	return s.Options.Observed.List(zoneID), nil
}
