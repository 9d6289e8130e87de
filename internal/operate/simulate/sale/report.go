package sale

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
	"text/template"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/measure"
	"github.com/openqueue/waitingroom/internal/operate/simulate"
	"github.com/openqueue/waitingroom/internal/schedule"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Report is what a run showed. Times are milliseconds from the opening on, in virtual time.
type Report struct {
	ZoneID  string      `json:"zoneId"`
	Event   string      `json:"event"`
	Order   event.Order `json:"order"`
	OpensAt time.Time   `json:"opensAt"`
	// OutageMs is how long the store was away, from the opening on.
	OutageMs int64 `json:"outageMs"`
	// Visitors came, Gathered of them before people settled. Each was admitted, left
	// silently, was refused (no newcomers, or swept), or Waits still a day later: the
	// four add up.
	Visitors int `json:"visitors"`
	Gathered int `json:"gathered"`
	Admitted int `json:"admitted"`
	Left     int `json:"left"`
	Refused  int `json:"refused"`
	Waits    int `json:"waits"`
	// Steps are those that were made, and how late the servers were.
	Steps []Step `json:"steps"`
	// In says when how many were in.
	In []In `json:"in"`
	// TooEarly were let in before the opening: none.
	TooEarly int `json:"tooEarly"`
	// MaxInWindow and MaxInSecond are the most admissions in any window, and in any
	// 1,000 ms while there is a line, and their limits.
	WindowLimit int64 `json:"windowLimit"`
	MaxInWindow int   `json:"maxInWindow"`
	PerSecond   int64 `json:"perSecond"`
	MaxInSecond int   `json:"maxInSecond"`
	// FirstWindows is the share of capacity used in the first two windows from when the
	// event is open and the store is there; of those who wait, where they are fewer.
	FirstWindows float64 `json:"firstWindows"`
	// OvertakenP99 is by how many of those behind one was overtaken, in windows' worth.
	OvertakenP99 float64 `json:"overtakenP99"`
	// Requests a second: the mean of the half minute before people settle and of the minute
	// about the opening, and the most in any second. StoreAway got 503.
	RequestsGathering float64 `json:"requestsGathering"`
	RequestsOpening   float64 `json:"requestsOpening"`
	RequestsMost      int     `json:"requestsMost"`
	StoreAway         int     `json:"storeAway"`
	// Tickets are on the published list of the draw; Fault says what is wrong with it.
	Tickets int    `json:"tickets"`
	Fault   string `json:"fault,omitempty"`
	// Seconds are those from a minute before the opening to two after it.
	Seconds []Second `json:"seconds"`
}

// Step is one of the event's.
type Step struct {
	Step event.Step `json:"step"`
	// AtMs is when it was made, LateMs how long after its time.
	AtMs   int64 `json:"atMs"`
	LateMs int64 `json:"lateMs"`
}

// In is when a number of visitors was in.
type In struct {
	// Share of the admitted is the first N.
	Share float64 `json:"share"`
	N     int     `json:"n"`
	AtMs  int64   `json:"atMs"`
}

// Second is one of the run.
type Second struct {
	// At is in seconds from the opening on.
	At int `json:"at"`
	// Present is how many wait at its end who have not left.
	Present int `json:"present"`
	// Requests were made in it, of which Refused got 503 and Admitted let somebody in.
	Requests int `json:"requests"`
	Refused  int `json:"refused"`
	Admitted int `json:"admitted"`
}

// The seconds of a report.
const (
	firstSecond = -60
	lastSecond  = 120
	// gathering is for how long before people settle requests are counted, opening for how
	// long about the opening.
	gathering = 30
	opening   = 60
)

// second is the one that it is.
func (r *run) second() *Second {
	at := int(math.Floor(float64(r.now-r.opens) / 1_000_000))
	if r.seconds[at] == nil {
		r.seconds[at] = &Second{At: at}
	}
	return r.seconds[at]
}

// look reads what the servers have recorded and published.
func (r *run) look(ctx context.Context) error {
	changes, err := r.store.Changes(ctx, r.zone.ZoneID)
	if err != nil {
		return err
	}
	for _, c := range slices.Backward(changes) {
		if c.By != zone.By(r.zone.Events[0].Name) || c.Was == nil || c.Now == nil {
			continue
		}
		if d := c.Now.EventState.Draw(); d != nil {
			r.draw = d
		}
		was, now := c.Was.EventState.Now, c.Now.EventState.Now
		if was == nil {
			continue // announced
		}
		if step, due := was.Next(); now == nil || now.Phase != was.Phase {
			r.out.Steps = append(r.out.Steps, Step{step, c.AtMillis - r.opens/1000, c.AtMillis - due})
		}
	}
	if r.draw == nil {
		return nil
	}
	d, list, err := r.schedule.List(ctx, r.zone.ZoneID, r.zone.Events[0].Name)
	switch {
	case errors.Is(err, schedule.ErrNoDraw):
		r.out.Fault = "it was not published"
	case err != nil:
		return err
	default:
		r.out.Tickets, r.out.Fault = d.Tickets, d.Fault(list, nil)
	}
	return nil
}

