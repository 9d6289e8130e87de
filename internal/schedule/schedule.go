package schedule

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve/background"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

// every is how often a server looks which steps are due. A step must be made within a second of its time.
const every = 250 * time.Millisecond

// warnEvery is how often the log says that something fails: each look would say it else.
const warnEvery = time.Minute

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
	Zones  *zones.Zones
	Seeds  Seeds
	Meter  Meter
	Logger *slog.Logger
}

// Schedule makes the steps of events. It is safe for concurrent use.
type Schedule struct {
	Options

	mu sync.Mutex
	// lists are the lists of draws that this server remembers, by nonce. So a store that loses one gets the same back. The
	// line could not give it back: visitors who were admitted are not in it any more.
	lists map[string]*list
	// warned bounds, by what is done and the zone, how often the log says that it fails.
	warned map[string]*rate.Sometimes
	// busy has what is being done in the background, by what it is and the zone.
	busy sync.Map

	background background.Group
}

// New returns a Schedule. Call Start before use and Stop after.
func New(o Options) *Schedule {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Schedule{Options: o, lists: make(map[string]*list), warned: make(map[string]*rate.Sometimes)}
}

// task is what is done in a zone again and again.
type task struct {
	name string
	do   func(*Schedule, context.Context, zone.Settings) error
}

// tasks do not wait for one another, in one zone or in several: a list of a million tickets takes seconds, and each zone
// may lie on another node.
var tasks = []task{{"a step", (*Schedule).look}, {"the list of a draw", (*Schedule).publish}}

// Start makes steps and publishes lists in the background until Stop.
func (s *Schedule) Start(ctx context.Context) {
	s.background.Start(ctx, background.Every(every, func(ctx context.Context) {
		s.each(ctx, func(t task, z zone.Settings) {
			if _, already := s.busy.LoadOrStore(t.name+z.ZoneID, true); already {
				return
			}
			s.background.Go(func() {
				defer s.busy.Delete(t.name + z.ZoneID)
				s.log(ctx, z.ZoneID, t.name, t.do(s, ctx, z))
			})
		})
	}))
}

// Stop ends what Start began, and waits for it.
func (s *Schedule) Stop() { s.background.Stop() }

// RunOnce does once what Start has done again and again: it makes one step in each zone in which one is due, and writes
// the lists that the store should have.
func (s *Schedule) RunOnce(ctx context.Context) {
	s.each(ctx, func(t task, z zone.Settings) { s.log(ctx, z.ZoneID, t.name, t.do(s, ctx, z)) })
}

// each calls do with each task in each zone that has events, and forgets the lists of draws that no zone has any more.
func (s *Schedule) each(ctx context.Context, do func(t task, z zone.Settings)) {
	zones, err := s.Zones.Zones(ctx)
	if err != nil {
		return // the log of package zones says why
	}
	draws := make(map[string]bool)
	for _, z := range zones {
		for _, d := range z.EventState.Draws {
			draws[d.Nonce] = true
		}
		if len(z.Events) == 0 && z.EventState.IsZero() {
			continue
		}
		for _, t := range tasks {
			do(t, z)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.lists, func(nonce string, _ *list) bool { return !draws[nonce] })
}

// log says that something fails, once in a while.
func (s *Schedule) log(ctx context.Context, zoneID, what string, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	warned := s.warned[what+zoneID]
	if warned == nil {
		warned = &rate.Sometimes{Interval: warnEvery}
		s.warned[what+zoneID] = warned
	}
	s.mu.Unlock()
	warned.Do(func() {
		s.Logger.Warn("what is due of an event cannot be done yet, and is tried again until it can", "zone", zoneID, "what", what, "error", err)
	})
}

// look makes the step that is due in a zone, if there is one. It asks the store for the time only if a step is due, or is
// about to be, by the reckoned clock: so no step is made too early.
func (s *Schedule) look(ctx context.Context, z zone.Settings) error {
	commit := func(string) (nonce, commitment string) { return s.Seeds.Commit(z.ZoneID) }
	if reckoned := s.Zones.NowMillis(z.ZoneID); reckoned > 0 {
		if _, _, soon := z.Due(time.UnixMilli(reckoned).Add(every), commit); !soon {
			return nil
		}
	}
	stats, err := s.Zones.Stats(ctx, z.ZoneID)
	if err != nil {
		return err
	}
	nowMillis := stats.State.NowMillis
	next, name, due := z.Due(time.UnixMilli(nowMillis), commit)
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
