package console

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/operate/change"
	"github.com/openqueue/waitingroom/internal/zone"
)

// eventPath is where the pages of a zone's event are.
func eventPath(zoneID, name string) string {
	return zonePath(zoneID) + "/schedule/" + url.PathEscape(name)
}

// clock is the time on the clock of the zone's store; this server's until the store has said.
func (c *Console) clock(zoneID string) time.Time {
	if now, ok := c.Watch.Clock(zoneID); ok {
		return now
	}
	return c.Now()
}

// lateAfter is how long after its time a step is called late, in milliseconds.
const lateAfter = 1_000

// stepView is a step of an event, or the moment at which places are fixed, of which Step is "".
type stepView struct {
	Step        event.Step
	Label, Noun string
	// What happens then.
	What  string
	State state
	// At is zero while it is held. UntilMillis is the same in Unix milliseconds for one that
	// is to come, else 0; In is how long that is.
	At          time.Time
	UntilMillis int64
	In          string
	// Open: an operator may hold or move it. Held: it waits to be moved.
	Open, Held bool
	// Path is the event's page.
	Path string
}

// occasion is an event of the list.
type occasion struct {
	ZoneID, Name, Path string
	State              state
	// Fixed: the list cannot change it any more. Draw: a draw gives those who gather their places.
	Fixed, Draw bool
	// Next is the step that comes, nil if there is none. Steps are all of them.
	Next  *stepView
	Steps []stepView
	// Mind are what an operator must not overlook.
	Mind change.Says
}

// occasionOf is an event at a time of the store's clock.
func occasionOf(s zone.Settings, e event.Event, now time.Time) occasion {
	p := s.EventState.Of(e, now)
	o := occasion{ZoneID: s.ZoneID, Name: e.Name, Path: eventPath(s.ZoneID, e.Name), State: eventState(s, p, now)}
	if p == nil {
		return o
	}
	o.Fixed, o.Draw, o.Steps = p.Fixed, p.Order == event.OrderDraw, stepsOf(s, p, now)
	next, _ := p.Next()
	if i := slices.IndexFunc(o.Steps, func(one stepView) bool { return one.Step == next && next != "" }); i >= 0 {
		o.Next = &o.Steps[i]
	}
	if p.Held != "" && p.Held != next {
		o.Mind.Warn("%s is held: it waits until an operator moves it.", capital(change.Nouns[p.Held]))
	}
	for _, text := range s.Obstacles(p) {
		o.Mind.Warn("%s", text)
	}
	return o
}

// eventState is what an event is doing. p is nil for one of which nothing is to come.
func eventState(s zone.Settings, p *event.Progress, now time.Time) state {
	switch {
	case p == nil:
		return state{"later", "–", "Over", "The event is over, or was cancelled."}
	case !p.Fixed:
		return state{"later", "○", "Listed", "You can change the event until an hour before its first step."}
	}
	next, at := p.Next()
	switch late := s.EventState.LateMillis(now.UnixMilli()) > lateAfter; {
	case p.Held == next && next != "":
		return state{"bad", "▮▮", "Held", capital(change.Nouns[next]) + " waits until an operator moves it."}
	case late && next == event.StepOpens && p.Phase == event.PhaseGathering:
		return state{"bad", "✕", "Late", "People are admitted by the store’s clock, but no server could record the opening yet. The servers try again."}
	case late:
		return state{"bad", "✕", "Late", capital(change.Nouns[next]) + " is due, but no server could make the step yet. The servers try again."}
	case p.Phase == event.PhaseAnnounced:
		return state{"ok", "○", "Announced", "Nobody gathers yet."}
	case p.Phase == event.PhaseGathering && at <= now.UnixMilli():
		return state{"ok", "●", "Opening", "It opens this second."}
	case p.Phase == event.PhaseGathering && now.UnixMilli() < p.SettlesAtMillis:
		return state{"ok", "◔", "Gathering", "People gather. Nobody is admitted, and nobody has a number yet."}
	case p.Phase == event.PhaseGathering:
		return state{"ok", "◕", "Places fixed", "Each visitor has a place, and newcomers stand behind. Nobody is admitted yet."}
	}
	// It has opened. Somebody may have changed the settings since.
	word, sentence := change.Doing(s)
	if word == "Admitting" {
		return state{"ok", "●", "Open", "People are admitted."}
	}
	return state{signs[word][0], signs[word][1], word, sentence}
}

// stepsOf are the steps of an event, and the moment at which places are fixed.
func stepsOf(s zone.Settings, p *event.Progress, now time.Time) (all []stepView) {
	next, _ := p.Next()
	for _, one := range s.PlanOf(p) {
		if one.Step == event.StepOpens && p.PreQueueAtMillis < p.OpensAtMillis {
			all = append(all, settles(p, now))
		}
		v := stepView{Step: one.Step, Label: change.Labels[one.Step], Noun: change.Nouns[one.Step], What: one.What, Path: eventPath(s.ZoneID, p.Event.Name)}
		v.timed(one.At, now)
		v.Held = one.At.IsZero()
		v.Open = p.Fixed && !one.Made && (v.Held || v.UntilMillis > 0)
		switch {
		case one.Made:
			v.State = state{Key: "later", Sign: "✓", Word: "Done"}
		case v.Held:
			v.State = state{Key: "bad", Sign: "▮▮", Word: "Held"}
		case one.Step == next && now.Sub(one.At) > lateAfter*time.Millisecond:
			v.State = state{Key: "bad", Sign: "✕", Word: "Late"}
		case one.Step == next:
			v.State = state{Key: "ok", Sign: "●", Word: "Next"}
		default:
			v.State = state{Key: "later", Sign: "○", Word: "Later"}
		}
		all = append(all, v)
	}
	return all
}

