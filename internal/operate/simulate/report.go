package simulate

import (
	_ "embed"
	"fmt"
	"io"
	"math"
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
	// G14, in a zone with a cap: the cap, the most that were inside, and the shares of the cap that were inside and that were
	// people, while somebody waited. The difference are slots of those who have gone.
	MaxInside    int64   `json:"maxInside"`
	MostInside   int64   `json:"mostInside"`
	InsideUsed   float64 `json:"insideUsed"`
	InsidePeople float64 `json:"insidePeople"`
	// Behind a model of a site, in the seconds in which somebody waited, after the first two minutes: the share in which the site was within
	// the autopilot's bounds, the highest p95, what succeeded as a share of the site's best, how many steps the autopilot made, and the least
	// and the largest cap.
	Site          bool    `json:"site,omitempty"`
	SiteInBound   float64 `json:"siteInBound,omitempty"`
	SiteP95Millis float64 `json:"siteP95Millis,omitempty"`
	SiteUsed      float64 `json:"siteUsed,omitempty"`
	PilotSteps    int     `json:"pilotSteps,omitempty"`
	LeastCap      int64   `json:"leastCap,omitempty"`
	MostCap       int64   `json:"mostCap,omitempty"`
	// G3: by how many later arrivals those who polled when told to were
	// overtaken, in windows' worth.
	OvertakenP50 float64 `json:"overtakenP50"`
	OvertakenP99 float64 `json:"overtakenP99"`
	OvertakenMax float64 `json:"overtakenMax"`
	// G4: how many of the Swept had polled within the idle timeout.
	PlacesLost int `json:"placesLost"`
	// G6: positions that rose, and |estimate - wait| / wait over all answers to those
	// who polled when told to whose wait was at least a window.
	PositionsRose    int     `json:"positionsRose"`
	EstimateErrorP50 float64 `json:"estimateErrorP50"`
	EstimateErrorP90 float64 `json:"estimateErrorP90"`
	// EstimateCovered is the share of them whose range held the wait.
	EstimateCovered float64 `json:"estimateCovered"`
	// EstimatesJudged is how many these answers are, of at most maxSample visitors.
	EstimatesJudged int `json:"estimatesJudged"`
	// G7: polls of those who were admitted.
	PollsMean float64 `json:"pollsMean"`
	PollsP99  float64 `json:"pollsP99"`
	PollsMax  int     `json:"pollsMax"`
	// PollsPerSecondMax is the busiest second, everybody's polls counted.
	PollsPerSecondMax int `json:"pollsPerSecondMax"`
}

// Overtaken says in words by how many later arrivals visitors were overtaken who polled when told to.
func (r Report) Overtaken() string {
	by := func(windows float64) int { return int(math.Ceil(windows * float64(r.WindowLimit))) }
	if by(r.OvertakenMax) == 0 {
		return "nobody, by anybody who came later"
	}
	return fmt.Sprintf("half of the visitors by at most %d who came later, 99 %% by at most %d, all by at most %d (p50 %.2f, p99 %.2f, max %.2f windows)",
		by(r.OvertakenP50), by(r.OvertakenP99), by(r.OvertakenMax), r.OvertakenP50, r.OvertakenP99, r.OvertakenMax)
}

// report is that of the crowd in a zone with those rates, from a time on.
func (c *crowd) report(rates window.Rates, from int64) Report {
	slices.Sort(c.admitted)
	out := Report{
		Visitors: len(c.visitors), Admitted: len(c.admitted), Left: c.ended[left], Swept: c.ended[swept], Refused: c.ended[refused],
		PerMinute: rates.PerMinute, WindowLimit: rates.Limit, Burst: c.zone.Burst, PerSecond: rates.PerSecond,
		PlacesLost: c.lost, PollsPerSecondMax: c.mostPolls,
	}
	if n := len(c.admitted); n > 0 {
		out.LastInMs = c.admitted[n-1] - from/1000
	}
	for i := range c.changes {
		c.changes[i].AtMillis = max(c.changes[i].AtMillis, from/1000)
	}
	out.CapacityUsed = measure.Capacity(c.changes, c.admitted, rates)
	c.judgeVisitors(&out, rates)
	if c.shop != nil {
		c.shop.report(&out)
	}
	return out
}

// judgeVisitors measures what the visitors saw.
func (c *crowd) judgeVisitors(out *Report, rates window.Rates) {
	var all []measure.Visitor
	var polls, waits []float64
	sum := 0
	for i := range c.visitors {
		v := &c.visitors[i]
		out.PositionsRose += v.rose
		if v.state != inside {
			continue
		}
		all = append(all, measure.Visitor{
			Place: v.place.StandsAtMicros(), AdmittedMillis: v.admitted / 1000, Straight: v.polls == 0, Late: v.late,
		})
		sum += v.polls
		polls = append(polls, float64(v.polls))
		waits = append(waits, float64(v.admitted-v.joined)/1000)
	}
	seen := measure.Judge(all, rates)
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
	c.judgeEstimates(out, rates.WindowMillis)
}

// judgeEstimates compares the estimates that visitors got with their waits. Estimates of waits shorter than a window are not counted.
func (c *crowd) judgeEstimates(out *Report, windowMillis int64) {
	var errs []float64
	held := 0
	for i := range c.visitors {
		v := &c.visitors[i]
		for _, t := range v.estimates {
			j, counts := t.Judge(v.admitted, windowMillis)
			if !counts || v.state != inside || v.late {
				continue
			}
			errs = append(errs, j.Error())
			if j.Outcome == estimate.Held {
				held++
			}
		}
	}
	slices.Sort(errs)
	out.EstimateErrorP50, out.EstimateErrorP90 = measure.Percentile(errs, 50), measure.Percentile(errs, 90)
	out.EstimateCovered = float64(held) / max(1, float64(len(errs)))
	out.EstimatesJudged = len(errs)
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
func (r Report) Print(w io.Writer) error { return pages.ExecuteTemplate(w, "report", r) }
