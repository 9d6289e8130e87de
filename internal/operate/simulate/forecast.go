package simulate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/measure"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// maxSimulated is how many visitors a forecast runs. A longer line, or one
	// that so many join meanwhile, is scaled down: every Factor-th visitor,
	// before a limit that is smaller by the same Factor.
	maxSimulated = 50_000
	// maxLine is the most that are simulated when the limit is too small to be
	// scaled: the front of the line, the rest of which a day would not reach.
	maxLine = 2 * maxSimulated
	// horizon is as far as a forecast looks: the longest estimate ever told.
	horizon = 24 * time.Hour
	// heldHorizon is that of a zone that lets nobody in.
	heldHorizon = time.Hour
	// maxPoints bounds a forecast's series, without the point before an opening.
	maxPoints = 199
	// lineUp is how long before now a forecast begins: the line comes back, and nobody gets in. It is as long as
	// the edge stays after a loss.
	lineUp = window.FreezeMillis * time.Millisecond
	// epoch is that of the data that a forecast makes up.
	epoch = 1
	// lazyAbove is the expected wait in milliseconds above which visitors do
	// not ask the store at each poll: well above that at which polls come faster.
	lazyAbove = 80_000
	// lazyPart is the part of the wait for which they do not.
	lazyPart = 2
)

// Present is a line at one moment, and what is supposed of it from then on.
type Present struct {
	// Settings are those to try, from now on.
	Settings zone.Settings
	// State is the zone's now.
	State line.State
	// JoinsPerMinute are expected to go on joining.
	JoinsPerMinute float64
	// DeparturesPerMinute said that they leave, SweptPerMinute were found to
	// have left silently. Of those present as many are expected to go away,
	// and fewer as the line gets shorter.
	DeparturesPerMinute, SweptPerMinute float64
	// Seed makes the run repeatable.
	Seed uint64
}

// Forecast is what becomes of a line. Times are in milliseconds from now.
type Forecast struct {
	// Waiting is how many are in the line now. Present of them are expected to
	// be there: of the others the room does not know yet that they left.
	Waiting int64 `json:"waiting"`
	Present int64 `json:"present"`
	// Complete: all of them are in or gone within a day. If not, the three
	// times are null.
	Complete bool `json:"complete"`
	// LastInMillis is when the last of them is in, MedianWaitMillis and
	// P95WaitMillis how long they have yet to wait who get in. Null, too, when
	// nobody does.
	LastInMillis     *int64 `json:"lastInMillis"`
	MedianWaitMillis *int64 `json:"medianWaitMillis"`
	P95WaitMillis    *int64 `json:"p95WaitMillis"`
	// Admitted and Left are what became of the Present up to then.
	Admitted int64 `json:"admitted"`
	Left     int64 `json:"left"`
	// PollsPerSecondMean and PollsPerSecondPeak are those of everybody, the
	// newcomers too, until then; where an event is to open yet, from the opening on.
	PollsPerSecondMean float64 `json:"pollsPerSecondMean"`
	PollsPerSecondPeak float64 `json:"pollsPerSecondPeak"`
	// JoinsPerMinute and LeavesPerMinute are what was supposed.
	JoinsPerMinute  float64 `json:"joinsPerMinute"`
	LeavesPerMinute float64 `json:"leavesPerMinute"`
	// Factor is by how much the line was scaled down; 1 when it was not.
	Factor float64 `json:"factor"`
	// Series are the line over time, 200 points at most.
	Series Series `json:"series"`
}

// Series are points in time: how many wait, newcomers and those not yet swept
// included, how many have been admitted since now, and polls a second.
type Series struct {
	AtMillis       []int64   `json:"atMillis"`
	Waiting        []int64   `json:"waiting"`
	Admitted       []int64   `json:"admitted"`
	PollsPerSecond []float64 `json:"pollsPerSecond"`
}

