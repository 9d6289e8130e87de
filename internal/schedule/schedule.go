package schedule

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve/background"
	"github.com/openqueue/waitingroom/internal/zone"
)

// every is how often a server looks which steps are due. A step must be made within a second of its time.
const every = 250 * time.Millisecond

// Zones is what a Schedule needs of the registry.
type Zones interface {
	Zones(ctx context.Context) ([]zone.Settings, error)
	Zone(ctx context.Context, zoneID string) (zone.Settings, error)
	Stats(ctx context.Context, zoneID string) (line.Stats, error)
	PutZone(ctx context.Context, s zone.Settings, was *zone.Settings, by string) (created bool, err error)
	Drawn(ctx context.Context, zoneID string, after line.Place, fromMicros, uptoMicros int64) ([]line.Place, error)
	KeepDraw(ctx context.Context, zoneID, event string, part int, text []byte) error
	Draw(ctx context.Context, zoneID, event string, part int) ([]byte, error)
}

// Seeds makes and knows the seeds of draws.
type Seeds interface {
	// Commit returns a new nonce and the commitment of its seed.
	Commit(zoneID string) (nonce, commitment string)
	// Seed returns the seed of a draw; ok is false for one that is not known.
	Seed(zoneID string, d event.Draw) (seed event.Seed, ok bool)
}

// Meter counts steps.
type Meter interface {
	// Step counts a step that this server made, and takes how late it was.
	Step(zoneID string, late time.Duration)
}

// Options of a Schedule. All but Meter and Logger are required.
type Options struct {
	Zones  Zones
	Seeds  Seeds
	Meter  Meter
	Logger *slog.Logger
}

// Schedule makes the steps of events. It is safe for concurrent use.
type Schedule struct {
	Options
	// writer names this server in the lists that it writes.
	writer string

	// lists are what this server knows of the lists of draws, by nonce.
	lists map[string]*list

	mu sync.Mutex
	// troubled has, by the zone and what fails there, what the log has said already.
	troubled map[string]bool
	// looking has the zones whose steps are being looked at in the background, by name.
	looking sync.Map

	background background.Group
}

// New returns a Schedule. Call Start before use and Stop after.
func New(o Options) *Schedule {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	writer, _ := o.Seeds.Commit("")
	return &Schedule{Options: o, writer: writer, lists: make(map[string]*list), troubled: make(map[string]bool)}
}

// Start makes steps in the background until Stop. Lists are written beside the steps, since a list of a million tickets
// takes seconds, and one at a time.
func (s *Schedule) Start(ctx context.Context) {
	s.background.Start(ctx, background.Every(every, s.makeAll), background.Every(every, s.publishAll))
}

// Stop ends that, and waits for it.
func (s *Schedule) Stop() { s.background.Stop() }

// RunOnce does once what Start has done again and again: it makes one step in each zone in which one is due, and writes
// the lists that the store should have.
func (s *Schedule) RunOnce(ctx context.Context) {
	s.makeSteps(ctx)
	s.publishAll(ctx)
}

// zones are the zones that have events; none with an error.
func (s *Schedule) zones(ctx context.Context) (all []zone.Settings, err error) {
	zones, err := s.Zones.Zones(ctx) // the registry's log says why not
	for _, z := range zones {
		if len(z.Events) > 0 || !z.EventState.IsZero() {
			all = append(all, z)
		}
	}
	return all, err
}

// makeAll begins makeSteps in all zones. They do not wait for one another: each may lie on another node.
func (s *Schedule) makeAll(ctx context.Context) {
	zones, _ := s.zones(ctx)
	for _, z := range zones {
		if _, already := s.looking.LoadOrStore(z.ZoneID, true); already {
			continue
		}
		s.background.Go(func() {
			defer s.looking.Delete(z.ZoneID)
			s.log(ctx, z.ZoneID, "a step", s.look(ctx, z))
		})
	}
}

// makeSteps looks at one zone after the other.
func (s *Schedule) makeSteps(ctx context.Context) {
	zones, _ := s.zones(ctx)
	for _, z := range zones {
		s.log(ctx, z.ZoneID, "a step", s.look(ctx, z))
	}
}

// publishAll goes on with all lists in turn until all are complete. A zone that fails is left out for a while: its Redis
// node may hang, and each attempt would hold up the other lists.
func (s *Schedule) publishAll(ctx context.Context) {
	failed := make(map[string]time.Time)
	for more := true; more && ctx.Err() == nil; {
		more = false
		zones, err := s.zones(ctx)
		if err != nil {
			return
		}
		draws := make(map[string]bool)
		for _, z := range zones {
			for _, d := range z.EventState.Draws {
				draws[d.Nonce] = true
			}
			if at, known := failed[z.ZoneID]; known && time.Since(at) < leaveOut {
				continue
			}
			goesOn, err := s.publish(ctx, z)
			s.log(ctx, z.ZoneID, "the list of a draw", err)
			if err != nil {
				failed[z.ZoneID] = time.Now()
			}
			more = more || goesOn
		}
		maps.DeleteFunc(s.lists, func(nonce string, _ *list) bool { return !draws[nonce] })
	}
}

// log says once that something fails, and once that it does not any more.
func (s *Schedule) log(ctx context.Context, zoneID, what string, err error) {
	s.mu.Lock()
	before := s.troubled[zoneID+what]
	s.troubled[zoneID+what] = err != nil
	s.mu.Unlock()
	switch {
	case err != nil && !before && ctx.Err() == nil:
		s.Logger.Warn("what is due of an event cannot be done yet, and is tried again until it can", "zone", zoneID, "what", what, "error", err)
	case err == nil && before:
		s.Logger.Info("what is due of an event is done again", "zone", zoneID, "what", what)
	}
}

// look makes the step that is due in a zone, if there is one.
func (s *Schedule) look(ctx context.Context, z zone.Settings) error {
	stats, err := s.Zones.Stats(ctx, z.ZoneID)
	if err != nil {
		return err
	}
	nowMillis := stats.State.NowMillis
	next, name, due := z.Due(time.UnixMilli(nowMillis), func(string) (nonce, commitment string) { return s.Seeds.Commit(z.ZoneID) })
	if !due {
		return nil
	}
	if _, err := s.Zones.PutZone(ctx, next, &z, zone.By(name)); errors.Is(err, line.ErrZoneChanged) {
		return nil // by another server, or an operator; the next look sees that
	} else if err != nil {
		return err
	}
	phase := event.Phase("over")
	if p := next.EventState.Now; p != nil {
		phase = p.Phase
	}
	s.Logger.Info("event", "zone", z.ZoneID, "event", name, "phase", phase)
	if s.Meter != nil {
		s.Meter.Step(z.ZoneID, time.Duration(z.EventState.LateMillis(nowMillis))*time.Millisecond)
	}
	return nil
}
