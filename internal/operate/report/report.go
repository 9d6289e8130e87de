package report

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/openqueue/waitingroom/internal/history"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/operate/change"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// MostDays is the longest span of a report.
const MostDays = 31

const minute = time.Minute

// Report is how a span of a zone was. Times are in Unix milliseconds on the zone's clock, waits in milliseconds.
type Report struct {
	ZoneID string `json:"zoneId"`
	Event  string `json:"event,omitempty" doc:"The event that the span is of, if it is of one." example:"noon"`
	From   int64  `json:"from" doc:"The first moment, in Unix milliseconds." example:"1795219200000"`
	To     int64  `json:"to" doc:"The moment after the last, in Unix milliseconds." example:"1795226400000"`
	MadeAt int64  `json:"madeAt" doc:"When the report was made, in Unix milliseconds." example:"1795309800000"`

	Totals  line.Totals `json:"totals"`
	Refused []Refusal   `json:"refused" doc:"Requests that were refused, on all servers, the most frequent code first."`

	WaitP50Millis int64 `json:"waitP50Millis" doc:"How long half of the admitted had waited at most, to within an eighth." example:"300032"`
	WaitP95Millis int64 `json:"waitP95Millis" doc:"The same of 95 %." example:"321536"`
	WaitMaxMillis int64 `json:"waitMaxMillis" doc:"The longest of these waits." example:"400000"`

	MostWaiting Most `json:"mostWaiting" doc:"The most who waited."`
	MostInside  Most `json:"mostInside" doc:"The most who were inside, in a zone with maxInside."`
	// FullAt is 0 if the cap never held.
	FullAt int64 `json:"fullAt,omitempty" doc:"From when on as many were inside as may be; absent if they never were." example:"1795223373123"`
	// FirstAt and LastAt bound the minutes in which somebody was admitted.
	FirstAt int64 `json:"firstAt,omitempty" doc:"The first minute in which somebody was admitted." example:"1795219200000"`
	LastAt  int64 `json:"lastAt,omitempty" doc:"The last of them." example:"1795223340000"`

	UsePercent float64  `json:"usePercent" doc:"How much of the limit was used in the minutes in which a minute's worth waited; 0 if there were none." example:"98.2"`
	Promise    *Promise `json:"promise,omitempty" doc:"How the waits that were told compare with those that were; absent where too few minutes tell."`
	// Gaps are the minutes without data.
	Gaps    []Gap            `json:"gaps" doc:"Spans in which no server could ask the store."`
	Actions []Action         `json:"actions" doc:"What operators, files and events changed, the oldest first."`
	Minutes []history.Minute `json:"minutes" doc:"The minutes in which anything happened, in order."`
	WhatIf  []Scenario       `json:"whatIf" doc:"The same arrivals at other limits, simulated; empty where too many came for that."`
}

// Refusal is how many requests ended with a problem.
type Refusal struct {
	Code     string `json:"code" doc:"The code of the problem." example:"line_full"`
	Requests int64  `json:"requests" doc:"How many." example:"120"`
}

// Most is the largest of the minutes' values.
type Most struct {
	N  int64 `json:"n" doc:"How many." example:"5000"`
	At int64 `json:"at,omitempty" doc:"The minute, in Unix milliseconds." example:"1795219260000"`
}

// Promise compares what those who joined were told with how long they waited.
type Promise struct {
	Minutes            int     `json:"minutes" doc:"Of how many minutes' joins." example:"54"`
	MedianErrorPercent float64 `json:"medianErrorPercent" doc:"The median of the differences, in percent of the real wait." example:"8.5"`
}

// Gap is a span without data.
type Gap struct {
	At       int64 `json:"at" doc:"When it begins, in Unix milliseconds." example:"1795223340000"`
	Minutes  int64 `json:"minutes" doc:"How long it is." example:"2"`
	Admitted int64 `json:"admitted" doc:"How many were admitted in it, as far as the totals tell." example:"0"`
}

// Action is one change in the record.
type Action struct {
	At   int64    `json:"at" doc:"When, in Unix milliseconds." example:"1795223373123"`
	By   string   `json:"by" doc:"Who." example:"Ada"`
	What []string `json:"what" doc:"What was changed, one setting each." example:"[perMinute 600 -> 900]"`
}

