// Package simulate runs a crowd in virtual time through a server on a store, and measures what the server did. There are no
// sockets and no waiting: the same seed gives the same run.
//
// Visitors arrive evenly over Arrive. Each polls when told to, plus a network delay of 5 to 100 ms; or, with PollEvery,
// stubbornly at that period. A share Leave goes away silently, each at a moment drawn evenly over the wait that those who stay
// have from the same place: its position over the limit, less the share that leaves. A share Dark is silent once for DarkFor,
// as a phone in a tunnel or in a pocket, and comes back.
//
// The simulator judges by what it knows itself: who has left, when each was admitted, who came first. Package measure works
// out the figures of Report. PlayEvent plays an event of a zone: people gather, it opens, and all are admitted. Both go
// through what serves: a server's zones and its schedule of events.
package simulate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/openqueue/waitingroom/internal/embedded"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/pilot"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// ErrConfig is wrapped by the error for a configuration that makes no sense.
var ErrConfig = errors.New("simulate: invalid configuration")

// Config of a run.
type Config struct {
	// Visitors is how many come, 1 to 5,000,000.
	Visitors int
	// Arrive is the span over which they come.
	Arrive time.Duration
	// Arrivals are the minutes, since the beginning, in which each of Visitors comes, at a random moment of it. Nil: over Arrive.
	Arrivals []time.Duration
	// Zone is the zone they come to. Event names the event of its list that PlayEvent plays; "": the first to open.
	Zone  zone.Settings
	Event string
	// Stay is how long a visitor stays inside a zone with a cap, in the mean; Done is the share of those who go that the shop
	// reports, 0 to 1. The slots of the others come back when their sessions are over.
	Stay time.Duration
	Done float64
	// Site is what is behind the zone, as a model; without AtOnce there is none. The zone's autopilot steers by it.
	Site pilot.Site
	// Leave and Dark are shares, 0 to 1.
	Leave, Dark float64
	// DarkFor is for how long the dark are silent at least and at most; empty: for 5 to 50 s.
	DarkFor []time.Duration
	// Changes are an operator's, in order.
	Changes []Change
	// PollEvery is a fixed period; 0: as the server says.
	PollEvery time.Duration
	// Seed makes the run repeatable.
	Seed uint64
	// Progress, when not nil, is called at every second of virtual time since the first visitor could come, with how many
	// were admitted before. It changes nothing of the run.
	Progress func(at time.Duration, admitted int)
	// Through, when not nil, returns what the server asks in the place of the store.
	Through func(s *embedded.Store, now func() time.Time) store.Store
}

// Change is an operator's: from At on, so many may enter in any 60 s.
type Change struct {
	At        time.Duration
	PerMinute int64
}

// Validate reports what is out of range.
func (c Config) Validate() error {
	switch {
	case c.PollEvery != 0 && (c.PollEvery < 100*time.Millisecond || c.PollEvery > time.Hour):
		return fmt.Errorf("%w: the polling period must be between 100ms and 1h", ErrConfig)
	case len(c.Changes) > 0 && c.Changes[len(c.Changes)-1].PerMinute < 1:
		return fmt.Errorf("%w: the last limit must be at least 1, or some are never admitted", ErrConfig)
	case c.Zone.PerMinute < 1:
		return fmt.Errorf("%w: perMinute must be at least 1, or nobody is ever admitted", ErrConfig)
	}
	if err := c.checkCrowd(c.Zone); err != nil {
		return err
	}
	return c.Zone.Validate()
}

// checkCrowd reports what is out of range of a crowd in a zone with these settings.
func (c Config) checkCrowd(z zone.Settings) error {
	switch {
	case c.Visitors < 1 || c.Visitors > maxVisitors:
		return fmt.Errorf("%w: visitors must be between 1 and 5,000,000", ErrConfig)
	case c.Arrive < 0 || c.Arrive > 24*time.Hour:
		return fmt.Errorf("%w: arrive must be between 0 and 24h", ErrConfig)
	case c.Leave < 0 || c.Leave > 1 || c.Dark < 0 || c.Dark > 1 || c.Done < 0 || c.Done > 1:
		return fmt.Errorf("%w: leave, dark and done are percentages between 0 and 100", ErrConfig)
	case len(c.DarkFor) > 0 && (len(c.DarkFor) != 2 || c.DarkFor[0] < 0 || c.DarkFor[0] >= c.DarkFor[1] || c.DarkFor[1] > 24*time.Hour):
		return fmt.Errorf("%w: the dark are silent for two durations, the shorter one first, of at most 24h", ErrConfig)
	case c.Site.AtOnce > 0 && z.MaxInside == 0:
		return fmt.Errorf("%w: a site needs a zone with maxInside, or with pilot=steer and pilotMax", ErrConfig)
	case z.MaxInside > 0 && (c.Stay < time.Second || c.Stay > 24*time.Hour):
		return fmt.Errorf("%w: stay must be between 1s and 24h", ErrConfig)
	}
	return nil
}

