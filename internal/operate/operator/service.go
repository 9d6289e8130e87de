package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/openqueue/waitingroom/internal/admissionlog/writer"
	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/limits/policyset"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/network"
	"github.com/openqueue/waitingroom/internal/observed"
	"github.com/openqueue/waitingroom/internal/operate/people"
	"github.com/openqueue/waitingroom/internal/refusal"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/steer"
	"github.com/openqueue/waitingroom/internal/watch"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

// ErrConflict: others changed the zone each time that this change was about to
// be made. Nothing was changed; it can be sent again.
var ErrConflict = refusal.New("operator: zone is being changed by others", refusal.Conflict)

// ErrPrecondition: the zone is not as the caller of a conditional change had
// seen it, or is there although it should not be. Nothing was changed.
var ErrPrecondition = refusal.New("operator: zone is not as it was seen", refusal.Precondition)

// Version names settings: see serve.Version.
// One that has its default is left out: a server that does not know it says the same.
func Version(s zone.Settings) string {
	text := []byte(s.ZoneID)
	for _, x := range zone.Table.Differences(s, zone.Defaults(s.ZoneID)) {
		text = fmt.Appendf(text, " %s=%q", x.Name, x.Text(s))
	}
	return serve.Version(text)
}

// maxTries bounds how often a change is tried while others change the zone. Operators are people: whoever loses five times
// in a row has met a script, and should know.
const maxTries = 5

// retry makes a change that begins with reading the zone. It tries again while try returns line.ErrZoneChanged, and
// returns ErrConflict after maxTries.
func retry[T any](try func() (T, error)) (T, error) {
	for range maxTries {
		made, err := try()
		if !errors.Is(err, line.ErrZoneChanged) {
			return made, err
		}
	}
	var none T
	return none, ErrConflict
}

// Service manages zones. It is safe for concurrent use. Besides the errors that
// its methods name, each may return one of the store.
type Service struct {
	Options
	// simulating is held while a report simulates other limits.
	simulating sync.Mutex
}

// Options of a Service. All but Admissions are required.
type Options struct {
	Zones *zones.Zones
	Watch *watch.Watch
	// Networks has counted the joins of each network.
	Networks *network.Shares
	// Observed keeps what the gates of zones that only observe would have refused.
	Observed *observed.Log
	// Pilots steer zones by how their sites do.
	Pilots *steer.Steer
	// Admissions is the log of admissions, nil without one; its keys are kept for as long as Keep.
	Admissions *writer.Log
	Keep       time.Duration
	// Policies and People keep records of their own: of limits, and of what is done that changes no setting.
	Policies *policyset.Set
	People   *people.Registry
	// Logger gets each change that was made, once, with what it made of the zone.
	Logger *slog.Logger
}

// New returns the service.
func New(o Options) *Service { return &Service{Options: o} }

// List returns the settings of all zones, in the order of their names.
func (s *Service) List(ctx context.Context) ([]zone.Settings, error) {
	zones, err := s.Zones.Zones(ctx)
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
	settings, err := s.Zones.Zone(ctx, zoneID)
	if err != nil {
		return zone.Settings{}, fmt.Errorf("operator: get zone: %w", err)
	}
	return settings, nil
}

// find is Get, with nil where there is no such zone.
func (s *Service) find(ctx context.Context, zoneID string) (*zone.Settings, error) {
	settings, err := s.Get(ctx, zoneID)
	switch {
	case err == nil:
		return &settings, nil
	case errors.Is(err, line.ErrZoneUnknown), errors.Is(err, line.ErrZoneDeleted):
		return nil, nil
	}
	return nil, err
}

// check returns what find does, if the condition allows to change it, else
// ErrPrecondition.
func (s *Service) check(ctx context.Context, zoneID string, only serve.Condition) (*zone.Settings, error) {
	there, err := s.find(ctx, zoneID)
	version := ""
	if there != nil {
		version = Version(*there)
	}
	if err == nil && !only.Allows(version) {
		err = ErrPrecondition
	}
	return there, err
}

