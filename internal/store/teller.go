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

// Teller says whose turn comes while the place is set aside, and keeps how far webhooks have been told. No method returns ErrZoneUnknown
// or ErrZoneDeleted.
type Teller interface {
	// Aside calls each for every place of a zone that is set aside, in no order; for some it may call more than once. Places whose
	// time is over are among them for up to keepPlaceSeconds. It looks at all of them, in several calls of Redis: some 300 ms a
	// million. each must return at once, and call no store.
	Aside(ctx context.Context, zoneID string, each func(Silent)) error
	// StandsAt returns where the visitor stands in a zone's line, in microseconds, who has so many others before: 0 or more. ok is
	// false if no more wait.
	StandsAt(ctx context.Context, zoneID string, rank int64) (micros int64, ok bool, err error)
	// Progress returns the document of a webhook by its name, up to 64 lower-case letters, digits and hyphens; the zero Document if
	// there is none.
	Progress(ctx context.Context, webhook string) (Document, error)
	// PutProgress replaces the document if its version is still was, the one that was read; else it returns ErrDocumentChanged. A
	// repeated call changes nothing. The document may have megabytes.
	PutProgress(ctx context.Context, webhook string, d Document, was int64) error
}
