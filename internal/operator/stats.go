package operator

import (
	"context"
	"fmt"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Stats is a zone as an operator watches it.
type Stats struct {
	ZoneID string    `json:"zoneId"`
	Mode   zone.Mode `json:"mode"`
	// Waiting is how many are in the line; Released of them may be admitted
	// when they poll. Of those, Live are expected, and Overdue did not come
	// when told to.
	Waiting  int64 `json:"waiting"`
	Released int64 `json:"released"`
	Overdue  int64 `json:"overdue"`
	Live     int64 `json:"live"`
	// AdmittedInWindow is how many were let in within the last window, of at
	// most WindowLimit (Burst apart); after a loss of the store's data it
	// includes those that may have been lost.
	AdmittedInWindow int64 `json:"admittedInWindow"`
	WindowLimit      int64 `json:"windowLimit"`
	// AdmittedInMinute is how many were let in within the last 60 s, of at
	// most PerMinute.
	AdmittedInMinute int64 `json:"admittedInMinute"`
	PerMinute        int64 `json:"perMinute"`
	// WindowUse is AdmittedInWindow of WindowLimit, from 0 to 1: a burst is
	// not shown above 1. Of a limit of 0 it is 0.
	WindowUse float64 `json:"windowUse"`
	// EstimatedWait is that of one who joins now, in milliseconds.
	EstimatedWait int64 `json:"estimatedWait"`
	// Totals count since the zone's data began.
	Totals line.Totals `json:"totals"`
}

// Stats returns the state of one zone at this moment. It returns a
// *answer.FieldError for a name that can be no zone's.
func (s *Service) Stats(ctx context.Context, zoneID string) (Stats, error) {
	if err := answer.CheckZoneID(zoneID); err != nil {
		return Stats{}, err
	}
	settings, err := s.store.Zone(ctx, zoneID)
	if err != nil {
		return Stats{}, fmt.Errorf("operator: stats: %w", err)
	}
	stats, err := s.store.Stats(ctx, zoneID)
	if err != nil {
		return Stats{}, fmt.Errorf("operator: stats: %w", err)
	}
	now := stats.State
	out := Stats{
		ZoneID: zoneID, Mode: settings.Mode,
		Waiting: now.Waiting, Released: now.Released, Overdue: now.Released - now.Live, Live: now.Live,
		AdmittedInWindow: now.InWindow, WindowLimit: now.WindowLimit,
		AdmittedInMinute: now.InMinute, PerMinute: settings.PerMinute,
		EstimatedWait: stats.EstimateMillis, Totals: stats.Totals,
	}
	if now.WindowLimit > 0 {
		out.WindowUse = min(1, float64(now.InWindow)/float64(now.WindowLimit))
	}
	return out, nil
}
