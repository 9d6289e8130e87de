package simulate

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"text/template"
	"time"

	"github.com/openqueue/waitingroom/internal/estimate"
	"github.com/openqueue/waitingroom/internal/measure"
	"github.com/openqueue/waitingroom/internal/window"
)

// Report is what a run showed. Durations are in milliseconds of virtual time.
type Report struct {
	// Visitors came. Each was admitted, left silently, came back after having
	// been swept, or was refused a place: the four add up.
	Visitors int `json:"visitors"`
	Admitted int `json:"admitted"`
	Left     int `json:"left"`
	Swept    int `json:"swept"`
	Refused  int `json:"refused"`
	// LastInMs is when the last of them was admitted, after the first could
	// come; MedianMs the median wait of those admitted.
	LastInMs int64 `json:"lastInMs"`
	MedianMs int64 `json:"medianWaitMs"`

	// G1: the most admissions in any window and in any 60 s, and the limits.
	// Burst may come on top of WindowLimit while nobody waits.
	PerMinute   int64 `json:"perMinute"`
	WindowLimit int64 `json:"windowLimit"`
	Burst       int64 `json:"burst"`
	MaxInWindow int   `json:"maxInWindow"`
	MaxInMinute int   `json:"maxInMinute"`
	// G6a: the most admissions in any 1,000 ms that end when somebody enters who had
	// waited, and the limit.
	PerSecond   int64 `json:"perSecond"`
	MaxInSecond int   `json:"maxInSecond"`
	// G2: the share of capacity used while two windows' worth of live
	// visitors waited; -1 if there never were so many, or the limit changed on the way.
	CapacityUsed float64 `json:"capacityUsed"`
	// G3: by how many later arrivals those who polled when told to were
	// overtaken, in windows' worth.
	OvertakenP50 float64 `json:"overtakenP50"`
	OvertakenP99 float64 `json:"overtakenP99"`
	OvertakenMax float64 `json:"overtakenMax"`
	// G4: how many of the Swept had polled within the idle timeout.
	PlacesLost int `json:"placesLost"`
	// G6: positions that rose, and |estimate - wait| / wait over all answers
	// whose wait was at least a window.
	PositionsRose    int     `json:"positionsRose"`
	EstimateErrorP50 float64 `json:"estimateErrorP50"`
	EstimateErrorP90 float64 `json:"estimateErrorP90"`
	// Foreseen are the same, but for estimates that an operator's later change made wrong;
	// Thirds by the third of the wait in which they were told. Moved is the share of
	// consecutive ones of one visitor between which the told time of entry moved by more than a
	// tenth of the whole wait.
	Foreseen measure.Told    `json:"foreseen"`
	Thirds   [3]measure.Told `json:"thirds"`
	Moved    float64         `json:"moved"`
	// Oracle is Foreseen of one who knows how the crowd leaves, but not who will.
	// OracleMoved is its Moved.
	Oracle      measure.Told `json:"oracle"`
	OracleMoved float64      `json:"oracleMoved"`
	// G7: polls of those who were admitted.
	PollsMean float64 `json:"pollsMean"`
	PollsP99  float64 `json:"pollsP99"`
	PollsMax  int     `json:"pollsMax"`
	// PollsPerSecondMax is the busiest second, everybody's polls counted.
	PollsPerSecondMax int `json:"pollsPerSecondMax"`
}

// tally collects during the run.
type tally struct {
	admitted   []int64 // milliseconds, in order
	pollSecond int64   // the present second of virtual time
	polls      int     // polls in it
	pollsMost  int     // in any second
	// live is how many wait who have not left; changes has its history.
	live    int
	changes []measure.Change
}

func (m *tally) admit(now, millis int64) {
	m.admitted = append(m.admitted, millis)
	m.note(now, -1)
}

func (m *tally) poll(now int64) {
	if second := now / 1_000_000; second != m.pollSecond {
		m.pollSecond, m.polls = second, 0
	}
	m.polls++
	m.pollsMost = max(m.pollsMost, m.polls)
}

func (m *tally) note(now int64, d int) {
	m.live += d
	m.changes = append(m.changes, measure.Change{AtMillis: now / 1000, By: int64(d)})
}

