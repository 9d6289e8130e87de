// Package simulate runs a crowd in virtual time through a store and measures
// what the room did: how exact the limit, how much of it was used, how fair the
// order, how good the estimate, how many polls it took. There are no sockets and
// no waiting: the same seed gives the same run.
//
// # The crowd
//
// Visitors arrive evenly over Arrive. Each polls when told to, plus a network
// delay of 5 to 100 ms; or, with PollEvery, stubbornly at that period.
//
// A share Leave goes away silently, each at a moment drawn evenly over the wait
// that those who stay have from the same place: its position over the limit,
// less the share that leaves. They never say so: the room finds out when a poll
// does not come.
//
// A share Dark polls for a while as told, then once is silent for 5 to 50 s, as
// a phone in a tunnel, and comes back.
//
// # What is measured
//
// The simulator judges by what it knows itself: who has left, when each was
// admitted, who came first. Of the room it takes no count on trust. Package measure
// works out the figures. The report names the promises that they are about:
//
//	G1  never over: no window and no minute holds more admissions than its limit
//	G2  no wasted capacity, while a crowd waits
//	G3  first come, first served
//	G4  no lost place: whoever polls within the idle timeout keeps it
//	G6  honest numbers: no position rises, and the estimate is near the wait
//	G6a an even flow: no second in which somebody waits holds more than its limit
//	G7  polls are paced, so that a long wait costs few
//
// # The forecast
//
// Predict begins with a line that is there: the operators' dry run.
package simulate

import (
	"cmp"
	"container/heap"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/openqueue/waitingroom/internal/embedded"
	"github.com/openqueue/waitingroom/internal/estimate"
	"github.com/openqueue/waitingroom/internal/line"
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
	// Zone is the zone they come to.
	Zone zone.Settings
	// Leave and Dark are shares, 0 to 1.
	Leave, Dark float64
	// LeaveWithin has who leaves do so within that time of coming; 0: of the wait.
	LeaveWithin time.Duration
	// LeaveAt has all who leave do so within 10 s from then on; 0: each at its own time.
	LeaveAt time.Duration
	// Rush is how many of the Visitors come from RushAt on, within Arrive.
	Rush   int
	RushAt time.Duration
	// DarkFor is how long the dark are silent; 0: 5 to 50 s.
	DarkFor time.Duration
	// Changes are an operator's, in order.
	Changes []Change
	// Estimates is what earlier runs in the zone taught of how people leave, and takes in this
	// one; nil: there were none.
	Estimates *estimate.Model
	// PollEvery is a fixed period; 0: as the server says.
	PollEvery time.Duration
	// Seed makes the run repeatable.
	Seed uint64
	// Progress, when not nil, is called at every second of virtual time. It
	// changes nothing of the run.
	Progress func(Moment)
	// Open opens the store, without zones, on the clock of the run. The run
	// closes it. Nil: an embedded store that keeps nothing.
	Open func(now func() time.Time) (Store, error)
}

// Change is an operator's: from At on, so many may enter in any 60 s.
type Change struct {
	At        time.Duration
	PerMinute int64
}

// Store is what a run asks of a store.
type Store interface {
	store.Store
	Close() error
}

// Moment is the room at one second of a run.
type Moment struct {
	// At is the virtual time since the first visitor could come.
	At time.Duration
	// Stats are what a server says. Those who have left and have not been swept are among
	// the Waiting.
	line.Stats
	// Present is how many really wait.
	Present int
	// Admitted and Left count since the beginning. Left are all who will not
	// be admitted, Report's Left, Swept and Refused.
	Admitted, Left int
}

