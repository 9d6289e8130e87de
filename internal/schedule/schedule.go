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

// every is how often it is looked what is due: four times in the second in which a step
// must be made.
const every = 250 * time.Millisecond

// Zones is what is asked of the registry.
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

// Meter counts what is done here.
type Meter interface {
	// Step counts a step of an event that this server made so late.
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
	// writer names this server's lists.
	writer string

	// lists are what this server knows of the lists of draws, by nonce.
	lists map[string]*list

	mu sync.Mutex
	// troubled is what the log says already, by the zone and what fails there.
	troubled map[string]bool
	// looking are the zones that the background looks at.
	looking map[string]bool

	background background.Group
}

// New returns a Schedule. Call Start before use and Stop after.
func New(o Options) *Schedule {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	writer, _ := o.Seeds.Commit("")
	return &Schedule{Options: o, writer: writer, lists: make(map[string]*list), troubled: make(map[string]bool), looking: make(map[string]bool)}
}

// Start makes steps in the background until Stop, and beside them writes lists, one at a time:
// a million tickets take seconds, in which steps are due.
func (s *Schedule) Start(ctx context.Context) {
	s.background.Start(ctx, background.Every(every, s.makeAll), background.Every(every, s.publishAll))
}

// Stop ends that, and waits for it.
func (s *Schedule) Stop() { s.background.Stop() }

// RunOnce makes what is due, a step a zone, and writes what lists are not there: what Start has
// done every so often.
func (s *Schedule) RunOnce(ctx context.Context) {
	s.makeSteps(ctx)
	s.publishAll(ctx)
}

// zones are those that have events.
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
	zones, err := s.zones(ctx)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, z := range zones {
		if s.looking[z.ZoneID] {
			continue
		}
		s.looking[z.ZoneID] = true
		s.background.Go(func() {
			defer func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				delete(s.looking, z.ZoneID)
			}()
			s.log(ctx, z.ZoneID, "a step", s.look(ctx, z))
		})
	}
}

// makeSteps looks at one zone after the other.
func (s *Schedule) makeSteps(ctx context.Context) {
	zones, err := s.zones(ctx)
	if err != nil {
		return
	}
	for _, z := range zones {
		s.log(ctx, z.ZoneID, "a step", s.look(ctx, z))
	}
}

// publishAll goes on with all lists in turn until none is under way. A zone that fails is left out for
// a while: its node may hang, and each try hold up the others.
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

// look makes what is due in a zone.
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
		return nil // by another server, or an operator: looked at again
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
