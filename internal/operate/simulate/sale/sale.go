// Package sale plays an event of a zone in virtual time, with a crowd: it gathers, the event
// opens, and all are let in. There are no sockets and no waiting: the same seed gives the
// same run, but for a draw's, who stands where.
//
// What plays is what serves: the links between a visitor and the store (registry, fallback)
// and what makes the steps of events (schedule), on the embedded store, all on one virtual
// clock. Nothing of it is a model. Of the crowd it is known what no server knows: who has
// left.
//
// # The crowd
//
// Gather visitors come while people gather, and After more behind them. Each polls when told
// to, plus a network delay of 5 to 100 ms. A share Leave goes away silently, each at a
// moment drawn evenly between coming and the turn that it would have. Whoever finds the
// store away comes back when Retry-After says.
package sale

import (
	"container/heap"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/openqueue/waitingroom/internal/embedded"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/operate/simulate"
	"github.com/openqueue/waitingroom/internal/registry"
	"github.com/openqueue/waitingroom/internal/schedule"
	"github.com/openqueue/waitingroom/internal/zone"
)

// ErrConfig is wrapped by the error for a configuration that makes no sense.
var ErrConfig = errors.New("sale: invalid configuration")

// Arrival is when those come who gather.
type Arrival string

// The three ways.
const (
	// Evenly: as many each second.
	Evenly Arrival = "evenly"
	// Early: all in the first ten seconds.
	Early Arrival = "early"
	// Late: the later, the more.
	Late Arrival = "late"
)

// Arrivals are all of them.
var Arrivals = []Arrival{Evenly, Early, Late}

// Config of a run.
type Config struct {
	// Zone has the event; what else it lists is left out.
	Zone zone.Settings
	// Event is its name; "": the one that is listed to open first.
	Event string
	// Gather is how many come while people gather, 1 to 5,000,000. Where nobody gathers, or
	// preQueueAt is farther back, they come Within that time before people settle, or
	// within ten seconds of the opening.
	Gather int
	Within time.Duration
	Arrive Arrival
	// After is how many come evenly in the two minutes after people have settled.
	After int
	// Leave is the share that goes away silently, 0 to 1.
	Leave float64
	// Outage has the store be away for so long from the opening on.
	Outage time.Duration
	// Seed makes the run repeatable.
	Seed uint64
}

const (
	// DefaultWithin is how long before people settle they come.
	DefaultWithin = 10 * time.Minute
	// DefaultOutage is how long the store is away in the second run of Both: a slow fail-over.
	DefaultOutage = 20 * time.Second
	maxVisitors   = 5_000_000
	maxOutage     = 10 * time.Minute
	// lead is how long before people gather the run begins: the servers announce the event.
	lead = 10 * time.Second
	// tickEvery is how often a server looks what is due of events.
	tickEvery = 250 * time.Millisecond
	rush      = 10 * time.Second
	after     = 2 * time.Minute
	// horizon is how long after the opening a run ends, whoever still waits.
	horizon = 24 * time.Hour
	// stream tells these random numbers from others of the seed.
	stream = 0x73616c65
)

// Validate reports what is out of range.
func (c Config) Validate() error {
	fault := func(format string, a ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrConfig}, a...)...)
	}
	switch {
	case c.Gather < 1 || c.After < 0 || c.Gather+c.After > maxVisitors:
		return fault("between 1 and 5,000,000 can come")
	case c.Leave < 0 || c.Leave > 1:
		return fault("leave is a percentage between 0 and 100")
	case c.Within <= 0 || c.Within > horizon:
		return fault("those who gather must come within 1s to 24h")
	case c.Outage < 0 || c.Outage > maxOutage:
		return fault("an outage must be between 0 and 10m")
	case !slices.Contains(Arrivals, c.Arrive):
		return fault("they come evenly, early or late")
	}
	if _, err := c.zone(); err != nil {
		return err
	}
	return c.Zone.Validate()
}