// Validate reports what is out of range.
func (c Config) Validate() error {
	switch {
	case c.Visitors < 1 || c.Visitors > 5_000_000:
		return fmt.Errorf("%w: visitors must be between 1 and 5,000,000", ErrConfig)
	case c.Arrive < 0 || c.Arrive > 24*time.Hour:
		return fmt.Errorf("%w: arrive must be between 0 and 24h", ErrConfig)
	case c.Leave < 0 || c.Leave > 1 || c.Dark < 0 || c.Dark > 1:
		return fmt.Errorf("%w: leave and dark are percentages between 0 and 100", ErrConfig)
	case c.PollEvery != 0 && (c.PollEvery < 100*time.Millisecond || c.PollEvery > time.Hour):
		return fmt.Errorf("%w: the polling period must be between 100ms and 1h", ErrConfig)
	case c.Rush < 0 || c.Rush > c.Visitors:
		return fmt.Errorf("%w: no more can rush than come", ErrConfig)
	case len(c.Changes) > 0 && c.Changes[len(c.Changes)-1].PerMinute < 1:
		return fmt.Errorf("%w: the last limit must be at least 1, or some are never let in", ErrConfig)
	case c.Zone.PerMinute < 1:
		return fmt.Errorf("%w: per-minute must be at least 1, or nobody is ever let in", ErrConfig)
	}
	return c.Zone.Validate()
}

const (
	minDark = 5 * time.Second
	maxDark = 50 * time.Second
	// wave is how long it takes those to go who go together.
	wave = 10 * time.Second

	// maxSample is of how many visitors the estimates are kept: of a crowd of
	// millions they would fill gigabytes.
	maxSample = 100_000
	// stream tells the simulator's random numbers from others of the seed.
	stream = 0x77616974
)

// visitor is one phone.
type visitor struct {
	place    line.Place
	joined   int64 // microseconds
	lastPoll int64
	admitted int64   // microseconds; 0: not yet
	position int64   // last told
	goesDark float64 // at this share; <0: never
	leaves   bool
	leavesAt int64 // microseconds; 0: never
	// leavesFrom is from when, in Unix milliseconds, and leavesOver for how many from then on, one
	// leaves who does: its own choice, drawn evenly. due is when it is to poll next, in
	// milliseconds; foreseen when it will enter, as the oracle sees it.
	leavesFrom, leavesOver float64
	due                    int64
	foreseen               float64
	polls                  int
	sampled                bool // whether estimates are kept
	estimates, oracle      []estimate.Told
	state                  State
	punctual               bool
}

// run is a simulation under way.
type run struct {
	cfg      Config
	rng      *rand.Rand
	store    Store
	start    int64
	now      int64
	visitors []visitor
	queue    Events
	table    *estimate.Table
	oracle   oracle
	m        tally
	out      Report
}

// Run runs the crowd until everybody is in or gone.
func Run(ctx context.Context, cfg Config) (Report, error) {
	if cfg.Open == nil {
		cfg.Open = func(now func() time.Time) (Store, error) { return embedded.Open(embedded.Options{Now: now}) }
	}
	if err := cfg.Validate(); err != nil {
		return Report{}, err
	}
	if cfg.Estimates == nil {
		cfg.Estimates = new(estimate.Model)
	}
	r := &run{
		cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, stream)),
		// Any time will do, as long as it is the same in every run.
		start: 1_800_000_000_000_000,
	}
	r.now = r.start
	store, err := cfg.Open(func() time.Time { return time.UnixMicro(r.now) })
	if err != nil {
		return Report{}, fmt.Errorf("simulate: %w", err)
	}
	r.store = store
	if err := errors.Join(r.all(ctx), store.Close()); err != nil {
		return Report{}, fmt.Errorf("simulate: %w", err)
	}
	return r.report(), nil
}

// all runs the crowd.
func (r *run) all(ctx context.Context) error {
	if _, err := r.store.PutZone(ctx, r.cfg.Zone, nil, ""); err != nil {
		return err
	}
	r.populate()
	err := r.loop(ctx)
	r.cfg.Estimates.Learn(line.Sample{}, 0) // nobody waits any more
	return err
}

