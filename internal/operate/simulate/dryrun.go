package simulate

import (
	"container/heap"
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/openqueue/waitingroom/internal/embedded"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// lazyAbove is the expected wait in milliseconds above which visitors do
	// not ask the store at each poll: well above that at which polls come faster.
	lazyAbove = 80_000
	// lazyPart is the part of the wait for which they do not.
	lazyPart = 2
)

// guest is one visitor of a dry run.
type guest struct {
	place    line.Place
	leavesAt int64 // microseconds; 0: never
	period   int64 // as told, milliseconds
	state    State
	// first: in the line when the forecast began, and there.
	first bool
}

// dryRun is a forecast under way. Times are in microseconds.
type dryRun struct {
	from   Present
	zone   zone.Settings // scaled
	rates  window.Rates
	factor float64
	// beyond are those of the scaled line, behind it, who are not simulated.
	beyond float64
	rng    *rand.Rand
	store  *embedded.Store

	start, now, end int64
	guests          []guest
	queue           Events
	// gone are those who have left, by when they are swept.
	gone Events
	// nextJoin is when the next newcomer comes.
	nextJoin int64

	remaining, left int
	admitted        int64
	waits           []int64
	polls           pollRate
	points          points
}

func newDryRun(p Present) (d *dryRun, err error) {
	d = &dryRun{
		from: p, rng: rand.New(rand.NewPCG(p.Seed, stream)),
		// Any time will do, as long as it is the same in every run.
		start: 1_800_000_000_000_000, points: points{step: secondMicros},
	}
	d.zone, d.factor = p.scale()
	d.zone.ZoneID = "FORECAST"
	d.rates = window.RatesOf(d.zone)
	d.now = d.start
	d.end = d.start + horizon.Microseconds()
	if d.zone.PerMinute == 0 && d.zone.Mode != zone.ModeOpen {
		d.end = d.start + heldHorizon.Microseconds()
	}
	d.store, err = embedded.Open(embedded.Options{Now: func() time.Time { return time.UnixMicro(d.now) }})
	return d, err
}

// run puts the line back as after a loss, by everybody's own poll; then puts the
// settings to try, and goes on until all who wait are in or gone.
func (d *dryRun) run(ctx context.Context) error {
	edge, last := d.people()
	if err := d.lineUp(ctx, line.Memory{
		Epoch: epoch, SeenAtMillis: d.start / 1000, EdgeMicros: edge, LastArrivalMicros: last,
	}); err != nil {
		return err
	}
	d.now = d.start
	if err := d.put(ctx, d.zone); err != nil {
		return err
	}
	return d.goOn(ctx)
}

func (d *dryRun) put(ctx context.Context, s zone.Settings) error {
	_, err := d.store.PutZone(ctx, s, nil, "")
	return err
}

// people makes the visitors who wait now, in their order, and returns where the
// edge lies and when the last of them arrived.
func (d *dryRun) people() (edge, last int64) {
	now := d.from.State
	waiting := float64(now.Waiting) / d.factor
	d.beyond = max(0, math.Round(waiting)-maxLine)
	n := int(min(math.Round(waiting), maxLine))
	released := min(n, int(math.Round(float64(now.Released)/d.factor)))
	live := 1.0
	if now.Released > 0 {
		live = float64(now.Live) / float64(now.Released)
	}
	// Times as the zone has them, moved so that now is the start.
	move := d.start - now.NowMillis*1000
	last = min(d.start, now.LastArrivalMicros+move)
	edge = now.EdgeMicros + move
	if now.EdgeMicros <= 0 || edge >= last {
		// Nobody was released yet.
		edge = last - time.Minute.Microseconds()
	}
	d.guests = make([]guest, 0, n)
	for i := range n {
		g := guest{first: true}
		there := live
		if i < released {
			g.place.ArrivedAtMicros = edge - int64(released-i)
		} else {
			g.place.ArrivedAtMicros = edge + int64(float64(i-released+1)/float64(n-released)*float64(last-edge))
			there = d.from.share()
		}
		d.greet(&g)
		if d.rng.Float64() >= there {
			g.first, g.state = false, Left
		}
		d.guests = append(d.guests, g)
	}
	return edge, last
}