// settles is the moment at which places are fixed. It goes with the opening.
func settles(p *event.Progress, now time.Time) stepView {
	v := stepView{
		Label: change.SettlesLabel(p), State: state{Key: "later", Sign: "○", Word: "Later"},
		What: "each visitor gets a place; newcomers stand behind",
	}
	switch {
	case p.SettlesAtMillis == event.Never:
		v.State.Word = "With the opening"
		return v
	case p.Phase != event.PhaseAnnounced && p.SettlesAtMillis <= now.UnixMilli():
		v.State = state{Key: "later", Sign: "✓", Word: "Done"}
	}
	v.timed(time.UnixMilli(p.SettlesAtMillis), now)
	return v
}

// timed sets when it is; the zero time for one that is held.
func (v *stepView) timed(at, now time.Time) {
	if v.At = at; at.After(now) {
		v.UntilMillis, v.In = at.UnixMilli(), change.Until(at.Sub(now))
	}
}

// capital has a sentence begin with a capital letter, which is one byte.
func capital(text string) string { return string(text[0]-'a'+'A') + text[1:] }

// occasions are all events of a zone, those that come first before the others.
func (c *Console) occasions(s zone.Settings) []occasion {
	now := c.clock(s.ZoneID)
	all := make([]occasion, len(s.Events))
	for i, e := range s.Events {
		all[i] = occasionOf(s, e, now)
	}
	when := func(o occasion) int64 {
		switch {
		case o.Next == nil:
			return event.Never
		case o.Next.Held:
			return 0
		}
		return o.Next.At.UnixMilli()
	}
	slices.SortStableFunc(all, func(a, b occasion) int { return int(min(1, max(-1, when(a)-when(b)))) })
	return all
}

// ofEvent has h answer for the event that the route names; for a new one, without a name, where
// it names none.
func (c *Console) ofEvent(h func(w http.ResponseWriter, r *http.Request, s session, current zone.Settings, e event.Event) error) handler {
	return func(w http.ResponseWriter, r *http.Request, s session) error {
		current, e, err := c.findEvent(r)
		if err != nil {
			return err
		}
		return h(w, r, s, current, e)
	}
}

// findEvent returns the zone that the route names, and the event of its list.
func (c *Console) findEvent(r *http.Request) (zone.Settings, event.Event, error) {
	current, err := c.Zones.Get(r.Context(), r.PathValue("zoneId"))
	if err != nil || r.PathValue("event") == "" {
		return current, event.Event{}, err
	}
	i := slices.IndexFunc(current.Events, func(e event.Event) bool { return e.Name == r.PathValue("event") })
	if i < 0 {
		return current, event.Event{}, errNothing
	}
	return current, current.Events[i], nil
}

// eventView is the page of one event.
type eventView struct {
	shown
	occasion
	Frame frame
	// Commitment is that of its draw, "" before there is one.
	Commitment string
}

// Opens reports whether an operator may have it open now.
func (v eventView) Opens() bool {
	return slices.ContainsFunc(v.Steps, func(s stepView) bool { return s.Step == event.StepOpens && s.Open })
}

// eventPage is GET /console/zones/{zoneId}/schedule/{event}.
func (c *Console) eventPage(w http.ResponseWriter, r *http.Request, s session, current zone.Settings, e event.Event) error {
	v := eventView{occasion: occasionOf(current, e, c.clock(current.ZoneID)), Frame: c.eventFrame(current, e)}
	v.shown, _ = c.shown(r, current)
	for _, d := range current.EventState.Draws {
		if d.Event == e.Name {
			v.Commitment = d.Commitment
		}
	}
	return c.render(w, http.StatusOK, "event", s, e.Name+" at "+current.ZoneID, v)
}

// eventEvents is GET /console/zones/{zoneId}/schedule/{event}/events.
func (c *Console) eventEvents(w http.ResponseWriter, r *http.Request, s session, _ zone.Settings, _ event.Event) error {
	return c.stream(w, r, s, func(context.Context) (any, error) {
		current, e, err := c.findEvent(r)
		if err != nil {
			return nil, err
		}
		return c.eventFrame(current, e), nil
	})
}

// eventFrame is the event of an event's stream. Its stamp is another whenever a step of the event has another state, also
// where that is no change of the zone: places are fixed by the clock.
func (c *Console) eventFrame(s zone.Settings, e event.Event) frame {
	f, o := c.zoneFrame(s), occasionOf(s, e, c.clock(s.ZoneID))
	f.State = o.State
	for _, step := range o.Steps {
		f.Stamp += "." + step.State.Word
	}
	f.Stamp += "." + o.State.Word
	return f
}