// Source is what a report is made of.
type Source struct {
	ZoneID, Event string
	From, To, Now time.Time
	Minutes       []history.Minute
	// Changes are the record, in any order.
	Changes []zone.Change
}

// Make returns the report, without WhatIf.
func Make(s Source) *Report {
	r := &Report{
		ZoneID: s.ZoneID, Event: s.Event, From: s.From.UnixMilli(), To: s.To.UnixMilli(), MadeAt: s.Now.UnixMilli(), Minutes: s.Minutes,
		Refused: []Refusal{}, Gaps: []Gap{}, Actions: []Action{}, WhatIf: []Scenario{},
	}
	codes := make(map[string]int64)
	var used, could int64
	for i := range r.Minutes {
		m := &r.Minutes[i]
		r.Totals = r.Totals.Plus(line.Totals{}, m.Totals)
		for code, n := range m.Refused {
			codes[code] += n
		}
		if m.NoData > 0 {
			r.Gaps = append(r.Gaps, Gap{m.At, m.NoData, m.Admitted})
			continue
		}
		r.MostWaiting.see(m.Waiting, m.At)
		r.MostInside.see(m.Inside, m.At)
		if m.MaxInside > 0 && m.Inside >= m.MaxInside && r.FullAt == 0 {
			r.FullAt = m.At
		}
		if m.Admitted > 0 {
			r.FirstAt, r.LastAt = cmp.Or(r.FirstAt, m.At), m.At
		}
		// A change within the minute leaves open what could have been.
		if m.Mode == zone.ModeQueue && m.Waiting >= 2*m.PerMinute && i > 0 && r.Minutes[i-1].PerMinute == m.PerMinute &&
			(m.MaxInside == 0 || m.Inside < m.MaxInside) {
			used, could = used+m.Admitted, could+m.PerMinute
		}
	}
	if could > 0 {
		r.UsePercent = 100 * float64(used) / float64(could)
	}
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		r.Refused = append(r.Refused, Refusal{code, codes[code]})
	}
	slices.SortStableFunc(r.Refused, func(a, b Refusal) int { return cmp.Compare(b.Requests, a.Requests) })
	waits := history.WaitsOf(r.Minutes)
	r.WaitP50Millis, r.WaitP95Millis, r.WaitMaxMillis = window.WaitQuantile(waits, 0.5), window.WaitQuantile(waits, 0.95), window.WaitQuantile(waits, 1)
	r.Promise = r.promise()
	for _, c := range s.Changes {
		if r.From <= c.AtMillis && c.AtMillis < r.To {
			r.Actions = append(r.Actions, Action{c.AtMillis, c.Who(), change.Recorded(c)})
		}
	}
	slices.SortStableFunc(r.Actions, func(a, b Action) int { return cmp.Compare(a.At, b.At) })
	return r
}

func (m *Most) see(n, at int64) {
	if n > m.N {
		*m = Most{n, at}
	}
}

// GaveUp is how many had a place and did not get in: they left, or were silent for longer than the zone allows.
func (r *Report) GaveUp() int64 { return r.Totals.Left + r.Totals.Swept }

// promise compares each minute's median wait with what was told at the moment at which those who waited so long had joined. Waits of
// less than two minutes are left out: a minute is as exact as the rows are. It is nil where fewer than three minutes tell.
func (r *Report) promise() *Promise {
	told := make(map[int64]int64, len(r.Minutes))
	for i := range r.Minutes {
		told[r.Minutes[i].At] = r.Minutes[i].EstimateMillis
	}
	var errs []float64
	for i := range r.Minutes {
		m := &r.Minutes[i]
		if m.Admitted == 0 || m.WaitP50Millis < 2*minute.Milliseconds() {
			continue
		}
		// Those admitted in the middle of the minute. What was told then lies between the ends of two minutes.
		joined := m.At + minute.Milliseconds()/2 - m.WaitP50Millis
		in := joined % minute.Milliseconds()
		before, after := told[joined-in-minute.Milliseconds()], told[joined-in]
		if estimate := before + (after-before)*in/minute.Milliseconds(); after > 0 {
			errs = append(errs, 100*max(float64(estimate-m.WaitP50Millis), float64(m.WaitP50Millis-estimate))/float64(m.WaitP50Millis))
		}
	}
	if len(errs) < 3 {
		return nil
	}
	slices.Sort(errs)
	return &Promise{len(errs), errs[len(errs)/2]}
}
