package metric

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Calls is everything that the server asks of a store.
type Calls interface {
	LineCalls
	ZoneCalls
	Ping(ctx context.Context) error
}

// LineCalls are about a zone's line.
type LineCalls interface {
	Join(ctx context.Context, zoneID string, id line.ID, former ...line.ID) (line.Answer, error)
	Poll(ctx context.Context, zoneID string, p line.Place) (line.Answer, error)
	Leave(ctx context.Context, zoneID string, p line.Place) error
	Stats(ctx context.Context, zoneID string) (line.Stats, error)
	Sweep(ctx context.Context, zoneID, owner string, cursor uint64) (line.Sweep, error)
	Recall(ctx context.Context, zoneID string, departed []line.Departure) error
}

// ZoneCalls are about zones.
type ZoneCalls interface {
	Zones(ctx context.Context) ([]zone.Settings, error)
	Zone(ctx context.Context, zoneID string) (zone.Settings, error)
	PutZone(ctx context.Context, s zone.Settings, was *zone.Settings, by string) (created bool, err error)
	RestoreZone(ctx context.Context, s zone.Settings, m line.Memory) error
	DeleteZone(ctx context.Context, zoneID, by string) error
	Changes(ctx context.Context, zoneID string) ([]zone.Change, error)
}

// Store is a store whose calls are measured. It changes no answer.
type Store struct {
	next    Calls
	metrics *Metrics

	join, poll, leave, stats, sweep, recall                       callMeter
	zones, zone, putZone, restoreZone, deleteZone, changes, pings callMeter
}

// callMeter holds the series of one kind of call.
type callMeter struct {
	now      func() time.Time
	seconds  prometheus.Observer
	failures prometheus.Counter
}

// Measure returns next with all its calls measured. To be called once.
func (m *Metrics) Measure(next Calls) *Store {
	call := func(name string) callMeter {
		return callMeter{
			now: m.now, seconds: m.calls.WithLabelValues(name), failures: m.failures.WithLabelValues(name),
		}
	}
	return &Store{
		next: next, metrics: m,
		join: call("join"), poll: call("poll"), leave: call("leave"), stats: call("stats"), sweep: call("sweep"), recall: call("recall"),
		zones: call("zones"), zone: call("zone"), putZone: call("put_zone"),
		restoreZone: call("restore_zone"), deleteZone: call("delete_zone"), changes: call("changes"), pings: call("ping"),
	}
}

// done records a call that began at start. A zone that is not there, or not as
// expected, is an answer, and so is that this server must not serve it; anything else
// is a failure.
func (c *callMeter) done(start time.Time, err error) {
	c.seconds.Observe(c.now().Sub(start).Seconds())
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, line.ErrZoneUnknown) &&
		!errors.Is(err, line.ErrZoneDeleted) && !errors.Is(err, line.ErrZoneChanged) &&
		!errors.Is(err, line.ErrFormat) && !errors.Is(err, line.ErrSecrets) {
		c.failures.Inc()
	}
}

// heard takes in what an answer says of one visitor.
func (s *Store) heard(zoneID string, a *line.Answer) {
	switch a.Status {
	default: // of the others, nothing is to be learned
	case line.Waiting:
		s.metrics.Gave(zoneID, a.Place.ID, time.Duration(a.EstimateMillis)*time.Millisecond,
			time.UnixMilli(a.State.NowMillis))
	case line.Admitted:
		s.metrics.Admitted(zoneID, a.Place.ID, time.UnixMilli(a.AdmittedAtMillis))
	}
	if a.Restored {
		s.metrics.meter(zoneID).restored.Inc()
	}
}

// Join takes a place.
func (s *Store) Join(ctx context.Context, zoneID string, id line.ID, former ...line.ID) (line.Answer, error) {
	start := s.join.now()
	a, err := s.next.Join(ctx, zoneID, id, former...)
	s.join.done(start, err)
	if err == nil {
		s.heard(zoneID, &a)
	}
	return a, err
}

// Poll polls a place.
func (s *Store) Poll(ctx context.Context, zoneID string, p line.Place) (line.Answer, error) {
	start := s.poll.now()
	a, err := s.next.Poll(ctx, zoneID, p)
	s.poll.done(start, err)
	if err == nil {
		s.heard(zoneID, &a)
	}
	return a, err
}

// Leave gives a place up.
func (s *Store) Leave(ctx context.Context, zoneID string, p line.Place) error {
	start := s.leave.now()
	err := s.next.Leave(ctx, zoneID, p)
	s.leave.done(start, err)
	return err
}

// Stats describes a zone's line.
func (s *Store) Stats(ctx context.Context, zoneID string) (line.Stats, error) {
	start := s.stats.now()
	stats, err := s.next.Stats(ctx, zoneID)
	s.stats.done(start, err)
	if err == nil {
		// The store said it in between, as far as is known half-way.
		end := s.stats.now()
		half := start.Add(end.Sub(start) / 2)
		s.metrics.meter(zoneID).clock.Set(time.UnixMilli(stats.State.NowMillis).Sub(half).Seconds())
	}
	return stats, err
}

// Sweep removes one batch of idle visitors.
func (s *Store) Sweep(ctx context.Context, zoneID, owner string, cursor uint64) (line.Sweep, error) {
	start := s.sweep.now()
	batch, err := s.next.Sweep(ctx, zoneID, owner, cursor)
	s.sweep.done(start, err)
	return batch, err
}

// Recall takes in departures that the store may have lost.
func (s *Store) Recall(ctx context.Context, zoneID string, departed []line.Departure) error {
	start := s.recall.now()
	err := s.next.Recall(ctx, zoneID, departed)
	s.recall.done(start, err)
	return err
}

// Zones lists all zones.
func (s *Store) Zones(ctx context.Context) ([]zone.Settings, error) {
	start := s.zones.now()
	all, err := s.next.Zones(ctx)
	s.zones.done(start, err)
	return all, err
}

// Zone returns a zone's settings.
func (s *Store) Zone(ctx context.Context, zoneID string) (zone.Settings, error) {
	start := s.zone.now()
	settings, err := s.next.Zone(ctx, zoneID)
	s.zone.done(start, err)
	return settings, err
}

// PutZone creates or changes a zone.
func (s *Store) PutZone(ctx context.Context, settings zone.Settings, was *zone.Settings, by string) (bool, error) {
	start := s.putZone.now()
	created, err := s.next.PutZone(ctx, settings, was, by)
	s.putZone.done(start, err)
	return created, err
}

// RestoreZone puts back a zone that the store lost.
func (s *Store) RestoreZone(ctx context.Context, settings zone.Settings, m line.Memory) error {
	start := s.restoreZone.now()
	err := s.next.RestoreZone(ctx, settings, m)
	s.restoreZone.done(start, err)
	return err
}

// DeleteZone deletes a zone.
func (s *Store) DeleteZone(ctx context.Context, zoneID, by string) error {
	start := s.deleteZone.now()
	err := s.next.DeleteZone(ctx, zoneID, by)
	s.deleteZone.done(start, err)
	return err
}

// Changes lists the changes of a zone, or of all.
func (s *Store) Changes(ctx context.Context, zoneID string) ([]zone.Change, error) {
	start := s.changes.now()
	all, err := s.next.Changes(ctx, zoneID)
	s.changes.done(start, err)
	return all, err
}

// Ping asks whether the store is there.
func (s *Store) Ping(ctx context.Context) error {
	start := s.pings.now()
	err := s.next.Ping(ctx)
	s.pings.done(start, err)
	return err
}
