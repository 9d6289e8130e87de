package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/watch"
	"github.com/openqueue/waitingroom/internal/zone"
)

// ErrConflict: others changed the zone each time that this change was about to
// be made. Nothing was changed; it can be sent again.
var ErrConflict = errors.New("operator: zone is being changed by others")

// maxTries bounds a Patch. Operators are people: whoever loses five times in a
// row has met a script, and should know.
const maxTries = 5

// Store is what this room asks of a store.
type Store interface {
	store.Viewer
	store.Editor
}

// Seen is what was sampled of the zones: the watch.
type Seen interface {
	// Latest is the newest sample of a zone, if there is one.
	Latest(zoneID string) (watch.Sample, bool)
	// History is the last hour of a zone, oldest first.
	History(zoneID string) []watch.Sample
}

// Service manages zones. It is safe for concurrent use. Besides the errors that
// its methods name, each may return one of the store.
type Service struct {
	store Store
	seen  Seen
	log   *slog.Logger
	// forecasting: one forecast is being made.
	forecasting atomic.Bool
}

// New returns the room over this store, and over what was seen of it. Each change
// that was made is logged, once, with what it made of the zone.
func New(store Store, seen Seen, log *slog.Logger) *Service {
	return &Service{store: store, seen: seen, log: log}
}

// List returns the settings of all zones, in the order of their names.
func (s *Service) List(ctx context.Context) ([]zone.Settings, error) {
	zones, err := s.store.Zones(ctx)
	if err != nil {
		return nil, fmt.Errorf("operator: list zones: %w", err)
	}
	slices.SortFunc(zones, func(a, b zone.Settings) int { return cmp.Compare(a.ZoneID, b.ZoneID) })
	return zones, nil
}

// Get returns the settings of one zone. It returns a *serve.FieldError for a
// name that can be no zone's.
func (s *Service) Get(ctx context.Context, zoneID string) (zone.Settings, error) {
	if err := answer.CheckZoneID(zoneID); err != nil {
		return zone.Settings{}, err
	}
	settings, err := s.store.Zone(ctx, zoneID)
	if err != nil {
		return zone.Settings{}, fmt.Errorf("operator: get zone: %w", err)
	}
	return settings, nil
}

// Put creates the zone, or sets all of its settings: to what the JSON object
// body says, and to the defaults where it says nothing. It reports whether it
// created the zone. The record of changes says that it was done by the one of
// that name. It returns a *serve.FieldError or a *serve.InvalidError before the store
// is asked.
func (s *Service) Put(ctx context.Context, zoneID string, body []byte, by string) (zone.Settings, bool, error) {
	return s.put(ctx, zoneID, body, by, nil)
}

// put is Put, unless the zone is not as it was; nil is whatever it was.
func (s *Service) put(ctx context.Context, zoneID string, body []byte, by string, was *zone.Settings) (zone.Settings, bool, error) {
	if err := answer.CheckZoneID(zoneID); err != nil {
		return zone.Settings{}, false, err
	}
	settings, err := change(zone.Defaults(zoneID), body)
	if err != nil {
		return zone.Settings{}, false, err
	}
	created, err := s.store.PutZone(ctx, settings, was, by)
	if err != nil {
		return zone.Settings{}, false, fmt.Errorf("operator: put zone: %w", err)
	}
	s.log.InfoContext(ctx, "zone put", "zone", zoneID, "created", created, "by", by, "settings", settings)
	return settings, created, nil
}

// Patch sets those settings of a zone that the JSON object body names, and
// leaves the others as they are, also when somebody else changes them at the
// same moment. It returns a *serve.FieldError, a *serve.InvalidError or ErrConflict
// with nothing changed.
func (s *Service) Patch(ctx context.Context, zoneID string, body []byte, by string) (zone.Settings, error) {
	return s.PatchIf(ctx, zoneID, body, by, serve.Condition{})
}

// PatchIf is Patch under a condition: that it holds is seen in the same moment
// as the change is made. Where it does not, the error is ErrPrecondition.
func (s *Service) PatchIf(ctx context.Context, zoneID string, body []byte, by string, only serve.Condition) (zone.Settings, error) {
	if err := answer.CheckZoneID(zoneID); err != nil {
		return zone.Settings{}, err
	}
	for range maxTries {
		was, err := s.store.Zone(ctx, zoneID)
		if err != nil {
			return zone.Settings{}, fmt.Errorf("operator: patch zone: %w", err)
		}
		if !allows(only, &was) {
			return zone.Settings{}, ErrPrecondition
		}
		settings, err := change(was, body)
		if err != nil {
			return zone.Settings{}, err
		}
		_, err = s.store.PutZone(ctx, settings, &was, by)
		if errors.Is(err, line.ErrZoneChanged) {
			continue
		}
		if err != nil {
			return zone.Settings{}, fmt.Errorf("operator: patch zone: %w", err)
		}
		s.log.InfoContext(ctx, "zone patched", "zone", zoneID, "by", by, "was", was, "settings", settings)
		return settings, nil
	}
	return zone.Settings{}, ErrConflict
}

// Delete removes the zone and everybody's place in it. A second call says that
// there is no such zone (line.ErrZoneUnknown or line.ErrZoneDeleted).
func (s *Service) Delete(ctx context.Context, zoneID, by string) error {
	if err := answer.CheckZoneID(zoneID); err != nil {
		return err
	}
	if err := s.store.DeleteZone(ctx, zoneID, by); err != nil {
		return fmt.Errorf("operator: delete zone: %w", err)
	}
	s.log.InfoContext(ctx, "zone deleted", "zone", zoneID, "by", by)
	return nil
}
