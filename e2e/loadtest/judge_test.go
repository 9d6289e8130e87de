package loadtest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/openqueue/waitingroom/internal/estimate"
	"github.com/openqueue/waitingroom/internal/measure"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// punctuality is how late a visitor may ask, in milliseconds, and still count as
// one who polls when told to. The room grants a second; half of it is for the way.
const punctuality = window.GraceMillis / 2

// mostStrained is the share of requests, sent or answered late, beyond which the
// crowd was not the one that the scenario describes, and what depends on its being
// on time shows nothing. On a quiet machine it is 0.
const mostStrained = 0.01

// Counts are the server's own, of the zone, since its data began.
type Counts struct {
	Joined   int64 `json:"joined"`
	Admitted int64 `json:"admitted"`
}

// Finding is one promise, held against what was seen.
type Finding struct {
	Promise, Measured, Wanted string
	Kept                      bool
	// Exact: it holds however late the crowd was, and so must the measurement.
	Exact bool
}

// Verdict is what the crowd's story shows. What was overtaken is in windows' worth, errors and capacity are shares.
type Verdict struct {
	measure.Verdict

	Findings []Finding
	// Came is how many asked, In how many of them were admitted and know it. The others have Left, Waited to the end or Lost the place.
	Came, In, Left, Waited, Lost int
	LongestWait                  time.Duration
	OvertakenP99, OvertakenMost  float64
	// Dark is how many were silent on purpose, BackMost by how much one of them was overtaken once back.
	Dark          int
	BackMost      float64
	EstimateError float64
	// Capacity is -1 if there never were two windows' worth for a window's time.
	Capacity float64
	// Early were admitted before the opening of an event, FirstWindows is the share of capacity used in the two windows after it.
	Early        int
	FirstWindows float64
	// Requests were sent. Latencies are of those answered.
	Requests int
	P50, P99 time.Duration
	// Strained is the share of requests that were sent, or answered, more than half a second late.
	Strained float64
}

// Judge judges a story by the settings of its zone. The server's counts are not
// looked at if they are nil.
func Judge(s *Story, settings zone.Settings, counts *Counts) *Verdict {
	rates := window.RatesOf(settings)
	v := &Verdict{Verdict: measure.Judge(s.crowd(), rates), Came: len(s.Visitors)}
	for i := range v.Times {
		v.Times[i] -= s.Began
	}
	v.OvertakenP99, v.OvertakenMost = measure.Percentile(v.Overtaken, 99), measure.Percentile(v.Overtaken, 100)
	v.people(s)
	v.requests(s)
	v.back(s, float64(rates.Limit))
	v.EstimateError = estimateError(s, rates.WindowMillis)
	v.Early, _ = slices.BinarySearch(v.Times, s.Opens)
	upto, _ := slices.BinarySearch(v.Times, s.Opens+2*rates.WindowMillis)
	v.FirstWindows = float64(upto-v.Early) / math.Max(1, math.Min(float64(2*rates.Limit), float64(len(v.Times)-v.Early)))
	since := int64(0)
	if s.Opens > 0 {
		since = s.Opens + rates.WindowMillis // from then on a window can be full
	}
	v.Capacity = measure.Capacity(s.changes(since), v.Times, rates)
	v.find(s, rates, counts)
	return v
}

