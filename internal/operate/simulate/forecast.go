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
// Visitors far from the front do not ask the store at each of their polls: these
// are counted at the times that the rule would give them, and the rule is asked
// anew each time that a third of the expected wait is over.
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
		p.State.InWindow, p.State.InMinute = 0, 0
	}
	if opens == event.Never { // it is held
		p.Settings.Mode, p.Settings.PerMinute, opensIn = zone.ModeQueue, 0, 0
	}
	d, err := newDryRun(p)
	if err == nil {
		err = errors.Join(d.run(ctx), d.store.Close())
	}
	if err != nil {
		return Forecast{}, fmt.Errorf("simulate: forecast: %w", err)
	}
	return d.forecast(opensIn), nil
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
		unnoticed := p.Settings.IdleTimeout() + SweepEvery/2
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

// forecast is the result of a run that began so many milliseconds from now, scaled up again.
func (d *dryRun) forecast(beginsIn int64) Forecast {
	real := func(n float64) int64 { return int64(math.Round(n * d.factor)) }
	f := Forecast{
		Waiting: d.from.State.Waiting, Present: int64(math.Round(d.from.present())),
		Complete: d.remaining == 0 && d.beyond == 0,
		Admitted: real(float64(len(d.waits))), Left: real(float64(d.left)),
		JoinsPerMinute: d.from.JoinsPerMinute, LeavesPerMinute: d.from.leaves(),
		Factor: d.factor,
	}
	if len(d.waits) > 0 && f.Complete {
		slices.Sort(d.waits)
		at := func(percent float64) *int64 { return new(beginsIn + measure.Percentile(d.waits, percent)/1000) }
		f.LastInMillis, f.MedianWaitMillis, f.P95WaitMillis = at(100), at(50), at(95)
	}
	d.polls.settle()
	f.PollsPerSecondMean, f.PollsPerSecondPeak = d.polls.over(d.now - d.start)
	f.PollsPerSecondMean = tenth(f.PollsPerSecondMean * d.factor)
	f.PollsPerSecondPeak = tenth(f.PollsPerSecondPeak * d.factor)
	add := func(millis, at int64, p point) {
		f.Series.AtMillis = append(f.Series.AtMillis, millis)
		f.Series.Waiting = append(f.Series.Waiting, real(float64(p.waiting)+d.beyond))
		f.Series.Admitted = append(f.Series.Admitted, real(float64(p.admitted)))
		f.Series.PollsPerSecond = append(f.Series.PollsPerSecond, tenth(d.polls.mean(at, at+d.points.step)*d.factor))
	}
	if beginsIn > 0 {
		add(0, 0, d.points.all[0])
	}
	for i, p := range d.points.all {
		at := int64(i) * d.points.step
		add(beginsIn+at/1000, at, p)
	}
	return f
}

func tenth(v float64) float64 { return math.Round(10*v) / 10 }

// pollRate counts polls by the second of the run.
type pollRate struct {
	// seconds are the polls of each second, without those that steady adds:
	// what steady[i] says begins with second i and stays.
	seconds, steady []float64
}

const secondMicros = int64(time.Second / time.Microsecond)

// add counts one poll, so many microseconds after the beginning.
func (r *pollRate) add(at int64) {
	r.reach(at / secondMicros)
	r.seconds[at/secondMicros]++
}

// spread counts n polls, spread evenly from one time up to another, however many
// seconds that is.
func (r *pollRate) spread(from, to int64, n float64) {
	first, last := from/secondMicros, to/secondMicros
	r.reach(last + 1)
	each := n / float64(to-from)
	if first == last {
		r.seconds[first] += n
		return
	}
	r.seconds[first] += each * float64((first+1)*secondMicros-from)
	r.seconds[last] += each * float64(to-last*secondMicros)
	r.steady[first+1] += each * float64(secondMicros)
	r.steady[last] -= each * float64(secondMicros)
}

func (r *pollRate) reach(second int64) {
	if more := int(second) + 1 - len(r.seconds); more > 0 {
		r.seconds = append(r.seconds, make([]float64, more)...)
		r.steady = append(r.steady, make([]float64, more)...)
	}
}

// settle adds up what is known. No more is to be counted after it.
func (r *pollRate) settle() {
	sum := 0.0
	for i, change := range r.steady {
		sum += change
		r.seconds[i] += sum
	}
	r.steady = nil
}

// over returns the mean and the most of the seconds up to that time.
func (r *pollRate) over(to int64) (mean, most float64) {
	n := min(len(r.seconds), int(to/secondMicros)+1)
	for _, polls := range r.seconds[:n] {
		mean += polls
		most = max(most, polls)
	}
	return mean / max(1, float64(to)/float64(secondMicros)), most
}

// mean is that of the seconds from one time up to another.
func (r *pollRate) mean(from, to int64) (sum float64) {
	first, end := int(from/secondMicros), int(to/secondMicros)
	for i := first; i < min(end, len(r.seconds)); i++ {
		sum += r.seconds[i]
	}
	return sum / max(1, float64(end-first))
}

// point is the line at one time.
type point struct{ waiting, admitted int64 }

// points are evenly spaced, so many microseconds apart; when they are too many, every second one goes.
type points struct {
	all  []point
	step int64
}

// due is when the next point is to be taken.
func (p *points) due() int64 { return int64(len(p.all)) * p.step }

func (p *points) add(x point) {
	p.all = append(p.all, x)
	if len(p.all) <= maxPoints {
		return
	}
	half := (len(p.all) + 1) / 2
	for i := range half {
		p.all[i] = p.all[2*i]
	}
	p.all, p.step = p.all[:half], 2*p.step
}
