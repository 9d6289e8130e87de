package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/operate/change"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/operate/simulate"
	"github.com/openqueue/waitingroom/internal/zone"
)

// dryView is the dry run: its form, and once it has run, what came out.
type dryView struct {
	Zone   zone.Settings
	Typed  string
	Faults []string
	// Says is empty before it has run. Plot are columns: the time in Unix seconds, who waits, and
	// who was admitted.
	Says   change.Says
	Plot   [3][]float64
	Points []dryPoint
}

// dryPoint is a row of the table beside the plot.
type dryPoint struct {
	At                       time.Time
	Waiting, Admitted, Polls string
}

// dryRows is how many rows the table has at most.
const dryRows = 10

// forecastPage is GET /console/zones/{zoneId}/forecast: the dry run of the limit
// in the query. It changes nothing.
func (c *Console) forecastPage(w http.ResponseWriter, r *http.Request, s session, current zone.Settings) error {
	proposed, faults := readSettings(zone.Table, r.URL.Query(), "", current)
	v := dryView{Zone: proposed, Typed: count(proposed.PerMinute), Faults: faults}
	status := http.StatusOK
	switch typed := r.URL.Query().Get("perMinute"); {
	case len(faults) > 0:
		v.Typed, status = typed, http.StatusUnprocessableEntity
	case typed != "":
		f, err := c.Zones.ForecastOf(r.Context(), proposed)
		if err != nil {
			return err
		}
		v.Says = forecastSays(f.Forecast, proposed.PerMinute, c.Now())
		v.draw(f.Series, c.Now())
	}
	return c.render(w, status, "forecast", s, "Dry run of "+current.ZoneID, v)
}

// forecastSays puts the result into sentences.
func forecastSays(f simulate.Forecast, perMinute int64, now time.Time) change.Says {
	var all change.Says
	limit := count(perMinute)
	switch {
	case f.Waiting == 0:
		all.Add("Nobody waits now, so there is nothing to run.")
		return all
	case perMinute == 0:
		all.Add("At 0 a minute nobody of the %s waiting enters.", count(f.Waiting))
	case !f.Complete || f.LastInMillis == nil:
		all.Warn("At %s a minute, some of the %s waiting now are not in within a day.", limit, count(f.Waiting))
	default:
		in := now.Add(time.Duration(*f.LastInMillis) * time.Millisecond)
		all.AddAt(in, ", in "+span(*f.LastInMillis)+".", "At %s a minute the last of the %s waiting now is in at about", limit, count(f.Waiting))
	}
	if f.MedianWaitMillis != nil && f.P95WaitMillis != nil {
		all.Add("From now, half of them wait %s or less, and 95 %% wait %s or less.", span(*f.MedianWaitMillis), span(*f.P95WaitMillis))
	}
	if f.Complete {
		all.Add("%s of them enter; %s leave before.", count(f.Admitted), count(max(0, f.Waiting-f.Admitted)))
	}
	all.Add("It means %s polls a second on average, %s at most.", rate(f.PollsPerSecondMean), rate(f.PollsPerSecondPeak))
	all.Add("Supposed: %s more join a minute, and %s leave a minute, as now.", rate(f.JoinsPerMinute), rate(f.LeavesPerMinute))
	return all
}

// draw fills in the plot, and the table beside it.
func (v *dryView) draw(s simulate.Series, now time.Time) {
	step := max(1, (len(s.AtMillis)+dryRows-1)/dryRows)
	for i, millis := range s.AtMillis {
		at := now.Add(time.Duration(millis) * time.Millisecond)
		v.Plot[0] = append(v.Plot[0], float64(at.UnixMilli())/1000)
		v.Plot[1] = append(v.Plot[1], float64(s.Waiting[i]))
		v.Plot[2] = append(v.Plot[2], float64(s.Admitted[i]))
		if i%step == 0 {
			v.Points = append(v.Points, dryPoint{at, count(s.Waiting[i]), count(s.Admitted[i]), rate(s.PollsPerSecond[i])})
		}
	}
}

// eventDryView is the dry run of an event: its form, and once it has run, what came out.
type eventDryView struct {
	ZoneID, Name, Path string
	// Gather and Leave are what is typed, Most the most that may gather.
	Gather, Leave string
	Most          int64
	Faults        []string
	// Text is what simulate --event prints; "" before it has run. Plot are columns: the time,
	// who waits, and who is in.
	Text string
	Plot [3][]float64
}

const (
	// dryGather is how many gather unless the operator says otherwise, dryLeave how many of
	// 100 leave.
	dryGather = 5_000
	dryLeave  = 20
)

func newEventDry(zoneID, name string) eventDryView {
	return eventDryView{
		ZoneID: zoneID, Name: name, Path: eventPath(zoneID, name), Most: operator.MaxPlayed,
		Gather: count(dryGather), Leave: count(dryLeave),
	}
}

// eventDry is GET /console/zones/{zoneId}/schedule/{event}/dryrun: plays the event with so many
// who gather, of whom so many leave. It changes nothing.
func (c *Console) eventDry(w http.ResponseWriter, r *http.Request, s session, current zone.Settings, e event.Event) error {
	v, status := newEventDry(current.ZoneID, e.Name), http.StatusOK
	if q := r.URL.Query(); q.Has("gather") {
		v.Gather, v.Leave = q.Get("gather"), q.Get("leave")
		cfg := simulate.EventConfig{
			Zone: current, Event: e.Name, Gather: v.number("How many gather", v.Gather, 1, operator.MaxPlayed), Within: simulate.DefaultWithin,
			Leave: float64(v.number("Of them leave", v.Leave, 0, 100)) / 100, Seed: 1,
		}
		if len(v.Faults) == 0 {
			if err := v.play(r.Context(), c.Zones, cfg); err != nil {
				return err
			}
		}
	}
	if len(v.Faults) > 0 {
		status = http.StatusUnprocessableEntity
	}
	return c.render(w, status, "eventdry", s, "Dry run of "+e.Name, v)
}

// number reads what is typed.
func (v *eventDryView) number(label, typed string, least, most int) int {
	n, err := strconv.Atoi(strings.ReplaceAll(strings.TrimSpace(typed), ",", ""))
	if err != nil || n < least || n > most {
		v.Faults = append(v.Faults, fmt.Sprintf("%s: write a whole number between %s and %s.", label, count(int64(least)), count(int64(most))))
	}
	return n
}

// play fills the view.
func (v *eventDryView) play(ctx context.Context, zones *operator.Service, cfg simulate.EventConfig) error {
	report, err := zones.Play(ctx, cfg)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		v.Faults = append(v.Faults, "That takes longer than this server can spare: let fewer gather.")
		return nil
	case errors.Is(err, simulate.ErrConfig):
		v.Faults = append(v.Faults, strings.TrimPrefix(err.Error(), "operator: play an event: "))
		return nil
	case err != nil:
		return err
	}
	var text strings.Builder
	if err := report.Print(&text); err != nil {
		return err
	}
	admitted := 0
	for _, at := range report.Seconds {
		admitted += at.Admitted
		v.Plot[0] = append(v.Plot[0], float64(report.OpensAt.Unix()+int64(at.At)))
		v.Plot[1] = append(v.Plot[1], float64(at.Present))
		v.Plot[2] = append(v.Plot[2], float64(admitted))
	}
	v.Text = text.String()
	return nil
}
