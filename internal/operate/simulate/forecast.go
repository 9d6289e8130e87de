package simulate

import (
	"math"
	"slices"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// horizon is as far as a forecast looks: the longest estimate ever told.
	horizon = 24 * time.Hour
	// heldHorizon is that of a zone that lets nobody in.
	heldHorizon = time.Hour
	// maxPoints bounds a forecast's series, without the point before an opening.
	maxPoints = 199
	// places is of how many places of the line the polling periods are looked at.
	places = 64
)

// Present is a line at one moment, as a store tells it, and what is supposed of it from then on. No figure is negative.
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
	// StayMillis is for how long an admission is inside, in the mean, in a zone with a cap.
	StayMillis int64
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

// Predict works out what becomes of the present line, second by second: the limit lets people in, in their order; those
// present go away at a steady rate; newcomers stand behind. It is no run of visitors, which shows how even the flow is and
// how good the estimate (Run): it says when the line is over, in no time, for a line of any length.
//
// Some of those in the line are taken to have left already; see Present.share. Polls a second follow from the periods
// that those who wait are told by their places. Where an event is to open yet, it begins with the opening; while that is
// held, nobody gets in.
func Predict(p Present) Forecast {
	opens := p.Settings.Gate().OpensAtMillis
	opensIn := max(0, opens-p.State.NowMillis)
	p.Settings.EventState = event.State{}
	if opensIn > window.MinuteMillis {
		p.State.InMinute = 0
	}
	if opens == event.Never { // it is held
		p.Settings.Mode, p.Settings.PerMinute, opensIn = zone.ModeQueue, 0, 0
	}
	f := &flow{Present: p, rates: window.RatesOf(p.Settings), there: p.present()}
	f.absent, f.inside = float64(p.State.Waiting)-f.there, float64(p.State.Inside)
	end := horizon
	if p.Settings.PerMinute == 0 && p.Settings.Mode != zone.ModeOpen {
		end = heldHorizon
	}
	if f.there > 0 {
		f.leaving = 1 - math.Exp(-p.leaves()/f.there/60)
	}
	f.seconds = append(f.seconds, f.point())
	for range int(end / time.Second) {
		if f.there < 0.5 {
			break
		}
		f.second()
	}
	return f.result(opensIn)
}

// flow is a forecast under way. Its figures are of people, in parts of one.
type flow struct {
	Present
	rates window.Rates
	// there are those of the present line who wait, absent those of it who have left and are not swept yet, behind the
	// newcomers. leaving is the share of those who wait that leaves in a second.
	there, absent, behind, leaving float64
	// in are those of the present line who were admitted by each second, admitted everybody.
	in, admitted []float64
	left         float64
	// inside is how many are inside.
	inside  float64
	seconds []point
}

// point is the line at the end of one second.
type point struct{ waiting, admitted float64 }

func (f *flow) point() point { return point{f.there + f.absent + f.behind, last(f.admitted)} }

func last(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	return all[len(all)-1]
}

// second goes on by one.
func (f *flow) second() {
	at, s := len(f.admitted), f.Settings
	leave := f.there * f.leaving
	f.there, f.left, f.behind = f.there-leave, f.left+leave, f.behind*(1-f.leaving)
	idle := max(1, s.IdleTimeout().Seconds()+sweepEvery.Seconds()/2) // who has left is silent for so long before it is seen
	f.absent += leave - f.absent/idle
	if s.Mode != zone.ModeClosed && (s.MaxWaiting == 0 || f.point().waiting < float64(s.MaxWaiting)) {
		f.behind += f.JoinsPerMinute / 60
	}
	// Who came in within the minute before now counts until a minute has passed, as who comes in from now on.
	const minute = 60
	before := 0.0
	if at >= minute {
		before = f.admitted[at-minute]
	}
	inMinute := last(f.admitted) - before + float64(f.State.InMinute)*max(0, minute-float64(at)-1)/minute
	room := min(float64(f.rates.Pace)/minute, max(0, float64(s.PerMinute)-inMinute))
	if s.Mode == zone.ModeOpen { // everybody at the next poll
		room = float64(f.State.Waiting)/(float64(f.rates.PeriodCapMillis)/1000) + f.JoinsPerMinute
	}
	if s.MaxInside > 0 && s.Mode != zone.ModeOpen {
		f.inside -= f.inside * min(1, 1000/float64(max(1, f.StayMillis)))
		room = min(room, max(0, float64(s.MaxInside)-f.inside))
	}
	first := min(room, f.there)
	f.there -= first
	more := min(room-first, f.behind)
	f.behind -= more
	f.inside += first + more
	f.in = append(f.in, last(f.in)+first)
	f.admitted = append(f.admitted, last(f.admitted)+first+more)
	f.seconds = append(f.seconds, f.point())
}

// polls are those a second of a line of so many.
func (f *flow) polls(waiting float64) (perSecond float64) {
	for i := range places {
		far := int64(waiting * (float64(i) + 0.5) / places)
		period := f.rates.FarPeriod(far, f.rates.Estimate(0, far, 0, 0, 0), window.MaxEstimateMillis, 128)
		perSecond += waiting / places * 1000 / float64(period)
	}
	return perSecond
}

// result is what became of the line that begins so many milliseconds from now.
func (f *flow) result(beginsIn int64) Forecast {
	out := Forecast{
		Waiting: f.State.Waiting, Present: int64(math.Round(f.present())), Complete: f.there < 0.5,
		Admitted: int64(math.Round(last(f.in))), Left: int64(math.Round(f.left)),
		JoinsPerMinute: f.JoinsPerMinute, LeavesPerMinute: f.leaves(),
	}
	if out.Complete && out.Admitted > 0 {
		// by returns when that share of those who get in are in.
		by := func(share float64) *int64 {
			n := slices.IndexFunc(f.in, func(in float64) bool { return in >= share*last(f.in) })
			return new(beginsIn + int64(n+1)*1000)
		}
		out.LastInMillis, out.MedianWaitMillis, out.P95WaitMillis = by(1), by(0.5), by(0.95)
	}
	tenth := func(polls float64) float64 { return math.Round(10*polls) / 10 }
	add := func(millis int64, p point) float64 {
		polls := f.polls(p.waiting)
		out.Series.AtMillis = append(out.Series.AtMillis, millis)
		out.Series.Waiting = append(out.Series.Waiting, int64(math.Ceil(p.waiting)))
		out.Series.Admitted = append(out.Series.Admitted, int64(math.Floor(p.admitted)))
		out.Series.PollsPerSecond = append(out.Series.PollsPerSecond, tenth(polls))
		return polls
	}
	if beginsIn > 0 {
		add(0, f.seconds[0])
	}
	step := (len(f.seconds) + maxPoints - 1) / maxPoints
	sum, n := 0.0, 0.0
	for i := 0; i < len(f.seconds); i += step {
		polls := add(beginsIn+int64(i)*1000, f.seconds[i])
		sum, n = sum+polls, n+1
		out.PollsPerSecondPeak = max(out.PollsPerSecondPeak, tenth(polls))
	}
	out.PollsPerSecondMean = tenth(sum / n)
	return out
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