// Predict runs the present line in virtual time, through the embedded store and
// so by the real rule, until all of it are in or gone. The same line gives the
// same forecast. It ends with the error of ctx.
//
// Where each stands is known by its arrival alone: those beyond the edge are
// taken to have come evenly between the edge and the newest arrival. Some of them
// are taken to have left already; see Present.share. Nobody goes dark and comes
// back.
// Visitors far from the front do not ask the store at each of their polls: they
// do so each time that half of the expected wait is over. How many polls a second
// that is follows from the periods that they were told.
//
// Where an event is to open yet, it runs from the opening on, with the line of now; while that is held,
// nobody gets in.
func Predict(ctx context.Context, p Present) (Forecast, error) {
	if err := p.validate(); err != nil {
		return Forecast{}, err
	}
	opens := p.Settings.Gate().OpensAtMillis
	opensIn := max(0, opens-p.State.NowMillis)
	p.Settings.EventState = event.State{}
	if opensIn > window.MinuteMillis {
		p.State.InMinute = 0
	}
	if opens == event.Never { // it is held
		p.Settings.Mode, p.Settings.PerMinute, opensIn = zone.ModeQueue, 0, 0
	}
	z, factor := p.scale()
	z.ZoneID = "FORECAST"
	f := &forecast{crowd: newCrowd(p.Seed, z, beginning), from: p, rates: window.RatesOf(z), factor: factor, step: time.Second}
	store, err := memory(f.clock)
	if err == nil {
		f.room = bare{store}
		err = errors.Join(f.run(ctx, store), store.Close())
	}
	if err != nil {
		return Forecast{}, fmt.Errorf("simulate: forecast: %w", err)
	}
	return f.result(opensIn), nil
}

func (p Present) validate() error {
	s := p.State
	switch {
	case s.Waiting < 0 || s.Released < 0 || s.Live < 0 || s.Live > s.Released || s.Released > s.Waiting:
		return fmt.Errorf("%w: a line of %d, %d of them released and %d live", ErrConfig, s.Waiting, s.Released, s.Live)
	case !(p.JoinsPerMinute >= 0 && p.DeparturesPerMinute >= 0 && p.SweptPerMinute >= 0): // nor NaN
		return fmt.Errorf("%w: rates must not be negative", ErrConfig)
	}
	return p.Settings.Validate()
}

// share is how many of those beyond the edge are there. Both signs of those who
// are not are late, and may be too many: what is swept left a minute and more ago,
// and whom the edge finds missing are those who have waited longest. The smaller
// counts.
func (p Present) share() float64 {
	far := float64(p.State.Waiting - p.State.Released)
	if p.State.EdgePassed <= 0 || far <= 0 {
		return 1
	}
	share := min(1, float64(p.State.EdgeLive+1)/float64(p.State.EdgePassed+1))
	if p.SweptPerMinute > 0 {
		// Silent for the idle timeout, and then, on average, half a sweep.
		unnoticed := p.Settings.IdleTimeout() + sweepEvery/2
		overdue := float64(p.State.Released - p.State.Live)
		share = max(share, 1-min(1, max(0, p.SweptPerMinute*unnoticed.Minutes()-overdue)/far))
	}
	return share
}

// leaves is how many of those present go away in a minute.
func (p Present) leaves() float64 { return p.DeparturesPerMinute + p.SweptPerMinute }

// present is how many of those waiting are there.
func (p Present) present() float64 {
	return float64(p.State.Live) + float64(p.State.Waiting-p.State.Released)*p.share()
}

// scale returns the settings of the zone to simulate, and how many real visitors
// each of its visitors stands for.
func (p Present) scale() (s zone.Settings, factor float64) {
	s = p.Settings
	people := float64(p.State.Waiting)
	if s.Mode == zone.ModeQueue && s.PerMinute > 0 {
		people += p.JoinsPerMinute * min(horizon.Minutes(), p.present()/float64(s.PerMinute))
	}
	factor = people / maxSimulated
	if factor <= 1 {
		return s, 1
	}
	if s.PerMinute > 0 {
		// A whole number: so the limit is as exact as in the real zone.
		per := max(1, math.Round(float64(s.PerMinute)/factor))
		factor = float64(s.PerMinute) / per
		s.PerMinute = int64(per)
	}
	s.Burst = int64(float64(s.Burst) / factor)
	if s.MaxWaiting > 0 {
		s.MaxWaiting = max(1, int64(float64(s.MaxWaiting)/factor))
	}
	return s, factor
}

// bare is a store as a room: what it answers is told as it is.
type bare struct{ Store }

func (b bare) Join(ctx context.Context, zoneID string, id line.ID) (line.Told, error) {
	a, err := b.Store.Join(ctx, zoneID, id)
	return line.Told{Answer: a, EstimateMillis: a.WaitMillis}, err
}

func (b bare) Poll(ctx context.Context, zoneID string, p line.Place) (line.Told, error) {
	a, err := b.Store.Poll(ctx, zoneID, p)
	return line.Told{Answer: a, EstimateMillis: a.WaitMillis}, err
}

// forecast is one under way.
type forecast struct {
	*crowd
	from   Present
	rates  window.Rates
	factor float64
	// beyond are those of the scaled line, behind it, who are not simulated.
	beyond float64
	// points are the line over time, a step apart; when they are too many, every second one goes. polls are the polls a second
	// at each second from now on.
	points []point
	step   time.Duration
	polls  []float64
}