// greet gives a visitor who comes a name, and the time when it will have left.
func (d *dryRun) greet(g *guest) {
	binary.BigEndian.PutUint64(g.place.ID[:], d.rng.Uint64())
	g.place.Epoch, g.place.DueMillis = epoch, d.start/1000
	if there := d.from.present(); d.from.leaves() > 0 && there > 0 {
		mean := there / d.from.leaves() * float64(time.Minute.Microseconds())
		g.leavesAt = max(d.start, d.now) + 1 + int64(min(d.rng.ExpFloat64()*mean, float64(2*horizon.Microseconds())))
	}
}

// epoch is that of the data that a dry run makes up, and its tokens'.
const epoch = 1

// round is how long the line takes to come back: as long as the edge stays.
const round = window.FreezeMillis * 1000

// lineUp has the store restore the zone, letting nobody in, and everybody poll:
// those who are there within their period before now, and those who are not, and
// have not been swept yet, for the last time. As many are let in meanwhile as the
// zone has let in lately.
func (d *dryRun) lineUp(ctx context.Context, m line.Memory) error {
	d.now = d.start - round
	lately := d.lately()
	held := d.zone
	held.Mode, held.PerMinute, held.Burst, held.MaxWaiting = zone.ModeQueue, d.inMinute(), 0, 0
	// What was let in before the round counts as far as limits allowed it.
	if err := d.store.RestoreZone(ctx, held, m); err != nil {
		return err
	}
	held.PerMinute = 0
	if err := d.put(ctx, held); err != nil {
		return err
	}
	for i := range d.guests {
		d.queue = append(d.queue, Event{d.firstPoll(&d.guests[i]), int32(i)})
	}
	heap.Init(&d.queue)
	next := make([]int64, len(d.guests))
	for len(d.queue) > 0 || len(lately) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(lately) > 0 && (len(d.queue) == 0 || lately[0].At <= d.queue[0].At) {
			if err := d.letIn(ctx, held, lately[0]); err != nil {
				return err
			}
			lately = lately[1:]
			continue
		}
		e := d.queue[0]
		d.queue.Follow(0)
		d.now = max(d.now, e.At)
		g := &d.guests[e.V]
		a, err := d.store.Poll(ctx, d.zone.ZoneID, g.place)
		if err != nil {
			return err
		}
		if g.state == Left {
			// It will be swept when it has been silent for so long.
			heap.Push(&d.gone, Event{d.start + d.rng.Int64N(d.zone.IdleTimeout().Microseconds()), e.V})
			continue
		}
		g.state, g.period = Waiting, a.PeriodMillis
		d.remaining++
		next[e.V] = max(d.start, d.now+g.period*1000+Delay(d.rng).Microseconds())
	}
	d.begin(next)
	return nil
}

// firstPoll is when a visitor brings its place back.
func (d *dryRun) firstPoll(g *guest) int64 {
	if g.state == Left {
		return d.start - round
	}
	waited := d.start - g.place.ArrivedAtMicros
	period := 1000 * max(1, d.rates.FarPeriod(0, window.MaxEstimateMillis, waited/1000, 128))
	return max(g.place.ArrivedAtMicros+1, d.start-d.rng.Int64N(period))
}

