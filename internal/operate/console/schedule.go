package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/operate/change"
	"github.com/openqueue/waitingroom/internal/schedule"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Draws is what everybody may know of draws: the schedule.
type Draws interface {
	Draw(ctx context.Context, zoneID, event string) (schedule.Draw, error)
	Part(ctx context.Context, zoneID, event, part string) (schedule.Part, error)
}

// eventPath is where the pages of a zone's event are.
func eventPath(zoneID, name string) string {
	return pathIn(zoneFolder)(zoneID) + "/schedule/" + url.PathEscape(name)
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

// settles is the moment at which places are fixed. It is no step: it goes with the opening.
const settles event.Step = "settles"

// moments are the steps of an event, and settles, in the order of time.
var moments = []event.Step{event.StepPreQueue, settles, event.StepOpens, event.StepCloses, event.StepEnds}

// labelOf names a step, or the moment at which places are fixed, of an occurrence in a list.
func labelOf(p *event.Progress, step event.Step) string {
	if step == settles && p.Order == event.OrderDraw {
		return "The draw closes"
	}
	return change.Labels[step]
}

// stepView is a step of an event.
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
	// Listed is when it was listed for, where that is another time.
	Listed time.Time
	Path   string
}

// occasion is an occurrence of an event: the one that is under way, or the next.
type occasion struct {
	ZoneID, Name, Path string
	State              state
	Draw               bool
	// Next is the step that comes, nil if there is none. Steps are all of them.
	Next  *stepView
	Steps []stepView
	// Mind are what an operator must not overlook.
	Mind change.Says
}

// occasionOf is an event at a time of the store's clock.
func occasionOf(s zone.Settings, e event.Event, now time.Time) occasion {
	o := occasion{ZoneID: s.ZoneID, Name: e.Name, Path: eventPath(s.ZoneID, e.Name)}
	p := s.EventState.Of(e, now)
	o.State = eventState(s, p, now)
	if p == nil {
		p = e.Listed()
		o.Steps = stepsOf(s, p, now, false)
		for i := range o.Steps { // they may have been moved: the list does not say which were made
			one := &o.Steps[i]
			one.State, one.UntilMillis, one.In = state{Key: "later", Sign: "–", Word: "No more"}, 0, ""
		}
		return o
	}
	current := p == s.EventState.Now
	o.Draw = p.Order == event.OrderDraw
	o.Steps = stepsOf(s, p, now, current)
	next, _ := p.Next()
	for i := range o.Steps {
		if o.Steps[i].Step == next {
			o.Next = &o.Steps[i]
		}
		if one := &o.Steps[i]; one.Held && one.Step != next {
			o.Mind = append(o.Mind, change.Say{Warn: true, Text: capital(one.Noun) + " is held: it waits until somebody moves it."})
		}
	}
	for _, text := range s.Obstacles(p) {
		o.Mind = append(o.Mind, change.Say{Warn: true, Text: text})
	}
	return o
}

// eventState is what an event is doing. p is nil for one of which nothing is to come.
func eventState(s zone.Settings, p *event.Progress, now time.Time) state {
	switch {
	case p == nil:
		return state{"later", "–", "Over", "It is over, or was cancelled. Nothing comes of it any more."}
	case s.EventState.Now == nil:
		return state{"later", "○", "Listed", "The servers take it up within a second."}
	case p != s.EventState.Now:
		return state{"later", "○", "Listed", s.EventState.Now.Event.Name + " comes before it."}
	}
	next, at := p.Next()
	late := s.EventState.LateMillis(now.UnixMilli()) > lateAfter
	switch {
	case p.Held == next && next != "":
		return state{"bad", "▮▮", "Held", capital(change.Nouns[next]) + " waits until somebody moves it."}
	case late && next == event.StepOpens && p.Phase == event.PhaseGathering:
		return state{"bad", "✕", "Late", "People are let in by the store’s clock, but no server has been able to note the opening. They try until they can."}
	case late:
		return state{"bad", "✕", "Late", capital(change.Nouns[next]) + " is due, but no server has been able to make it. They try until they can."}
	}
	switch p.Phase {
	case event.PhaseGathering:
		switch {
		case at <= now.UnixMilli():
			return state{"ok", "●", "Opening", "It opens this second."}
		case now.UnixMilli() < p.SettlesAtMillis:
			return state{"ok", "◔", "Gathering", "People gather. Nobody is let in, and nobody has a number yet."}
		default:
			return state{"ok", "◕", "Places fixed", "Everybody has a place, and who comes now stands behind. Nobody is let in yet."}
		}
	case event.PhaseOpen, event.PhaseClosed:
		return openedState(p.Phase, s.InForce())
	default:
		return state{"ok", "○", "Announced", "Nobody gathers yet."}
	}
}

