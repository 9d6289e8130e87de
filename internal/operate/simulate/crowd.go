package simulate

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

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/embedded"
	"github.com/openqueue/waitingroom/internal/estimate"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/measure"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

const (
	// minDelay and maxDelay are how long a request takes on its way.
	minDelay = 5 * time.Millisecond
	maxDelay = 100 * time.Millisecond
	// sweepEvery is how often a server sweeps.
	sweepEvery = 30 * time.Second
	// stream tells the simulator's random numbers from others of the seed.
	stream = 0x77616974
	// maxVisitors bounds a crowd: so many take 2 GB.
	maxVisitors = 5_000_000
	// never is the time of a request that is not made.
	never = math.MaxInt64
)

// beginning is when a run begins whose date does not matter. It is the same in every run, in Unix microseconds.
const beginning = 1_800_000_000_000_000

// state is where a visitor is.
type state uint8

// The states. Who has left went away silently; refused had no place; swept came back too late.
const (
	coming state = iota
	waiting
	inside
	left
	swept
	refused
)

// visitor is one phone.
type visitor struct {
	place    line.Place
	joined   int64 // microseconds
	lastPoll int64
	admitted int64 // microseconds; 0: not yet
	leavesAt int64 // microseconds; 0: never
	until    int64 // microseconds: of the session
	position int64 // last told
	goesDark float64
	polls    int
	rose     int
	state    state
	late     bool // does not always poll when told to
	away     bool // is silent for longer than the idle timeout
	// leaves: it will leave at a moment that depends on the position. sampled: its estimates are kept.
	leaves, sampled bool
	estimates       []estimate.Prediction
}

// crowd is a run under way: a crowd and the room that it goes through, in virtual time. Times are in microseconds.
type crowd struct {
	rng    *rand.Rand
	store  *embedded.Store
	server *zones.Zones
	zone   zone.Settings
	paused bool
	start  int64
	now    int64
	// end is when the run ends, whoever still waits; 0: never.
	end      int64
	visitors []visitor
	queue    events
	// tasks are done at their times, before any request of the same time, in this order.
	tasks []*task
	// next is how long one who was told to wait is silent from now on.
	next func(v *visitor, a line.Told) time.Duration

	// present is how many wait who have not left, remaining how many are neither in nor gone.
	present, remaining int
	// ended counts those who ended in each state.
	ended [refused + 1]int
	// changes are those of present, admitted the times of admissions in milliseconds.
	changes  []measure.Change
	admitted []int64
	// second is the present second of virtual time, polls how many there were in it, mostPolls the most in any.
	second           int64
	polls, mostPolls int
	// lost is how many lost the place though they had polled within the idle timeout.
	lost int
	// shop may be nil: then nobody is looked at any more who is inside.
	shop *shop
}

// task is done at a time, and again every so often; 0: once.
type task struct {
	at, every int64
	do        func(ctx context.Context) error
}

func newCrowd(seed uint64, z zone.Settings, start int64) *crowd {
	c := &crowd{rng: rand.New(rand.NewPCG(seed, stream)), zone: z, start: start, now: start}
	c.next = func(_ *visitor, a line.Told) time.Duration { return time.Duration(a.PeriodMillis) * time.Millisecond }
	return c
}

// clock is the time of the run.
func (c *crowd) clock() time.Time { return time.UnixMicro(c.now) }

// serves begins the server that the crowd goes through, which sweeps and measures as any does, on a store that keeps nothing.
// through is as Config.Through.
func (c *crowd) serves(seeds zones.DrawSeeds, through func(*embedded.Store, func() time.Time) store.Store) (err error) {
	if c.store, err = embedded.Open(embedded.Options{Now: c.clock}); err != nil {
		return fmt.Errorf("simulate: %w", err)
	}
	asked := store.Store(c.store)
	if through != nil {
		asked = through(c.store, c.clock)
	}
	c.server = zones.New(zones.Options{Store: asked, DrawSeeds: seeds, Now: c.clock})
	c.every(c.start+sweepEvery.Microseconds(), sweepEvery, c.sweep)
	c.every(c.start, time.Second, func(ctx context.Context) error {
		_, _ = c.server.Observe(ctx, c.zone.ZoneID) // without it, the last table goes on
		return nil
	})
	return nil
}

// stop ends the server and closes its store.
func (c *crowd) stop() error {
	c.server.Stop()
	return c.store.Close()
}

// every has something be done at a time, and again every so often.
func (c *crowd) every(at int64, often time.Duration, do func(ctx context.Context) error) {
	c.tasks = append(c.tasks, &task{at, often.Microseconds(), do})
}

// comes adds a visitor whose first request is at that time.
func (c *crowd) comes(at int64, v visitor) {
	binary.BigEndian.PutUint64(v.place.ID[:], c.rng.Uint64())
	c.remaining++
	c.queue = append(c.queue, request{at, int32(len(c.visitors))}) // at most maxVisitors
	c.visitors = append(c.visitors, v)
}

