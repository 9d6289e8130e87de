package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/zone"
)

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
	var changes []change[zone.Settings]
	v.shown, changes = c.zoneEditor.shown(r, current.ZoneID, current)
	v.Frame = c.eventFrame(current, e)
	changes = slices.DeleteFunc(slices.Clone(sinceMade(changes)), func(ch change[zone.Settings]) bool { return !isOf(ch, e.Name) })
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
func isOf(ch change[zone.Settings], name string) bool {
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
