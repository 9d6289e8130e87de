package page

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/wait"
	"github.com/openqueue/waitingroom/internal/zone"
)

// The bounds of lookMillis, in milliseconds: when a page without a place looks again. Pages look
// seldom while the time at which people gather is far, and never all at once.
const (
	// leastLook and mostLook bound the time until the next look, which is the time until people
	// gather, divided by four.
	leastLook, mostLook = 30_000, 300_000
	// drawSpread and arrivalSpread are how long after people begin to gather the last page
	// joins. A draw has the longer one, since its order does not depend on when a visitor joins.
	drawSpread, arrivalSpread = 60_000, 5_000
)

// checkSize is about what a browser loads to check its visitor's number in a draw: most of it
// is one part of the list, compressed.
const checkSize = "40 kB"

// happening is what the page knows of an event. Times are Unix milliseconds on the store's
// clock.
type happening struct {
	*wait.Event
	// Before, During and After are the operator's texts, in the visitor's language.
	Before string `json:"before,omitempty"`
	During string `json:"during,omitempty"`
	After  string `json:"after,omitempty"`

	at *time.Location
}

// happeningOf returns the zone's event as it is at nowMillis; nil for none. accept is the
// browser's Accept-Language.
func happeningOf(s zone.Settings, nowMillis int64, accept string) *happening {
	e, texts := wait.EventOf(s, nowMillis)
	if e == nil {
		return nil
	}
	h := &happening{Event: e, After: serve.TextFor(texts, accept), at: time.UTC}
	if p := s.EventState.Now; p != nil {
		h.at = p.Event.Location()
		h.Before, h.During = serve.TextFor(p.Event.Texts.Before, accept), serve.TextFor(p.Event.Texts.During, accept)
		h.After = serve.TextFor(p.Event.Texts.After, accept)
	}
	return h
}

// lookMillis returns in how many milliseconds a page that waits for people to gather looks
// again, and whether it can join then. r is random, from 0 up to 1. page.js does the same.
func (h *happening) lookMillis(r float64) (millis int64, joins bool) {
	left := h.PreQueueAt - h.Now
	spread := min(arrivalSpread, (h.SettlesAt-h.PreQueueAt)/2)
	if h.Order == event.OrderDraw {
		spread = min(drawSpread, (h.SettlesAt-h.PreQueueAt)/2)
	}
	look := int64(float64(min(max(left/4, leastLook), mostLook)) * (0.75 + r/2))
	if due := max(left, 0) + int64(r*float64(max(spread, 1_000))); h.PreQueueAt > 0 && due <= look {
		return due, true
	}
	return look, false
}

// shut puts the zone's event on a page whose visitor may not join, since the zone is closed.
func (h *HTTP) shut(ctx context.Context, v *view, l *locale, settings zone.Settings, accept string) {
	if settings.EventState.IsZero() {
		return
	}
	state, err := h.wait.State(ctx, settings.ZoneID)
	if err != nil || state.Event == nil {
		return
	}
	e := happeningOf(settings, state.Event.Now, accept)
	if e == nil {
		return
	}
	v.Data.Event = e
	switch e.Phase {
	case event.PhaseAnnounced:
		v.State, v.News = announced, e.Before
		v.opening(l)
		if v.Text = l.text("held"); e.PreQueueAt > 0 {
			v.Text = l.text("announcedText", "time", l.at(time.UnixMilli(e.PreQueueAt).In(e.at)))
		}
		look, _ := e.lookMillis(rand.Float64())
		v.RefreshSeconds = max(1, (look+999)/1000)
	case event.PhaseGathering, event.PhaseOpen: // an operator closed the zone during the event
	case event.PhaseClosed:
		v.News = e.After
	case wait.PhaseEnded:
		v.State, v.News = ended, e.After
		v.RefreshSeconds = int64(mostLook * (0.75 + rand.Float64()/2) / 1000)
	}
}

// opening fills in when the event opens, if that is to come.
func (v *view) opening(l *locale) {
	e := v.Data.Event
	if e.OpensAt > e.Now {
		v.Opens = l.duration(time.Duration(e.OpensAt-e.Now) * time.Millisecond)
		v.When = l.text("opensAt", "time", l.at(time.UnixMilli(e.OpensAt).In(e.at)))
	}
}

// gathered puts the zone's event on the page of a visitor who has a place.
func (v *view) gathered(l *locale, settings zone.Settings, a *answer.Answer, accept string) {
	e := happeningOf(settings, a.Line.State.NowMillis, accept)
	if e == nil || a.Line.State.NowMillis == 0 {
		return
	}
	v.Data.Event, v.Data.Arrived = e, a.Line.Place.ArrivedAtMicros
	switch {
	case a.Event != "" || v.State == paused && e.Phase == event.PhaseAnnounced:
		v.News = e.Before
		v.opening(l)
	case e.Phase == event.PhaseOpen:
		v.News = e.During
	case e.Phase == event.PhaseClosed:
		v.News = e.After
	}
	if a.Event == "" {
		return
	}
	v.There, v.Wait = l.number(float64(max(a.Line.Position, a.Line.State.Waiting))), ""
	switch d := settings.EventState.Draw(); {
	case a.Line.Position > 0 && d != nil && d.Holds(a.Line.Place.ArrivedAtMicros):
		v.State, v.Text = drawn, l.text("settledText")
	case a.Line.Position > 0:
		v.State, v.Text = inLine, l.text("settledText")
	case e.Order == event.OrderDraw:
		v.State, v.Text = gathering, l.text("gatherDraw")
	default:
		v.State, v.Text = gathering, l.text("gatherArrival")
	}
	if e.OpensAt == 0 {
		v.Text = l.text("held")
	}
}