// openedState is what an event that has opened is doing, by the settings in force, which somebody may have changed since.
func openedState(phase event.Phase, force zone.Settings) state {
	nobody := force.PerMinute == 0 && force.Mode != zone.ModeOpen
	switch closed := phase == event.PhaseClosed && force.Mode == zone.ModeClosed; {
	case closed && nobody:
		return state{"warn", "■", "Closed to newcomers", "Newcomers are turned away, and nobody is let in: the limit is 0, or it is sold out."}
	case closed:
		return state{"warn", "■", "Closed to newcomers", "Newcomers are turned away. Those who wait go on being let in."}
	case nobody:
		return state{"warn", "▮▮", "Open", "It has opened, but nobody is let in: the limit is 0, or it is sold out."}
	}
	return state{"ok", "●", "Open", "People are let in."}
}

// stepsOf are the moments of an occurrence. Steps of the current one may be changed.
func stepsOf(s zone.Settings, p *event.Progress, now time.Time, current bool) (all []stepView) {
	var next event.Step
	if current {
		next, _ = p.Next()
	}
	nowMillis := now.UnixMilli()
	words := map[event.Step]string{settles: "everybody has a place and hears of it; who comes now stands behind"}
	if p.Order == event.OrderDraw {
		words[settles] = "everybody has a number and hears of it; who comes now stands behind"
	}
	for _, one := range s.PlanOf(p) {
		words[one.Step] = one.What
	}
	for _, step := range moments {
		at, listed := atOf(p, step), int64(0)
		made := p.Phase != event.PhaseAnnounced && at <= nowMillis // settles is made by its time coming, not by a server
		if step != settles {
			_, made = p.Step(step)
			listed = p.ListedAt(step)
		}
		if at == 0 {
			continue
		}
		one := stepView{
			Step: step, Label: labelOf(p, step), Noun: change.Nouns[step], What: words[step],
			Path: eventPath(s.ZoneID, p.Event.Name) + "/steps/" + string(step),
		}
		if at != 0 && at != event.Never {
			one.At = time.UnixMilli(at)
		}
		if at > nowMillis && at != event.Never {
			one.UntilMillis, one.In = at, until(at-nowMillis)
		}
		if current && step != settles {
			one.Held = at == event.Never
			one.Open = !made && at > nowMillis
		}
		if current && at != listed && listed != 0 {
			one.Listed = time.UnixMilli(listed)
		}
		switch {
		case made || !current && at <= nowMillis:
			one.State = state{Key: "later", Sign: "✓", Word: "Done"}
		case one.Held:
			one.State = state{Key: "bad", Sign: "▮▮", Word: "Held"}
		case step == settles && at == event.Never:
			one.State = state{Key: "later", Sign: "○", Word: "With the opening"}
		case step == next && at+lateAfter < nowMillis:
			one.State = state{Key: "bad", Sign: "✕", Word: "Late"}
		case step == next:
			one.State = state{Key: "ok", Sign: "●", Word: "Next"}
		default:
			one.State = state{Key: "later", Sign: "○", Word: "Later"}
		}
		all = append(all, one)
	}
	return all
}

// atOf is when a moment of an occurrence is: 0 if it has no such moment, event.Never while that is held.
func atOf(p *event.Progress, step event.Step) int64 {
	switch {
	case step != settles:
		at, _ := p.Step(step)
		return at
	case p.PreQueueAtMillis < p.OpensAtMillis: // people gather
		return p.SettlesAtMillis
	}
	return 0
}