// zone is the zone with nothing but the event in its list.
func (c Config) zone() (zone.Settings, error) {
	z := c.Zone
	z.EventState, z.Events = event.State{}, nil
	for _, e := range c.Zone.Events {
		earlier := len(z.Events) == 0 || e.Listed().OpensAtMillis < z.Events[0].Listed().OpensAtMillis
		if e.Name == c.Event || c.Event == "" && earlier {
			z.Events = []event.Event{e}
		}
	}
	if len(z.Events) == 0 {
		return z, fmt.Errorf("%w: zone %s lists no event %q", ErrConfig, z.ZoneID, c.Event)
	}
	return z, nil
}

// visitor is one phone.
type visitor struct {
	place    line.Place
	leavesAt int64 // microseconds; 0: never
	admitted int64 // microseconds
	state    simulate.State
	polls    int32
}

// run is an event under way. Times are in microseconds.
type run struct {
	cfg   Config
	zone  zone.Settings
	rng   *rand.Rand
	seeds drawSeeds
	store *embedded.Store
	asked asked
	// What a server has between a visitor and the store.
	registry *registry.Registry
	schedule *schedule.Schedule

	now, start, gathers, settles, opens, end int64

	visitors []visitor
	queue    simulate.Events
	present  int
	// seconds are those in which something happened, from the opening on.
	seconds map[int]*Second
	// draw is that of the event, nil for none.
	draw *event.Draw
	out  Report
}

// Both plays the event as planned and, where c has an outage, once more with that.
func Both(ctx context.Context, c Config) (all []Report, err error) {
	for _, c.Outage = range slices.Compact([]time.Duration{0, c.Outage}) {
		one, err := Run(ctx, c)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// Run plays the event until everybody is in or gone.
func Run(ctx context.Context, cfg Config) (Report, error) {
	if err := cfg.Validate(); err != nil {
		return Report{}, err
	}
	r := &run{cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, stream)), seconds: make(map[int]*Second)}
	r.zone, _ = cfg.zone() // Validate has looked
	r.seeds = drawSeeds{r.rng}
	p := r.zone.Events[0].Listed()
	r.gathers, r.settles, r.opens = p.PreQueueAtMillis*1000, p.SettlesAtMillis*1000, p.OpensAtMillis*1000
	r.start = r.gathers - lead.Microseconds()
	r.now, r.end = r.start, r.opens+horizon.Microseconds()
	now := func() time.Time { return time.UnixMicro(r.now) }
	var err error
	if r.store, err = embedded.Open(embedded.Options{Now: now}); err != nil {
		return Report{}, fmt.Errorf("sale: %w", err)
	}
	r.goTo(r.start)
	r.registry = registry.New(registry.Options{Store: &r.asked, DrawSeeds: r.seeds, Now: now})
	r.schedule = schedule.New(schedule.Options{Zones: r.registry, Seeds: r.seeds})
	err = r.all(ctx)
	if err == nil {
		err = r.look(ctx)
	}
	r.registry.Stop()
	if err := errors.Join(err, r.store.Close()); err != nil {
		return Report{}, fmt.Errorf("sale: %w", err)
	}
	return r.report(), nil
}

// goTo has the clock show a time, at which the store is there or away.
func (r *run) goTo(micros int64) {
	r.now, r.asked.Store = micros, r.store
	if micros >= r.opens && micros < r.opens+r.cfg.Outage.Microseconds() {
		r.asked.Store = away{}
	}
}

// all plays it.
func (r *run) all(ctx context.Context) error {
	if _, err := r.store.PutZone(ctx, r.zone, nil, ""); err != nil {
		return err
	}
	r.populate()
	sweep, sample := r.start, r.start
	for tick := r.start; len(r.queue) > 0 && r.now < r.end; {
		if err := ctx.Err(); err != nil {
			return err
		}
		for len(r.queue) > 0 && r.queue[0].At < tick {
			r.goTo(max(r.now, r.queue[0].At))
			again, err := r.request(ctx, r.queue[0].V)
			if err != nil {
				return err
			}
			r.queue.Follow(again)
		}
		r.goTo(tick)
		r.registry.RunOnce(ctx)
		r.registry.ProbeOnce(ctx)
		r.schedule.RunOnce(ctx)
		if sample <= tick {
			sample = tick + time.Second.Microseconds()
			r.registry.EstimateOnce(ctx)
		}
		r.second().Present = r.present
		if sweep <= tick {
			sweep = tick + simulate.SweepEvery.Microseconds()
			_ = simulate.Sweep(ctx, r.registry, r.zone.ZoneID) // a server tries again when it sweeps next
		}
		tick += tickEvery.Microseconds()
		if r.present == 0 && len(r.queue) > 0 && tick < r.opens && tick > r.gathers+lead.Microseconds() {
			// Nothing happens before somebody comes.
			tick = max(tick, min(r.queue[0].At, r.settles)-lead.Microseconds())
		}
	}
	return nil
}

