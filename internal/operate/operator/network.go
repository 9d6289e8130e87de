package operator

import (
	"context"

	"github.com/openqueue/waitingroom/internal/network"
)

// Networks returns the networks of a zone with the most joins at this server, at most so many, 1 to MaxListed. It returns a
// *serve.FieldError for another number, and for a name that can be no zone's.
func (s *Service) Networks(ctx context.Context, zoneID string, most int) (network.List, error) {
	if err := checkMost(most); err != nil {
		return network.List{}, err
	}
	z, err := s.Get(ctx, zoneID)
	if err != nil {
		return network.List{}, err
	}
	return s.Options.Networks.List(z, most), nil
}