// point is the line at one time.
type point struct{ waiting, admitted int64 }

// run puts the line back as after a loss, by everybody's own poll, while nobody gets in; then puts the
// settings to try, and goes on until all who wait are in or gone.
func (f *forecast) run(ctx context.Context, s Store) error {
	f.now = f.start - lineUp.Microseconds()
	f.end = f.start + horizon.Microseconds()
	if f.zone.PerMinute == 0 && f.zone.Mode != zone.ModeOpen {
		f.end = f.start + heldHorizon.Microseconds()
	}
	edge, last := f.people()
	f.newcomers()
	held := f.zone
	held.Mode, held.PerMinute, held.Burst, held.MaxWaiting = zone.ModeQueue, f.scaled(f.from.State.InMinute), 0, 0
	// The minute before the run is as full as it is now. Within lineUp nobody gets in, so a limit that is lowered
	// holds the line up for lineUp less than it really does.
	if err := s.RestoreZone(ctx, held, line.Memory{
		Epoch: epoch, SeenAtMillis: f.start / 1000, EdgeMicros: edge, LastArrivalMicros: last,
	}); err != nil {
		return err
	}
	held.PerMinute = 0
	if err := f.put(ctx, held); err != nil {
		return err
	}
	f.every(f.start, 0, func(ctx context.Context) error { return f.put(ctx, f.zone) })
	f.every(f.start, time.Second, f.look)
	f.next, f.gone = f.silent, f.unnoticed
	return f.play(ctx)
}

// scaled is how many visitors of the run so many real ones are.
func (f *forecast) scaled(n int64) int64 {
	return min(zone.MaxPerMinute, int64(math.Round(float64(n)/f.factor)))
}

// people makes the visitors who wait now, in their order, and returns where the
// edge lies and when the last of them arrived.
func (f *forecast) people() (edge, last int64) {
	now := f.from.State
	line := math.Round(float64(now.Waiting) / f.factor)
	f.beyond = max(0, line-maxLine)
	n := int(min(line, maxLine))
	released := min(n, int(f.scaled(now.Released)))
	live := 1.0
	if now.Released > 0 {
		live = float64(now.Live) / float64(now.Released)
	}
	// Times as the zone has them, moved so that now is the start.
	move := f.start - now.NowMillis*1000
	last = min(f.start, now.LastArrivalMicros+move)
	edge = now.EdgeMicros + move
	if now.EdgeMicros <= 0 || edge >= last {
		// Nobody was released yet.
		edge = last - time.Minute.Microseconds()
	}
	for i := range n {
		at, there := edge-int64(released-i), live
		if i >= released {
			at, there = edge+int64(float64(i-released+1)/float64(n-released)*float64(last-edge)), f.from.share()
		}
		v := visitor{state: waiting, counted: true}
		v.place.ArrivedAtMicros, v.place.Epoch, v.place.DueMillis = at, epoch, f.start/1000
		first := f.now
		if f.rng.Float64() < there {
			v.leavesAt = f.leaves(f.start)
			waited := (f.start - at) / 1000
			period := 1000 * max(1, f.rates.FarPeriod(0, window.MaxEstimateMillis, waited, 128))
			first = min(max(at+1, f.start-f.rng.Int64N(period)), f.start-1)
		} else {
			v.counted, v.leavesAt = false, f.now+1 // after one poll, by which the room knows it
		}
		f.comes(first, v)
	}
	return edge, last
}

// leaves draws when a visitor will have left who is there at a time; 0: never.
func (f *forecast) leaves(at int64) int64 {
	there := f.from.present()
	if f.from.leaves() == 0 || there == 0 {
		return 0
	}
	mean := there / f.from.leaves() * float64(time.Minute.Microseconds())
	return at + 1 + int64(min(f.rng.ExpFloat64()*mean, float64(2*horizon.Microseconds())))
}

// newcomers come from now on, at random times.
func (f *forecast) newcomers() {
	perMinute := f.from.JoinsPerMinute / f.factor
	if perMinute <= 0 || f.zone.Mode == zone.ModeClosed {
		return
	}
	for at := f.start; len(f.visitors) < 2*maxLine && at < f.end; {
		f.comes(at, visitor{leavesAt: f.leaves(at)})
		at += 1 + int64(min(f.rng.ExpFloat64()/perMinute*float64(time.Minute.Microseconds()), float64(horizon.Microseconds())))
	}
}