// populate makes the visitors, and says when they come.
func (r *run) populate() {
	from, upto := max(r.gathers, r.settles-r.cfg.Within.Microseconds()), r.settles
	if r.gathers >= r.opens {
		from, upto = r.opens, r.opens+rush.Microseconds()
	}
	r.visitors = make([]visitor, r.cfg.Gather+r.cfg.After)
	r.queue = make(simulate.Events, len(r.visitors))
	for i := range r.visitors {
		v := &r.visitors[i]
		binary.BigEndian.PutUint64(v.place.ID[:], r.rng.Uint64())
		share, span := r.rng.Float64(), upto-from
		at := from
		switch {
		case i >= r.cfg.Gather:
			at, span = upto, after.Microseconds()
		case r.cfg.Arrive == Early:
			span = min(span, rush.Microseconds())
		case r.cfg.Arrive == Late:
			share = math.Sqrt(share)
		}
		at += int64(share * float64(span))
		if r.rng.Float64() < r.cfg.Leave {
			turn := max(at, r.opens) + int64(r.rng.Float64()*r.wait())
			v.leavesAt = at + 1 + int64(r.rng.Float64()*float64(turn-at))
		}
		r.queue[i] = simulate.Event{At: at, V: int32(i)}
	}
	heap.Init(&r.queue)
}

// wait is how long the last has to wait from the opening on, roughly.
func (r *run) wait() float64 {
	stay := float64(r.cfg.Gather+r.cfg.After) * (1 - r.cfg.Leave/2)
	return stay / float64(max(1, r.zone.WithEvent(r.zone.Events[0]).PerMinute)) * float64(time.Minute.Microseconds())
}

// request is one visitor's join or poll, and what it does with the answer. It returns when it makes the next; 0 for never.
func (r *run) request(ctx context.Context, i int32) (again int64, err error) {
	v := &r.visitors[i]
	if v.state == simulate.Waiting && v.leavesAt > 0 && r.now >= v.leavesAt {
		r.becomes(v, simulate.Left)
		return 0, nil
	}
	var a line.Told
	if v.state == simulate.Coming {
		a, err = r.registry.Join(ctx, r.zone.ZoneID, v.place.ID)
	} else {
		a, err = r.registry.Poll(ctx, r.zone.ZoneID, v.place)
		v.polls++
	}
	at := r.second()
	at.Requests++
	var pause time.Duration
	var later *registry.LaterError
	switch {
	case errors.As(err, &later):
		at.Refused++
		pause = time.Duration(later.RetryAfterSeconds()) * time.Second
	case err != nil:
		return 0, err
	case a.Status == line.Admitted, a.Status == line.AdmittedBefore:
		at.Admitted++
		r.becomes(v, simulate.Inside)
		v.place, v.admitted = a.Place, a.AdmittedAtMillis*1000
		return 0, nil
	case a.Status == line.Waiting:
		r.becomes(v, simulate.Waiting)
		v.place = a.Place
		pause = time.Duration(a.PeriodMillis) * time.Millisecond
	default: // closed, full, or swept
		r.becomes(v, simulate.Lost)
		return 0, nil
	}
	again = r.now + (pause + simulate.Delay(r.rng)).Microseconds()
	if v.state == simulate.Waiting && v.leavesAt > 0 {
		again = min(again, max(v.leavesAt, r.now+1))
	}
	return again, nil
}

// becomes sets where a visitor is, and counts who is present.
func (r *run) becomes(v *visitor, state simulate.State) {
	if v.state == simulate.Waiting {
		r.present--
	}
	if v.state = state; state == simulate.Waiting {
		r.present++
	}
}