func (r *run) populate() {
	r.visitors = make([]visitor, r.cfg.Visitors)
	r.queue = make(Events, 0, r.cfg.Visitors)
	every := (r.cfg.Visitors + maxSample - 1) / maxSample
	for i := range r.visitors {
		v := &r.visitors[i]
		v.sampled = i%every == 0
		binary.BigEndian.PutUint64(v.place.ID[:], r.rng.Uint64())
		v.goesDark, v.punctual = -1, true
		v.leaves = r.rng.Float64() < r.cfg.Leave
		if r.rng.Float64() < r.cfg.Dark {
			v.goesDark, v.punctual = r.rng.Float64(), false
		}
		at := r.start + int64(r.rng.Float64()*float64(r.cfg.Arrive.Microseconds()))
		if i >= r.cfg.Visitors-r.cfg.Rush {
			at += r.cfg.RushAt.Microseconds()
		}
		r.queue = append(r.queue, Event{at, int32(i)})
	}
	heap.Init(&r.queue)
}

func (r *run) loop(ctx context.Context) error {
	sweep := r.start + SweepEvery.Microseconds()
	second, changes := r.start, r.cfg.Changes
	for len(r.queue) > 0 {
		next := r.queue[0].At
		for sweep <= next {
			r.now = sweep
			if err := Sweep(ctx, r.store, r.cfg.Zone.ZoneID); err != nil {
				return err
			}
			sweep += SweepEvery.Microseconds()
		}
		for len(changes) > 0 && r.start+changes[0].At.Microseconds() <= next {
			r.now = max(r.now, r.start+changes[0].At.Microseconds())
			z := r.cfg.Zone
			z.PerMinute, changes = changes[0].PerMinute, changes[1:]
			if _, err := r.store.PutZone(ctx, z, nil, ""); err != nil {
				return err
			}
		}
		for second <= next {
			if err := ctx.Err(); err != nil {
				return err
			}
			r.now = max(r.now, second)
			if err := r.moment(ctx, second); err != nil {
				return err
			}
			second += time.Second.Microseconds()
		}
		r.now = max(r.now, next)
		again, err := r.request(ctx, r.queue[0].V)
		if err != nil {
			return err
		}
		r.queue.Follow(again)
	}
	return nil
}

// request is one visitor's join or poll, and what it does with the answer. It returns when it makes the next; 0 for never.
func (r *run) request(ctx context.Context, i int32) (again int64, err error) {
	v := &r.visitors[i]
	if v.state == Waiting && v.leavesAt > 0 && r.now >= v.leavesAt {
		r.ends(v, Left, &r.out.Left)
		return 0, nil
	}
	before := v.lastPoll
	var a line.Answer
	if v.state == Coming {
		a, err = r.store.Join(ctx, r.cfg.Zone.ZoneID, v.place.ID)
		v.joined, v.state = r.now, Waiting
		r.m.note(r.now, 1)
		r.oracle.order = append(r.oracle.order, i)
	} else {
		a, err = r.store.Poll(ctx, r.cfg.Zone.ZoneID, v.place)
		v.polls++
		r.m.poll(r.now)
	}
	if err != nil {
		return 0, err
	}
	v.lastPoll = r.now
	way, oracle := progress(r.now-v.joined, a), r.foreseen(v, &a)
	switch a.Status {
	case line.Waiting:
		return r.waits(v, r.table.Tell(a, a.Place.ArrivedAtMicros), way, oracle), nil
	case line.Admitted, line.AdmittedBefore:
		v.place, v.state, v.admitted = a.Place, Inside, r.now
		r.m.admit(r.now, a.AdmittedAtMillis)
	case line.Gone:
		if r.now-before <= r.cfg.Zone.IdleTimeout().Microseconds() {
			r.out.PlacesLost++
		}
		r.ends(v, Lost, &r.out.Swept)
	default:
		r.ends(v, Lost, &r.out.Refused)
	}
	return 0, nil
}