func (r *run) report() Report {
	rates := window.RatesOf(r.zone.WithEvent(r.zone.Events[0]))
	out := r.out
	out.ZoneID, out.Event, out.Order = r.zone.ZoneID, r.zone.Events[0].Name, r.zone.Events[0].Listed().Order
	out.OpensAt, out.OutageMs, out.Visitors = time.UnixMicro(r.opens).UTC(), r.cfg.Outage.Milliseconds(), len(r.visitors)
	out.WindowLimit, out.PerSecond = rates.Limit, rates.PerSecond
	var crowd []measure.Visitor
	for i := range r.visitors {
		v := &r.visitors[i]
		if at := v.place.ArrivedAtMicros; at > 0 && at < r.settles {
			out.Gathered++
		}
		switch v.state {
		case simulate.Inside:
			out.Admitted++
			crowd = append(crowd, measure.Visitor{Place: r.stands(v), AdmittedMillis: v.admitted / 1000, Straight: v.polls == 0})
			if v.admitted < r.opens && r.gathers < r.opens {
				out.TooEarly++
			}
		case simulate.Left:
			out.Left++
		case simulate.Lost:
			out.Refused++
		case simulate.Coming, simulate.Waiting:
			out.Waits++
		}
	}
	seen := measure.Judge(crowd, rates)
	times := seen.Times
	for _, share := range []float64{0, 0.1, 0.25, 0.5, 0.75, 0.9, 1} {
		if n := int(share * float64(len(times))); len(times) > 0 {
			n = max(1, n)
			out.In = append(out.In, In{share, n, times[n-1] - r.opens/1000})
		}
	}
	out.MaxInWindow, out.MaxInSecond = seen.MostWindow, seen.MostSecond
	out.FirstWindows = r.firstWindows(times, rates)
	out.OvertakenP99 = measure.Percentile(seen.Overtaken, 99)
	r.requests(&out)
	return out
}

// stands is where the visitor stands in the line.
func (r *run) stands(v *visitor) int64 {
	if d := r.draw; d != nil && d.Holds(v.place.ArrivedAtMicros) {
		seed, _ := r.seeds.Seed(r.zone.ZoneID, *d)
		return d.Score(seed, event.TicketOf(r.zone.ZoneID, d.Event, v.place.ID))
	}
	return v.place.ArrivedAtMicros
}

// firstWindows is described at Report.
func (r *run) firstWindows(times []int64, rates window.Rates) float64 {
	from := r.opens/1000 + r.cfg.Outage.Milliseconds()
	first, _ := slices.BinarySearch(times, from)
	upto, _ := slices.BinarySearch(times, from+2*rates.WindowMillis)
	can := min(2*rates.Limit, int64(len(times)-first))
	if can == 0 {
		return 0
	}
	return float64(upto-first) / float64(can)
}

// requests counts those of the seconds.
func (r *run) requests(out *Report) {
	settles := int(r.settles-r.opens) / 1_000_000
	before, about := 0, 0
	for at, s := range r.seconds {
		if at >= settles-gathering && at < settles {
			before += s.Requests
		}
		if at >= -opening/2 && at < opening/2 {
			about += s.Requests
		}
		out.RequestsMost = max(out.RequestsMost, s.Requests)
		out.StoreAway += s.Refused
		if at >= firstSecond && at < lastSecond {
			out.Seconds = append(out.Seconds, *s)
		}
	}
	out.RequestsGathering, out.RequestsOpening = float64(before)/gathering, float64(about)/opening
	slices.SortFunc(out.Seconds, func(a, b Second) int { return a.At - b.At })
}

//go:embed report.tmpl
var rows string

// page has a row for each figure, with a cell for each report.
var page = template.Must(template.New("").Funcs(template.FuncMap{
	"seconds": func(ms int64) time.Duration {
		return (time.Duration(ms) * time.Millisecond).Round(100 * time.Millisecond)
	},
	"percent": func(share float64) float64 { return 100 * share },
}).Parse(rows))

// Print writes reports of one event for people, side by side.
func Print(w io.Writer, reports ...Report) error {
	if len(reports) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if err := errors.Join(page.Execute(table, reports), table.Flush()); err != nil {
		return err
	}
	return printSeconds(w, reports)
}

// tenSeconds is how many seconds a line of the table has.
const tenSeconds = 10

// printSeconds writes what happened about the opening.
func printSeconds(w io.Writer, reports []Report) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprint(table, "\nfrom the opening on") // Flush tells
	for range reports {
		_, _ = fmt.Fprint(table, "\twait\trequests/s\tmost\tlet in/s")
	}
	_, _ = fmt.Fprintln(table, "\t")
	for from := firstSecond; from < lastSecond; from += tenSeconds {
		_, _ = fmt.Fprintf(table, "%+d to %+d s", from, from+tenSeconds)
		for _, r := range reports {
			var sum Second
			most := 0
			for _, s := range r.Seconds {
				if s.At >= from && s.At < from+tenSeconds {
					sum.Requests += s.Requests
					sum.Admitted += s.Admitted
					sum.Present = s.Present
					most = max(most, s.Requests)
				}
			}
			_, _ = fmt.Fprintf(table, "\t%d\t%.0f\t%d\t%.1f", sum.Present, float64(sum.Requests)/tenSeconds, most, float64(sum.Admitted)/tenSeconds)
		}
		_, _ = fmt.Fprintln(table, "\t")
	}
	return table.Flush()
}
