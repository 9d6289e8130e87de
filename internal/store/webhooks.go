package store

import (
	"context"

	"github.com/openqueue/waitingroom/internal/line"
)

// Silent is a place that is set aside: since when on the zone's clock, and where it stood.
type Silent struct {
	ID           line.ID
	AtMillis     int64
	StandsMicros int64
}

// Webhooks is what webhooks need of a store. No method returns ErrZoneUnknown or ErrZoneDeleted.
type Webhooks interface {
	line.Documents
	// Aside calls each for every place of a zone that is set aside, in no order; for some it may call more than once. Places whose
	// time is over are among them for up to keepPlaceSeconds. It looks at all of them, in several calls of Redis: some 300 ms a
	// million. each must return at once, and call no store.
	Aside(ctx context.Context, zoneID string, each func(Silent)) error
}