// ends has a visitor wait no more, who was not admitted, and counts it.
func (r *run) ends(v *visitor, how State, count *int) {
	v.state = how
	*count++
	r.m.note(r.now, -1)
}

// waits is what a visitor does with an answer while it waits. way is the share of the wait behind it, as the store has it,
// oracle how long the oracle would tell it to wait. It returns when the visitor asks again.
func (r *run) waits(v *visitor, a line.Told, way float64, oracle int64) (again int64) {
	if v.position == 0 {
		v.place = a.Place
		v.leavesFrom, v.leavesOver = r.leaves(a.Position)
		if v.leaves {
			v.leavesAt = int64(1000*(v.leavesFrom+r.rng.Float64()*v.leavesOver)) + 1
		}
	} else if a.Position > v.position {
		r.out.PositionsRose++
	}
	v.position, v.due = a.Position, r.now/1000+a.PeriodMillis
	if v.sampled {
		v.estimates = append(v.estimates, estimate.Told{
			AtMicros: r.now, Millis: a.EstimateMillis, LowMillis: a.LowMillis, HighMillis: a.HighMillis,
		})
		v.oracle = append(v.oracle, estimate.Told{AtMicros: r.now, Millis: oracle})
	}
	again = r.now + r.next(v, a.Answer, way).Microseconds()
	if v.leavesAt > 0 {
		again = min(again, v.leavesAt)
	}
	return again
}

// leaves is when one goes who has come now, stands there and will leave: from then on, in Unix
// milliseconds, within so many.
func (r *run) leaves(position int64) (from, over float64) {
	now := float64(r.now) / 1000
	switch {
	case r.cfg.LeaveAt > 0:
		return max(now, float64(r.start/1000+r.cfg.LeaveAt.Milliseconds())), float64(wave.Milliseconds())
	case r.cfg.LeaveWithin > 0:
		return now, float64(r.cfg.LeaveWithin.Milliseconds())
	}
	return now, float64(position) / float64(r.cfg.Zone.PerMinute) * window.MinuteMillis * (1 - r.cfg.Leave)
}

// progress is the share of the wait that is over, judged by the answer.
func progress(waitedMicros int64, a line.Answer) float64 {
	waited := float64(waitedMicros) / 1000
	return waited / (waited + float64(a.WaitMillis) + 1)
}

// next is when the visitor polls again.
func (r *run) next(v *visitor, a line.Answer, way float64) time.Duration {
	wait := time.Duration(a.PeriodMillis) * time.Millisecond
	if r.cfg.PollEvery > 0 {
		wait = r.cfg.PollEvery
	}
	if v.goesDark >= 0 && way >= v.goesDark {
		v.goesDark = -1
		wait = max(wait, cmp.Or(r.cfg.DarkFor, minDark+time.Duration(r.rng.Int64N(int64(maxDark-minDark)))))
	}
	return wait + Delay(r.rng)
}

func (r *run) moment(ctx context.Context, second int64) error {
	s, err := r.store.Sample(ctx, r.cfg.Zone.ZoneID, estimate.Sampled)
	if err != nil {
		return err
	}
	r.table = r.cfg.Estimates.Learn(s, r.cfg.Zone.IdleTimeout())
	r.foresee(&s)
	if r.cfg.Progress == nil {
		return nil
	}
	st, err := r.store.Stats(ctx, r.cfg.Zone.ZoneID)
	if err != nil {
		return err
	}
	if joining, ok := r.table.Joining(&st.State); ok {
		st.EstimateMillis = joining.EstimateMillis
	}
	r.cfg.Progress(Moment{
		At: time.Duration(second-r.start) * time.Microsecond, Stats: st,
		Present: r.m.live, Admitted: len(r.m.admitted), Left: r.out.Left + r.out.Swept + r.out.Refused,
	})
	return nil
}
