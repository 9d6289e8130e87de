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
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/operate/simulate"
	"github.com/openqueue/waitingroom/internal/zone"
)

// eventDryView is the dry run of an event: its form, and once it has run, what came out.
type eventDryView struct {
	ZoneID, Name, Path string
	// Gather, Leave and Stay are what is typed, Most the most that may gather. Stay is "" for an event without a cap.
	Gather, Leave, Stay string
	Most                int64
	Faults              []string
	// Text is what simulate --event prints; "" before it has run. Plot are columns: the time,
	// who waits, and who is in.
	Text string
	Plot [3][]float64
}

const (
	// dryGather is how many gather unless the operator says otherwise, dryLeave how many of
	// 100 leave, dryStay for how many minutes those who are let in stay in a zone with a cap.
	dryGather = 5_000
	dryLeave  = 20
	dryStay   = 5
)

func newEventDry(s zone.Settings, e event.Event) eventDryView {
	v := eventDryView{
		ZoneID: s.ZoneID, Name: e.Name, Path: eventPath(s.ZoneID, e.Name), Most: operator.MaxPlayed,
		Gather: count(dryGather), Leave: count(dryLeave),
	}
	if s.WithEvent(e).MaxInside > 0 {
		v.Stay = count(dryStay)
	}
	return v
}

// eventDry is GET /console/zones/{zoneId}/schedule/{event}/dryrun: plays the event with so many
// who gather, of whom so many leave. It changes nothing.
func (c *Console) eventDry(w http.ResponseWriter, r *http.Request, s session, current zone.Settings, e event.Event) error {
	v, status := newEventDry(current, e), http.StatusOK
	if q := r.URL.Query(); q.Has("gather") {
		v.Gather, v.Leave = q.Get("gather"), q.Get("leave")
		cfg := simulate.EventConfig{
			Zone: current, Event: e.Name, Gather: v.number("How many gather", v.Gather, 1, operator.MaxPlayed), Within: simulate.DefaultWithin,
			Leave: float64(v.number("Of them leave", v.Leave, 0, 100)) / 100, Seed: 1,
		}
		if v.Stay != "" {
			v.Stay = q.Get("stay")
			cfg.Stay = time.Duration(v.number("Minutes inside", v.Stay, 1, 24*60)) * time.Minute
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
		v.Faults = append(v.Faults, "The dry run takes longer than 15 s of this server: let fewer visitors gather.")
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