func (r *run) report() Report {
	rates := window.RatesOf(r.cfg.Zone)
	out := r.out
	out.Visitors, out.Admitted, out.PollsPerSecondMax = len(r.visitors), len(r.m.admitted), r.m.pollsMost
	out.PerMinute, out.WindowLimit, out.Burst = r.cfg.Zone.PerMinute, rates.Limit, r.cfg.Zone.Burst
	slices.Sort(r.m.admitted)
	out.PerSecond = rates.PerSecond
	if n := len(r.m.admitted); n > 0 {
		out.LastInMs = r.m.admitted[n-1] - r.start/1000
	}
	out.CapacityUsed = -1
	if len(r.cfg.Changes) == 0 {
		out.CapacityUsed = measure.Capacity(r.m.changes, r.m.admitted, rates)
	}
	r.visits(&out, rates)
	r.told(&out, rates.WindowMillis)
	return out
}

// visits looks at those who were admitted.
func (r *run) visits(out *Report, rates window.Rates) {
	var crowd []measure.Visitor
	var polls, waits []float64
	sum := 0
	for i := range r.visitors {
		v := &r.visitors[i]
		if v.state != Inside {
			continue
		}
		crowd = append(crowd, measure.Visitor{
			Place: v.place.ArrivedAtMicros, AdmittedMillis: v.admitted / 1000, Straight: v.polls == 0, Late: !v.punctual,
		})
		sum += v.polls
		polls = append(polls, float64(v.polls))
		waits = append(waits, float64(v.admitted-v.joined)/1000)
	}
	seen := measure.Judge(crowd, rates)
	out.MaxInWindow, out.MaxInMinute, out.MaxInSecond = seen.MostWindow, seen.MostMinute, seen.MostSecond
	out.OvertakenP50 = measure.Percentile(seen.Overtaken, 50)
	out.OvertakenP99 = measure.Percentile(seen.Overtaken, 99)
	out.OvertakenMax = measure.Percentile(seen.Overtaken, 100)
	slices.Sort(polls)
	out.PollsMean = float64(sum) / max(1, float64(len(polls)))
	out.PollsP99 = measure.Percentile(polls, 99)
	out.PollsMax = int(measure.Percentile(polls, 100))
	slices.Sort(waits)
	out.MedianMs = int64(measure.Percentile(waits, 50))
}

// told compares what visitors were told, and what an oracle would have told them, with what became.
func (r *run) told(out *Report, windowMillis int64) {
	judge := func(told func(*visitor) []estimate.Told) measure.Estimates {
		return measure.EstimatesOf(func(yield func(measure.Entered) bool) {
			for i := range r.visitors {
				v := &r.visitors[i]
				if v.state == Inside && !yield(measure.Entered{JoinedMicros: v.joined, EnteredMicros: v.admitted, Told: told(v)}) {
					return
				}
			}
		}, windowMillis, r.crosses)
	}
	e := judge(func(v *visitor) []estimate.Told { return v.estimates })
	out.EstimateErrorP50, out.EstimateErrorP90 = e.All.ErrorP50, e.All.ErrorP90
	out.Foreseen, out.Thirds, out.Moved = e.Foreseen, e.Thirds, e.Moved
	o := judge(func(v *visitor) []estimate.Told { return v.oracle })
	out.Oracle, out.OracleMoved = o.Foreseen, o.Moved
}

// crosses reports whether an operator changed the limit between the two times, which
// nobody could know at the first.
func (r *run) crosses(from, to int64) bool {
	return slices.ContainsFunc(r.cfg.Changes, func(c Change) bool {
		at := r.start + c.At.Microseconds()
		return from < at && at <= to
	})
}

//go:embed report.tmpl
var texts string

// pages write reports. percent formats shares as printf does, as hundredths.
var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"seconds": func(ms int64) time.Duration { return (time.Duration(ms) * time.Millisecond).Round(time.Second) },
	"percent": func(format string, shares ...float64) string {
		hundredths := make([]any, len(shares))
		for i, share := range shares {
			hundredths[i] = 100 * share
		}
		return fmt.Sprintf(format, hundredths...)
	},
}).Parse(texts))

// Print writes the report for people.
func (o Report) Print(w io.Writer) error { return pages.ExecuteTemplate(w, "report", o) }