// silent is how long one who was told to wait does not ask the store: until its next poll, or, far from
// the front, until a part of the wait is over.
func (f *forecast) silent(v *visitor, a line.Told) time.Duration {
	millis := a.PeriodMillis
	far := int64(float64(a.Position-1-a.State.Released) * f.factor)
	waited := (f.now - v.place.ArrivedAtMicros) / 1000
	switch {
	case f.now < f.start && f.rates.PerMinute > 0:
		// The zone lets nobody in yet, and those who are near the front are told to poll later than the real ones were.
		period := f.rates.FarPeriod(far, a.Position*window.MinuteMillis/f.rates.PerMinute, waited, 128)
		millis = min(millis, (f.start-f.now)/1000+f.rng.Int64N(max(1, period)))
	case f.now >= f.start && a.EstimateMillis > lazyAbove && waited > 2*(window.FarPeriodMillis-window.FirstPeriodMillis):
		v.period = f.rates.FarPeriod(far, window.MaxEstimateMillis, 2*window.MaxPeriodMillis, 128)
		millis = max(millis, int64(float64(a.EstimateMillis)/lazyPart*f.from.share()))
	}
	return time.Duration(millis) * time.Millisecond
}

// unnoticed is how long after a visitor left the room finds out: it is swept when it has been silent for so long.
func (f *forecast) unnoticed(v *visitor) int64 {
	idle := f.zone.IdleTimeout().Microseconds()
	if f.now < f.start {
		return f.start - f.now + f.rng.Int64N(idle)
	}
	return idle + 1 + f.rng.Int64N(max(1, 1000*v.period))
}

// look takes the polls of a second, and a point of the series when one is due.
func (f *forecast) look(ctx context.Context) error {
	f.polls = append(f.polls, f.perSecond)
	if at := time.Duration(f.now-f.start) * time.Microsecond; at < time.Duration(len(f.points))*f.step {
		return nil
	}
	st, err := f.room.Stats(ctx, f.zone.ZoneID)
	if err != nil {
		return err
	}
	f.points = append(f.points, point{st.State.Waiting, int64(len(f.admitted))})
	if len(f.points) > maxPoints {
		half := f.points[:0]
		for i := 0; i < len(f.points); i += 2 {
			half = append(half, f.points[i])
		}
		f.points, f.step = half, 2*f.step
	}
	return nil
}

// result is what became of the line, scaled up again, of a run that began so many milliseconds from now.
func (f *forecast) result(beginsIn int64) Forecast {
	real := func(n float64) int64 { return int64(math.Round(n * f.factor)) }
	var waits []int64
	gone := 0
	for i := range f.visitors {
		switch v := &f.visitors[i]; {
		case v.counted && v.state == inside:
			waits = append(waits, v.admitted-f.start)
		case v.counted && v.state > inside:
			gone++
		}
	}
	out := Forecast{
		Waiting: f.from.State.Waiting, Present: int64(math.Round(f.from.present())),
		Complete: f.remaining == 0 && f.beyond == 0,
		Admitted: real(float64(len(waits))), Left: real(float64(gone)),
		JoinsPerMinute: f.from.JoinsPerMinute, LeavesPerMinute: f.from.leaves(),
		Factor: f.factor,
	}
	if len(waits) > 0 && out.Complete {
		slices.Sort(waits)
		at := func(percent float64) *int64 { return new(beginsIn + measure.Percentile(waits, percent)/1000) }
		out.LastInMillis, out.MedianWaitMillis, out.P95WaitMillis = at(100), at(50), at(95)
	}
	if len(f.points) == 0 { // nobody waited
		f.points, f.polls = []point{{}}, []float64{0}
	}
	sum := 0.0
	for _, polls := range f.polls {
		sum += polls
	}
	tenth := func(polls float64) float64 { return math.Round(10*max(0, polls)*f.factor) / 10 }
	out.PollsPerSecondMean, out.PollsPerSecondPeak = tenth(sum/float64(len(f.polls))), tenth(slices.Max(f.polls))
	add := func(millis int64, i int) {
		out.Series.AtMillis = append(out.Series.AtMillis, millis)
		out.Series.Waiting = append(out.Series.Waiting, real(float64(f.points[i].waiting)+f.beyond))
		out.Series.Admitted = append(out.Series.Admitted, real(float64(f.points[i].admitted)))
		out.Series.PollsPerSecond = append(out.Series.PollsPerSecond, tenth(f.polls[min(i*int(f.step/time.Second), len(f.polls)-1)]))
	}
	if beginsIn > 0 {
		add(0, 0)
	}
	for i := range f.points {
		add(beginsIn+int64(i)*f.step.Milliseconds(), i)
	}
	return out
}