// play makes the zone, and runs the crowd until everybody is in or gone.
func (c *crowd) play(ctx context.Context) error {
	heap.Init(&c.queue)
	if err := errors.Join(ctx.Err(), c.put(ctx, c.zone)); err != nil {
		return err
	}
	for c.remaining > 0 {
		next := int64(never)
		if len(c.queue) > 0 {
			next = c.queue[0].at
		}
		var due *task
		for _, t := range c.tasks {
			if t.at <= next && (due == nil || t.at < due.at) {
				due = t
			}
		}
		if due != nil {
			next = due.at
		}
		if next == never || c.end > 0 && next > c.end {
			return nil
		}
		c.now = max(c.now, next)
		if due != nil {
			if due.at += due.every; due.every == 0 {
				c.tasks = slices.DeleteFunc(c.tasks, func(t *task) bool { return t == due })
			}
			if err := errors.Join(ctx.Err(), due.do(ctx)); err != nil {
				return err
			}
			continue
		}
		again, err := c.request(ctx, &c.visitors[c.queue[0].v])
		if err != nil {
			return err
		}
		c.queue[0].at = again
		heap.Fix(&c.queue, 0)
	}
	return nil
}

// put has an operator change the zone. Estimates of before the end of a pause are not judged: nobody could know when it would end.
func (c *crowd) put(ctx context.Context, s zone.Settings) error {
	for i := range c.visitors {
		if c.paused {
			c.visitors[i].estimates = nil
		}
	}
	c.paused = s.PerMinute == 0
	_, err := c.server.PutZone(ctx, s, nil, audit.By{})
	return err
}

// sweep removes those who are silent.
func (c *crowd) sweep(ctx context.Context) error {
	for cursor := uint64(0); ; {
		out, err := c.server.Sweep(ctx, c.zone.ZoneID, "", cursor)
		if cursor = out.Next; err != nil || cursor == 0 {
			return err
		}
	}
}

// request is one visitor's join or poll, and what it does with the answer. It returns when it makes the next.
func (c *crowd) request(ctx context.Context, v *visitor) (again int64, err error) {
	if v.state == inside {
		return c.visit(v), nil
	}
	if v.away {
		v.away = false
		c.note(1)
	}
	if v.leavesAt > 0 && c.now >= v.leavesAt {
		c.becomes(v, left)
		return never, nil
	}
	z, err := c.server.Find(ctx, c.zone.ZoneID)
	if err != nil {
		return 0, err
	}
	var a line.Told
	before := v.lastPoll
	if v.state == coming {
		a, err = z.Join(ctx, v.place.ID)
		v.joined = c.now
	} else {
		a, err = z.Poll(ctx, v.place)
		v.polls++
		c.poll()
	}
	if err != nil {
		return 0, err
	}
	v.lastPoll = c.now
	switch a.Status {
	case line.Waiting:
		return c.waits(v, a), nil
	case line.Admitted, line.AdmittedBefore:
		v.place, v.admitted = a.Place, c.now
		v.place.AdmittedAtMillis = a.AdmittedAtMillis
		c.admitted = append(c.admitted, a.AdmittedAtMillis)
		c.becomes(v, inside)
		return c.comesIn(v), nil
	case line.Gone:
		if c.now-before <= c.zone.IdleTimeout().Microseconds() {
			c.lost++
		}
		c.becomes(v, swept)
	default: // closed or full
		c.becomes(v, refused)
	}
	return never, nil
}

// waits is what a visitor does with an answer while it waits. It returns when the visitor asks again.
func (c *crowd) waits(v *visitor, a line.Told) (again int64) {
	if v.state == coming {
		c.becomes(v, waiting)
	} else if a.Position > v.position && v.position > 0 {
		v.rose++
	}
	v.place, v.position = a.Place, a.Position
	if v.sampled && a.Position > 0 { // while people gather, the estimate is when the zone opens
		v.estimates = append(v.estimates, estimate.Prediction{
			AtMicros: c.now, Millis: a.EstimateMillis, LowMillis: a.LowMillis, HighMillis: a.HighMillis,
		})
	}
	again = c.now + (c.next(v, a) + c.delay()).Microseconds()
	if v.leavesAt > 0 {
		again = min(again, max(v.leavesAt, c.now+1))
	}
	return again
}

// delay draws how long a request takes on its way.
func (c *crowd) delay() time.Duration {
	return minDelay + time.Duration(c.rng.Int64N(int64(maxDelay-minDelay)))
}

// becomes sets where a visitor is, and counts.
func (c *crowd) becomes(v *visitor, s state) {
	switch {
	case s == waiting:
		c.note(1)
	case v.state == waiting:
		c.note(-1)
	case s == inside && v.state == coming: // it never waited
		c.note(1)
		c.note(-1)
	}
	v.state = s
	c.ended[s]++
	if s >= inside {
		c.remaining--
	}
}

func (c *crowd) note(by int) {
	c.present += by
	c.changes = append(c.changes, measure.Change{AtMillis: c.now / 1000, By: int64(by)})
}

func (c *crowd) poll() {
	if second := c.now / time.Second.Microseconds(); second != c.second {
		c.second, c.polls = second, 0
	}
	c.polls++
	c.mostPolls = max(c.mostPolls, c.polls)
}

// request is a visitor's next one.
type request struct {
	at int64 // microseconds
	v  int32 // the visitor
}

// events is a heap of requests, the earliest first: see container/heap.
type events []request

// Len implements heap.Interface.
func (e events) Len() int { return len(e) }

// Less implements heap.Interface.
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].v < e[j].v
}

// Swap implements heap.Interface.
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

// Push implements heap.Interface. It is not called: all who come are known at first.
func (e *events) Push(any) {}

// Pop implements heap.Interface. It is not called: who is done asks again never.
func (e *events) Pop() any { return nil }