// begin schedules the first polls. Before now the zone let nobody in, and those
// who are near the front were told to poll later than the real ones were.
func (d *dryRun) begin(next []int64) {
	ahead := int64(0)
	for i := range d.guests {
		g := &d.guests[i]
		if g.state != Waiting {
			continue
		}
		ahead++
		at := next[i]
		if d.rates.PerMinute > 0 {
			expected := ahead * window.MinuteMillis / d.rates.PerMinute
			period := d.rates.FarPeriod(int64(float64(ahead)*d.factor), expected, (d.start-g.place.ArrivedAtMicros)/1000, 128)
			at = min(at, d.start+d.rng.Int64N(max(1, period)*1000))
		}
		d.queue = append(d.queue, Event{at, int32(i)})
	}
	heap.Init(&d.queue)
}

// inMinute is how many were let in within the last minute, scaled.
func (d *dryRun) inMinute() int64 {
	return min(zone.MaxPerMinute, int64(math.Round(float64(d.from.State.InMinute)/d.factor)))
}

// lately are the admissions of the last window and of the others in the round
// before now, a group for each window, by time; V is how many.
func (d *dryRun) lately() (groups Events) {
	width := d.zone.Window().Microseconds()
	most := window.Limit(d.inMinute(), width/1000)
	if d.inMinute() == 0 {
		most = 0
	}
	for at := d.start - width/2 - width; at > d.start-round; at -= width {
		groups = append(groups, Event{at, int32(most)})
	}
	slices.Reverse(groups)
	inWindow := math.Round(float64(d.from.State.InWindow) / d.factor)
	return append(groups, Event{d.start - width/2, int32(min(inWindow, zone.MaxPerMinute))})
}

// letIn lets in a group of visitors who are not in the line, and holds the others
// again.
func (d *dryRun) letIn(ctx context.Context, held zone.Settings, group Event) error {
	d.now = max(d.now, group.At)
	open := held
	open.Mode = zone.ModeOpen
	if err := d.put(ctx, open); err != nil {
		return err
	}
	for range group.V {
		var id line.ID
		binary.BigEndian.PutUint64(id[:], d.rng.Uint64())
		if _, err := d.store.Join(ctx, d.zone.ZoneID, id); err != nil {
			return err
		}
	}
	return d.put(ctx, held)
}

// goOn runs the line until all who waited at the start are in or gone, or it is
// too late.
func (d *dryRun) goOn(ctx context.Context) error {
	d.nextJoin = d.start
	d.comes()
	sweep := d.start + SweepEvery.Microseconds()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		point := d.start + d.points.due()
		at := min(sweep, point, d.nextJoin)
		if len(d.queue) > 0 {
			at = min(at, d.queue[0].At)
		}
		if at > d.end || d.remaining == 0 && len(d.points.all) > 0 {
			return nil
		}
		d.now = max(d.now, at)
		var err error
		switch at {
		case point:
			err = d.look(ctx)
		case sweep:
			sweep += SweepEvery.Microseconds()
			err = d.sweep(ctx)
		case d.nextJoin:
			d.newcomer()
		default:
			var again int64
			again, err = d.request(ctx, d.queue[0].V)
			d.queue.Follow(again)
		}
		if err != nil {
			return err
		}
	}
}

// comes says when the next newcomer does.
func (d *dryRun) comes() {
	perMinute := d.from.JoinsPerMinute / d.factor
	if perMinute <= 0 || d.zone.Mode == zone.ModeClosed || len(d.guests) >= 2*maxLine {
		d.nextJoin = math.MaxInt64
		return
	}
	wait := d.rng.ExpFloat64() / perMinute * float64(time.Minute.Microseconds())
	d.nextJoin += 1 + int64(min(wait, float64(horizon.Microseconds())))
}

func (d *dryRun) newcomer() {
	var g guest
	d.greet(&g)
	d.guests = append(d.guests, g)
	heap.Push(&d.queue, Event{d.now, int32(len(d.guests) - 1)})
	d.comes()
}

// look takes a point of the series.
func (d *dryRun) look(ctx context.Context) error {
	st, err := d.store.Stats(ctx, d.zone.ZoneID)
	if err == nil {
		d.points.add(point{st.State.Waiting, d.admitted})
	}
	return err
}