// find holds the figures against the promises.
func (v *Verdict) find(s *Story, rates window.Rates, counts *Counts) {
	p := s.Promises
	add := func(promise string, kept bool, measured, wanted string) {
		v.Findings = append(v.Findings, Finding{Promise: promise, Measured: measured, Wanted: wanted, Kept: kept})
	}
	exact := func(promise string, kept bool, measured, wanted string) {
		v.Findings = append(v.Findings, Finding{promise, measured, wanted, kept, true})
	}
	atMost := func(promise string, n int, limit int64) {
		exact(promise, int64(n) <= limit, fmt.Sprint(n), fmt.Sprint("at most ", limit))
	}
	exact("somebody was let in", v.In > 0, fmt.Sprint(v.In), "at least 1")
	atMost("never over the limit of a window", v.MostWindow, rates.Limit)
	atMost("never over the limit of a minute", v.MostMinute, rates.PerMinute)
	atMost("an even flow: never over the limit of a second while there is a line", v.MostSecond, rates.PerSecond)
	atMost("nobody lost the place", v.Lost, 0)
	if s.Opens > 0 {
		atMost("nobody was let in before the opening", v.Early, 0)
		add("no place is wasted: the first two windows after the opening", v.FirstWindows >= p.FirstWindows,
			exactly(v.FirstWindows), "at least "+exactly(p.FirstWindows))
	}
	if p.EverybodyIn {
		add("nobody was left waiting", v.Waited == 0, fmt.Sprint(v.Waited), "at most 0")
	}
	atMost("no place belongs to two", twins(s), 0)
	if counts != nil {
		exact("the server counts the places that visitors were told of", counts.Joined == int64(v.Came),
			fmt.Sprint(counts.Joined), fmt.Sprint(v.Came))
		exact("the server counts the admissions that visitors were told of", counts.Admitted == int64(v.In),
			fmt.Sprint(counts.Admitted), fmt.Sprint(v.In))
	}
	worth := func(x float64) string { return fmt.Sprintf("%.2f windows' worth", x) }
	add("first come, first served: overtaken, one of a hundred", v.OvertakenP99 <= p.OvertakenP99,
		worth(v.OvertakenP99), "at most "+worth(p.OvertakenP99))
	add("first come, first served: overtaken, the most", v.OvertakenMost <= p.OvertakenMost,
		worth(v.OvertakenMost), "at most "+worth(p.OvertakenMost))
	if v.Dark > 0 {
		add("who comes back goes first: overtaken once back, the most", v.BackMost <= p.OvertakenMost,
			worth(v.BackMost), "at most "+worth(p.OvertakenMost))
	}
	add("the estimate is honest: median error", v.EstimateError >= 0 && v.EstimateError <= p.EstimateError,
		exactly(v.EstimateError), "at most "+exactly(p.EstimateError))
	if p.CapacityUsed > 0 {
		add("no place is wasted: capacity used", v.Capacity >= p.CapacityUsed,
			exactly(v.Capacity), "at least "+exactly(p.CapacityUsed))
	}
}

// people counts who came to what end, and how long it took.
func (v *Verdict) people(s *Story) {
	var waits []int64
	for i := range s.Visitors {
		o := &s.Visitors[i]
		if o.Dark != nil {
			v.Dark++
		}
		switch {
		case o.End == endIn && o.Admitted > 0:
			v.In++
			waits = append(waits, o.Admitted-s.Began-o.Asked[0].Due)
		case o.End == endLeft:
			v.Left++
		case o.End == endWaiting:
			v.Waited++
		default: // lost, and whatever this package does not know
			v.Lost++
		}
	}
	slices.Sort(waits)
	v.LongestWait = millis(measure.Percentile(waits, 100))
}

// last is when the visitor was last told anything, or last asked in vain.
func (o *Visitor) last() int64 { return o.Asked[len(o.Asked)-1].told() }

// punctual reports whether the visitor polled when told to, and was answered.
func (o *Visitor) punctual() bool {
	for _, r := range o.Asked {
		if !r.answered() || r.Sent-r.Due > punctuality || r.told()-r.Due > window.GraceMillis {
			return false
		}
	}
	return o.Dark == nil
}

// place is the visitor's arrival in microseconds: one who was let straight in was
// told of none, and arrived then.
func (o *Visitor) place() int64 {
	if o.Arrived == 0 {
		return o.Admitted * 1000
	}
	return o.Arrived
}

// waited reports whether the visitor was told of a place in the line, and did not go straight in.
func (o *Visitor) waited() bool {
	return slices.ContainsFunc(o.Asked, func(r Request) bool { return r.Position > 0 })
}