// maxSample is of how many visitors the estimates are kept: of a crowd of
// millions they would fill gigabytes.
const maxSample = 100_000

// run is a simulation under way.
type run struct {
	*crowd
	cfg Config
}

// Run runs the crowd until everybody is in or gone.
func Run(ctx context.Context, cfg Config) (Report, error) {
	if cfg.Zone.Pilot == zone.PilotSteer && cfg.Zone.MaxInside == 0 {
		cfg.Zone.MaxInside = cfg.Zone.PilotMax
	}
	if err := cfg.Validate(); err != nil {
		return Report{}, err
	}
	r := &run{newCrowd(cfg.Seed, cfg.Zone, beginning), cfg}
	r.next = r.silent
	if len(cfg.DarkFor) == 0 {
		r.cfg.DarkFor = []time.Duration{5 * time.Second, 50 * time.Second}
	}
	if err := r.serves(nil, cfg.Through); err != nil {
		return Report{}, err
	}
	r.enters(r.start, cfg.Zone, cfg.Stay, cfg.Done)
	r.stands(cfg.Site)
	r.populate()
	for _, change := range cfg.Changes {
		r.every(r.start+change.At.Microseconds(), 0, func(ctx context.Context) error {
			r.zone.PerMinute = change.PerMinute
			return r.put(ctx, r.zone)
		})
	}
	if cfg.Progress != nil {
		r.every(r.start, time.Second, func(context.Context) error {
			cfg.Progress((time.Duration(r.now-r.start) * time.Microsecond).Truncate(time.Second), len(r.admitted))
			return nil
		})
	}
	if err := errors.Join(r.play(ctx), r.stop()); err != nil {
		return Report{}, fmt.Errorf("simulate: %w", err)
	}
	out := r.report(window.RatesOf(cfg.Zone), r.start)
	if len(cfg.Changes) > 0 {
		out.CapacityUsed = -1
	}
	return out, nil
}

// sampled says whether the estimates of the i-th of n visitors are kept, as those of at most maxSample are.
func sampled(i, n int) bool { return i%((n+maxSample-1)/maxSample) == 0 }

func (r *run) populate() {
	for i := range r.cfg.Visitors {
		v := visitor{goesDark: never, sampled: sampled(i, r.cfg.Visitors), leaves: r.rng.Float64() < r.cfg.Leave}
		if r.rng.Float64() < r.cfg.Dark {
			v.goesDark, v.late = r.rng.Float64(), true
		}
		from, within := time.Duration(0), r.cfg.Arrive
		if r.cfg.Arrivals != nil {
			from, within = r.cfg.Arrivals[i], time.Minute
		}
		r.comes(r.start+from.Microseconds()+int64(r.rng.Float64()*float64(within.Microseconds())), v)
	}
}

// silent is how long one who was told to wait is silent from now on. The first time it decides, too, when it leaves.
func (r *run) silent(v *visitor, a line.Told) time.Duration {
	if v.leaves {
		wait := float64(a.Position) / float64(r.cfg.Zone.PerMinute) * float64(time.Minute.Microseconds()) * (1 - r.cfg.Leave)
		v.leaves, v.leavesAt = false, r.now+int64(r.rng.Float64()*wait)+1
	}
	wait := time.Duration(a.PeriodMillis) * time.Millisecond
	if r.cfg.PollEvery > 0 {
		wait = r.cfg.PollEvery
	}
	waited := float64(r.now-v.joined) / 1000
	if waited/(waited+float64(a.EstimateMillis)+1) >= v.goesDark {
		v.goesDark = never
		wait = max(wait, r.cfg.DarkFor[0]+time.Duration(r.rng.Int64N(int64(r.cfg.DarkFor[1]-r.cfg.DarkFor[0]))))
		if v.away = wait > r.zone.IdleTimeout(); v.away {
			r.note(-1)
		}
	}
	return wait
}