// sweep removes those who have been silent for too long. The store's own would
// remove those, too, whose polls it was not asked to answer.
func (d *dryRun) sweep(ctx context.Context) error {
	for ; len(d.gone) > 0 && d.gone[0].At < d.now; d.gone.Follow(0) {
		if err := d.store.Leave(ctx, d.zone.ZoneID, d.guests[d.gone[0].V].place); err != nil {
			return err
		}
	}
	return nil
}

// request is one visitor's join or poll. It returns when it makes the next; 0 for never.
func (d *dryRun) request(ctx context.Context, i int32) (again int64, err error) {
	g := &d.guests[i]
	if g.leavesAt > 0 && d.now >= g.leavesAt {
		d.leave(g)
		silent := d.rng.Int64N(max(1, g.period*1000))
		heap.Push(&d.gone, Event{d.now - silent + g.period*1000 + d.zone.IdleTimeout().Microseconds(), i})
		return 0, nil
	}
	var a line.Answer
	if g.state == Coming {
		a, err = d.store.Join(ctx, d.zone.ZoneID, g.place.ID)
		g.state = Waiting
	} else {
		a, err = d.store.Poll(ctx, d.zone.ZoneID, g.place)
		d.polls.add(d.now - d.start)
	}
	switch {
	case err != nil:
		return 0, err
	case a.Status == line.Waiting:
		g.place, g.period = a.Place, a.PeriodMillis
		return d.next(g, a), nil
	case a.Status == line.Admitted || a.Status == line.AdmittedBefore:
		g.state = Inside
		d.admitted++
		if g.first {
			d.waits = append(d.waits, a.AdmittedAtMillis*1000-d.start)
			d.remaining--
		}
	default: // refused
		d.leave(g)
	}
	return 0, nil
}

func (d *dryRun) leave(g *guest) {
	g.state = Left
	if g.first {
		d.left++
		d.remaining--
	}
}

// next is when the visitor asks the store again: at its next poll, or, far from
// the door, at the first after a part of the wait is over.
func (d *dryRun) next(g *guest, a line.Answer) int64 {
	at := d.now + g.period*1000 + Delay(d.rng).Microseconds()
	if a.WaitMillis > lazyAbove {
		part := float64(a.WaitMillis) / lazyPart * d.from.share()
		far := int64(float64(a.Position-1-a.State.Released) * d.factor)
		at = d.skip(g, at, d.now+1000*int64(part), far)
	}
	if g.leavesAt > 0 {
		at = min(at, g.leavesAt)
	}
	return at
}

// skip counts the polls of one who has so many ahead from one time up to another without asking
// the store, and returns when the first after them is.
func (d *dryRun) skip(g *guest, at, until, far int64) int64 {
	until = min(until, d.end)
	if g.leavesAt > 0 {
		until = min(until, g.leavesAt)
	}
	longest := int64(window.FarPeriodMillis)
	if far >= window.FarAway {
		longest = window.MaxPeriodMillis
	}
	settledMicros := 2 * (longest - window.FirstPeriodMillis) * 1000 // one who has waited so long has the longest period
	for at < until {
		waited := at - g.place.ArrivedAtMicros
		millis := (at - d.start) / 1000
		jitter := window.Jitter(g.place.ID[7], millis)
		if waited >= settledMicros {
			// From here on the period stays the same, but for the jitter.
			period := 1000*d.rates.FarPeriod(far, window.MaxEstimateMillis, waited/1000, 128) + meanDelay.Microseconds()
			n := (until-at)/period + 1
			from := max(0, at-d.start-period/2)
			d.polls.spread(from, from+n*period, float64(n))
			return at + n*period
		}
		d.polls.add(at - d.start)
		at += 1000*d.rates.FarPeriod(far, window.MaxEstimateMillis, waited/1000, jitter) + Delay(d.rng).Microseconds()
	}
	return at
}