// twins counts visitors who hold a place that another holds too.
func twins(s *Story) (n int) {
	seen := make(map[int64]bool, len(s.Visitors))
	for i := range s.Visitors {
		at := s.Visitors[i].Arrived
		if seen[at] {
			n++
		}
		seen[at] = at != 0
	}
	return n
}

// crowd are the visitors who were told of a place. One who was not admitted stood in the line, and
// could be passed, until last heard of.
func (s *Story) crowd() (all []measure.Visitor) {
	for i := range s.Visitors {
		if o := &s.Visitors[i]; o.place() != 0 {
			all = append(all, measure.Visitor{
				Place: o.place(), AdmittedMillis: o.Admitted, SeenMillis: s.Began + o.last(), Straight: !o.waited(), Late: !o.punctual(),
			})
		}
	}
	return all
}

// back counts, for each who was dark, those who came later and were admitted from when it was back.
func (v *Verdict) back(s *Story, limit float64) {
	for i := range s.Visitors {
		o := &s.Visitors[i]
		if o.Dark == nil || o.Admitted == 0 {
			continue
		}
		passed := 0
		for j := range s.Visitors {
			m := &s.Visitors[j]
			if m.Admitted > s.Began+o.Dark[1] && m.Admitted < o.Admitted && m.place() > o.place() {
				passed++
			}
		}
		v.BackMost = max(v.BackMost, float64(passed)/limit)
	}
}

// requests measures how long answers took, and how many requests were late.
func (v *Verdict) requests(s *Story) {
	var took []int64
	strained := 0
	for i := range s.Visitors {
		for _, r := range s.Visitors[i].Asked {
			v.Requests++
			if r.Status != 0 {
				took = append(took, r.Took)
			}
			if r.Sent-r.Due > punctuality || r.Took > punctuality {
				strained++
			}
		}
	}
	v.Strained = float64(strained) / math.Max(1, float64(v.Requests))
	slices.Sort(took)
	v.P50, v.P99 = millis(measure.Percentile(took, 50)), millis(measure.Percentile(took, 99))
}

func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// estimateError is the median of |told - real| / real over all answers that were at least a window away from the
// admission; -1 if there were none. Visitors who were dark have kept themselves waiting, and do not count.
func estimateError(s *Story, windowMillis int64) float64 {
	var errs []float64
	for i := range s.Visitors {
		o := &s.Visitors[i]
		if o.Admitted == 0 || o.Dark != nil {
			continue
		}
		for _, r := range o.Asked {
			told := estimate.Prediction{AtMicros: 1000 * r.told(), Millis: r.Estimate}
			if j, ok := told.Judge(1000*(o.Admitted-s.Began), windowMillis); ok && r.Position > 0 {
				errs = append(errs, j.Error())
			}
		}
	}
	if len(errs) == 0 {
		return -1
	}
	slices.Sort(errs)
	return measure.Percentile(errs, 50)
}

// changes are those of the number who wait and are there, from a time on: who is dark is not.
func (s *Story) changes(since int64) []measure.Change {
	var all []measure.Change
	for i := range s.Visitors {
		o := &s.Visitors[i]
		from, to := max(o.Asked[0].told(), since), o.last()
		if o.Admitted > 0 {
			to = o.Admitted - s.Began
		}
		if to <= from {
			continue
		}
		all = append(all, measure.Change{AtMillis: from, By: 1}, measure.Change{AtMillis: to, By: -1})
		if d := o.Dark; d != nil && d[0] < to {
			all = append(all, measure.Change{AtMillis: d[0], By: -1}, measure.Change{AtMillis: min(d[1], to), By: 1})
		}
	}
	slices.SortFunc(all, func(a, b measure.Change) int { return cmp.Compare(a.AtMillis, b.AtMillis) })
	return all
}

// exactly writes a share to a tenth of a percent, as what is held against a bound must be.
func exactly(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }
