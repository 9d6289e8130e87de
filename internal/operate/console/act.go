package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/operate/change"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/setting"
	"github.com/openqueue/waitingroom/internal/zone"
)

// actAsk is GET /console/zones/{zoneId}/schedule/{event}/act: what do=hold, move, open or cancel would do. It changes
// nothing.
func (c *Console) actAsk(w http.ResponseWriter, r *http.Request, s session, current zone.Settings, e event.Event) error {
	now, path := c.clock(current.ZoneID), eventPath(current.ZoneID, e.Name)
	act, fault := actOf(r.URL.Query(), current.EventState.Now)
	next := current
	if fault == "" {
		next, fault = act.On(current, e.Name, now)
	}
	v := confirmView{Path: path, Action: path + "/act"}
	status := http.StatusOK
	if fault != "" {
		v.Title, v.Faults, status = "This cannot be done", []string{fault}, http.StatusUnprocessableEntity
	} else {
		what := e.Name
		if act.Step != "" {
			what = change.Nouns[act.Step] + " of " + e.Name
		}
		v.Button = capital(string(act.Do))
		v.Title, v.Effects = v.Button+" "+what+"?", change.Event(current, next, c.lineOf(current.ZoneID), now)
		v.Hidden = []pair{
			{"do", string(act.Do)}, {"step", string(act.Step)}, {"to", act.To.UTC().Format(time.RFC3339)}, {"seen", seenOf(current, act)},
		}
	}
	return c.render(w, status, "confirm", s, v.Title, v)
}

// actDo is POST .../act: does what was confirmed, if the event's step is as it was seen.
func (c *Console) actDo(w http.ResponseWriter, r *http.Request, s session, current zone.Settings, e event.Event) error {
	act, fault := actOf(r.PostForm, current.EventState.Now)
	if fault != "" {
		return errNothing
	}
	path := eventPath(current.ZoneID, e.Name)
	if seenOf(current, act) != r.PostForm.Get("seen") {
		return c.conflict(w, s, path, e.Name)
	}
	next, err := c.Zones.ActFrom(r.Context(), current, e.Name, act, s.by())
	if err != nil {
		return err
	}
	return c.done(w, r, path, next)
}

// actOf reads what is to be done to the event that is next or under way, which is p or nil. To move a step the form has
// the time, or by how many seconds.
func actOf(form url.Values, p *event.Progress) (act operator.Act, fault string) {
	act = operator.Act{Do: operator.Verb(form.Get("do"))}
	if act.Do != operator.Hold && act.Do != operator.Move {
		return act, ""
	}
	if act.Step = event.Step(form.Get("step")); act.Do == operator.Hold {
		return act, ""
	}
	if seconds, err := strconv.ParseInt(form.Get("by"), 10, 32); err == nil && p != nil && change.Nouns[act.Step] != "" {
		at, _ := p.Step(act.Step)
		act.To = time.UnixMilli(at).Add(time.Duration(seconds) * time.Second)
		return act, ""
	}
	var err error
	if act.To, err = setting.ParseTime(form.Get("to")); err != nil {
		return act, "the time " + err.Error()
	}
	return act, ""
}

// seenOf is the step that an act is about as a form knows it: its time, and whether it was made. The step of an act
// without one is the opening.
func seenOf(s zone.Settings, act operator.Act) string {
	p, step := s.EventState.Now, act.Step
	if step == "" {
		step = event.StepOpens
	}
	if p == nil || change.Nouns[step] == "" {
		return ""
	}
	at, made := p.Step(step)
	return fmt.Sprintf("%s.%d.%t", p.Event.Name, at, made)
}
