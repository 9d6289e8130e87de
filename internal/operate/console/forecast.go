package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/openqueue/waitingroom/internal/operate/simulate"
	"github.com/openqueue/waitingroom/internal/zone"
)

// dryView is the dry run: its form, and once it has run, what came out.
type dryView struct {
	Zone   zone.Settings
	Typed  string
	Faults []string
	// Ran says that there is a result: sentences, and columns to plot.
	Ran    bool
	Says   []say
	Plot   string
	Points []dryPoint
}

// dryPoint is a row of the table beside the plot.
type dryPoint struct {
	At                       moment
	Waiting, Admitted, Polls string
}

// dryRows is how many rows the table has at most.
const dryRows = 10

// forecastPage is GET /console/zones/{zoneId}/forecast: the dry run of the limit
// in the query. It changes nothing.
func (c *Console) forecastPage(w http.ResponseWriter, r *http.Request, s session) error {
	current, err := c.Zones.Get(r.Context(), r.PathValue("zoneId"))
	if err != nil {
		return err
	}
	proposed, faults := readSettings(zone.Table, r.URL.Query(), "", current)
	v := dryView{Zone: proposed, Typed: count(proposed.PerMinute), Faults: faults}
	status := http.StatusOK
	switch typed := r.URL.Query().Get("perMinute"); {
	case len(faults) > 0:
		v.Typed, status = typed, http.StatusUnprocessableEntity
	case typed != "":
		if err := c.runDry(r.Context(), proposed, &v); err != nil {
			return err
		}
	}
	c.render(w, r, status, "forecast", s, "Dry run of "+current.ZoneID, v)
	return nil
}

// runDry runs and fills the view.
func (c *Console) runDry(ctx context.Context, proposed zone.Settings, v *dryView) error {
	f, err := c.Zones.ForecastOf(ctx, proposed)
	if err != nil {
		return err
	}
	now := c.Now()
	v.Ran, v.Says = true, forecastSays(f.Forecast, proposed.PerMinute, now)
	v.Points = dryPoints(f.Series, now)
	plot, err := json.Marshal(dryColumns(f.Series, now))
	if err != nil {
		return fmt.Errorf("console: forecast: %w", err)
	}
	v.Plot = string(plot)
	return nil
}

// forecastSays puts the result into sentences.
func forecastSays(f simulate.Forecast, perMinute int64, now time.Time) []say {
	var all says
	limit := count(perMinute)
	switch {
	case f.Waiting == 0:
		all.add("Nobody waits now, so there is nothing to run.")
		return all
	case perMinute == 0:
		all.add("At 0 a minute nobody of the %s waiting enters.", count(f.Waiting))
	case !f.Complete || f.LastInMillis == nil:
		all.warn("At %s a minute, some of the %s waiting now are not in within a day.", limit, count(f.Waiting))
	default:
		all = append(all, say{
			Text: fmt.Sprintf("At %s a minute the last of the %s waiting now is in at about", limit, count(f.Waiting)),
			At:   moment{now.Add(time.Duration(*f.LastInMillis) * time.Millisecond)},
			Tail: fmt.Sprintf(", in %s.", span(*f.LastInMillis)),
		})
	}
	if f.MedianWaitMillis != nil && f.P95WaitMillis != nil {
		all.add("From now, half of them wait %s or less, and 95 %% wait %s or less.", span(*f.MedianWaitMillis), span(*f.P95WaitMillis))
	}
	if f.Complete {
		all.add("%s of them enter; %s leave before.", count(f.Admitted), count(max(0, f.Waiting-f.Admitted)))
	}
	all.add("It means %s polls a second on average, %s at most.", rate(f.PollsPerSecondMean), rate(f.PollsPerSecondPeak))
	all.add("Supposed: %s more join a minute, and %s leave a minute, as now.", rate(f.JoinsPerMinute), rate(f.LeavesPerMinute))
	if f.Factor > 1 {
		all.add("The line is long: one simulated visitor stands for %s.", rate(f.Factor))
	}
	return all
}

// dryColumns are the plot's: time in Unix seconds, waiting, admitted.
func dryColumns(s simulate.Series, now time.Time) [3][]float64 {
	var all [3][]float64
	for i, at := range s.AtMillis {
		all[0] = append(all[0], float64(now.UnixMilli()+at)/1000)
		all[1] = append(all[1], float64(s.Waiting[i]))
		all[2] = append(all[2], float64(s.Admitted[i]))
	}
	return all
}

func dryPoints(s simulate.Series, now time.Time) []dryPoint {
	var all []dryPoint
	step := max(1, (len(s.AtMillis)+dryRows-1)/dryRows)
	for i := 0; i < len(s.AtMillis); i += step {
		all = append(all, dryPoint{
			At:      moment{now.Add(time.Duration(s.AtMillis[i]) * time.Millisecond)},
			Waiting: count(s.Waiting[i]), Admitted: count(s.Admitted[i]), Polls: rate(s.PollsPerSecond[i]),
		})
	}
	return all
}