// until writes how long something is away: 42 s, 4 min 20 s, 4 h 05 min, 3 d 4 h. The page's
// script (countdown.js) does the same.
func until(millis int64) string {
	const minute, hour, day = 60, 3_600, 86_400
	switch s := (millis + 999) / 1000; {
	case s <= 0:
		return "now"
	case s < minute:
		return strconv.FormatInt(s, 10) + " s"
	case s < hour:
		return fmt.Sprintf("%d min %02d s", s/minute, s%minute)
	case s < day:
		return fmt.Sprintf("%d h %02d min", s/hour, s%hour/minute)
	default:
		return fmt.Sprintf("%d d %d h", s/day, s%day/hour)
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
	slices.SortStableFunc(all, func(a, b occasion) int {
		if (a.Next == nil) != (b.Next == nil) {
			return map[bool]int{true: 1, false: -1}[a.Next == nil]
		}
		if a.Next == nil || a.Next.At.IsZero() || b.Next.At.IsZero() {
			return 0
		}
		return a.Next.At.Compare(b.Next.At)
	})
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
	Drawn *drawView
	Dry   eventDryView
}

// Before is when places are fixed, while that comes before the next step; nil at other times.
func (v eventView) Before() *stepView {
	if i := slices.IndexFunc(v.Steps, func(s stepView) bool { return s.Step == settles && s.UntilMillis > 0 }); i >= 0 && v.Next.Step == event.StepOpens {
		return &v.Steps[i]
	}
	return nil
}

// eventPage is GET /console/zones/{zoneId}/schedule/{event}.
func (c *Console) eventPage(w http.ResponseWriter, r *http.Request, s session, current zone.Settings, e event.Event) error {
	v := eventView{occasion: occasionOf(current, e, c.clock(current.ZoneID)), Dry: newEventDry(current.ZoneID, e.Name)}
	var changes []entryOf[zone.Settings]
	v.shown, changes = c.zoneEditor.shown(r, current.ZoneID, current)
	v.Frame = c.eventFrame(current, e)
	changes = slices.DeleteFunc(slices.Clone(sinceMade(changes)), func(ch entryOf[zone.Settings]) bool { return !isOf(ch, e.Name) })
	v.Entries = c.zoneEditor.entries(changes[:min(len(changes), shownChanges)], &current)
	var err error
	if v.Drawn, err = c.drawOf(r.Context(), current, e); err != nil {
		// The page shows how to stop the event all the same.
		c.Logger.WarnContext(r.Context(), "draw not read", "zone", current.ZoneID, "event", e.Name, "error", err)
	}
	return c.render(w, http.StatusOK, "event", s, e.Name+" at "+current.ZoneID, v)
}

// eventEvents is GET /console/zones/{zoneId}/schedule/{event}/events.
func (c *Console) eventEvents(w http.ResponseWriter, r *http.Request, s session, current zone.Settings, e event.Event) error {
	return c.stream(w, r, s, zoneFolder+current.ZoneID+"/"+e.Name, func(context.Context) (any, error) {
		current, e, err := c.findEvent(r)
		if err != nil {
			return nil, err
		}
		return c.eventFrame(current, e), nil
	})
}

// eventFrame is the event of an event's stream.
func (c *Console) eventFrame(s zone.Settings, e event.Event) frame {
	f := c.zoneFrame(s)
	now := c.clock(s.ZoneID)
	f.State = eventState(s, s.EventState.Of(e, now), now)
	// The page is another at each of its moments, also at those that are no change of the zone:
	// when places are fixed, and once the list of a draw is published.
	var past int
	if p := s.EventState.Of(e, now); p != nil {
		for _, at := range []int64{p.PreQueueAtMillis, p.SettlesAtMillis, p.SettlesAtMillis + publishedAfter, p.OpensAtMillis, p.OpensAtMillis + lateAfter, p.ClosesAtMillis, p.EndsAtMillis} {
			if at <= now.UnixMilli() {
				past++
			}
		}
	}
	f.Stamp = fmt.Sprintf("%s.%d.%s", f.Stamp, past, f.State.Word)
	return f
}

// publishedAfter is how long after a draw has closed its list is there, in milliseconds, also
// that of a million.
const publishedAfter = 10_000

// mark is a moment of an event, for the charts: seconds, and what happens.
type mark struct {
	At    float64 `json:"at"`
	Label string  `json:"label"`
}

// Marks are those of the steps.
func (v eventView) Marks() []mark {
	all := []mark{} // an empty list, not null
	for _, s := range v.Steps {
		m := mark{At: float64(s.At.UnixMilli()) / 1000, Label: s.Label}
		if s.Step == settles {
			m.Label = "" // there is no room beside the opening's
		}
		if !s.At.IsZero() {
			all = append(all, m)
		}
	}
	return all
}

// isOf reports whether a change is one of an event: made by it, or of it.
func isOf(ch entryOf[zone.Settings], name string) bool {
	of := func(s *zone.Settings) string {
		var now *event.Progress
		if p := s.EventState.Now; p != nil && p.Event.Name == name {
			now = p
		}
		i := slices.IndexFunc(s.Events, func(e event.Event) bool { return e.Name == name })
		text, err := json.Marshal([]any{now, s.Events[max(i, 0):max(i+1, 0)]})
		if err != nil { // strings and numbers: it cannot happen
			return ""
		}
		return string(text)
	}
	return ch.By == zone.By(name) || of(ch.Was) != of(ch.Now)
}