// Put creates the zone, or sets all of its settings: to what the JSON object
// body says, and to the defaults where it says nothing. It reports whether it
// created the zone. The record of changes says that it was done by the one of
// that name. It returns a *serve.FieldError or a *serve.InvalidError before the
// store is asked, and ErrPrecondition where the condition does not hold. Of two
// who make the same zone at the same moment because there was none, both may be
// told that they did; the record of changes tells who was later. It returns ErrConflict as Patch does.
func (s *Service) Put(ctx context.Context, zoneID string, body []byte, by audit.By, only serve.Condition) (zone.Settings, bool, error) {
	if err := answer.CheckZoneID(zoneID); err != nil {
		return zone.Settings{}, false, err
	}
	settings, err := change(zone.Defaults(zoneID), body)
	if err != nil {
		return zone.Settings{}, false, err
	}
	created := false
	_, err = retry(func() (none struct{}, err error) {
		was, err := s.check(ctx, zoneID, only)
		if err != nil {
			return none, err
		}
		if err := s.adopt(ctx, was, &settings); err != nil {
			return none, err
		}
		if created, err = s.Zones.PutZone(ctx, settings, was, by); err != nil {
			return none, fmt.Errorf("operator: put zone: %w", err)
		}
		return none, nil
	})
	if err != nil {
		return zone.Settings{}, false, err
	}
	s.Logger.InfoContext(ctx, "zone put", "zone", settings.ZoneID, "created", created, "by", by.Who(), "settings", settings)
	return settings, created, nil
}

// Patch sets those settings of a zone that the JSON object body names, and
// leaves the others as they are, also when somebody else changes them at the
// same moment. It returns a *serve.FieldError, a *serve.InvalidError, ErrConflict
// or ErrPrecondition with nothing changed. That the condition holds is seen in the
// same moment as the change is made.
func (s *Service) Patch(ctx context.Context, zoneID string, body []byte, by audit.By, only serve.Condition) (zone.Settings, error) {
	return retry(func() (zone.Settings, error) {
		was, err := s.Get(ctx, zoneID)
		if err != nil {
			return zone.Settings{}, err
		}
		if !only.Allows(Version(was)) {
			return zone.Settings{}, ErrPrecondition
		}
		settings, err := change(was, body)
		if err != nil {
			return zone.Settings{}, err
		}
		return settings, s.Replace(ctx, was, settings, by)
	})
}

// Replace sets a zone from what the caller saw to something else. If it is not
// what the caller saw, nothing is changed: it returns line.ErrZoneChanged. It
// returns an error that wraps zone.ErrInvalid before the store is asked.
func (s *Service) Replace(ctx context.Context, was, now zone.Settings, by audit.By) error {
	if err := now.Validate(); err != nil {
		return fmt.Errorf("operator: replace zone: %w", err)
	}
	if err := s.adopt(ctx, &was, &now); err != nil {
		return err
	}
	if _, err := s.Zones.PutZone(ctx, now, &was, by); err != nil {
		return fmt.Errorf("operator: replace zone: %w", err)
	}
	s.Logger.InfoContext(ctx, "zone patched", "zone", now.ZoneID, "by", by.Who(), "was", was, "settings", now)
	return nil
}

// Delete removes the zone and everybody's place in it, if the condition holds and no event of it is fixed: else it returns
// ErrPrecondition or a *FixedError. That is looked at before, and not in the moment of the deletion. A second call says
// that there is no such zone (line.ErrZoneUnknown or line.ErrZoneDeleted).
func (s *Service) Delete(ctx context.Context, zoneID string, by audit.By, only serve.Condition) error {
	is, err := s.check(ctx, zoneID, only)
	if err != nil {
		return err
	}
	if is != nil {
		if sentence := is.EventState.Stays(zoneID); sentence != "" {
			return &FixedError{sentence}
		}
	}
	if err := s.Zones.DeleteZone(ctx, zoneID, by); err != nil {
		return fmt.Errorf("operator: delete zone: %w", err)
	}
	s.Logger.InfoContext(ctx, "zone deleted", "zone", zoneID, "by", by.Who())
	return nil
}
