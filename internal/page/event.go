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
	"github.com/openqueue/waitingroom/internal/zones"
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

// happening is what the page shows of an event. Times are Unix milliseconds on the store's clock.
type happening struct {
	*wait.Event
	// text is the operator's text for the phase, in the visitor's language.
	text string
	// at is where the event takes place.
	at *time.Location
}

// happeningOf returns the zone's event as it is at nowMillis; nil for none. accept is the
// browser's Accept-Language.
func happeningOf(s zone.Settings, nowMillis int64, accept string) *happening {
	e, texts := wait.EventOf(s, nowMillis)
	if e == nil {
		return nil
	}
	h := &happening{Event: e, text: serve.TextFor(texts, accept), at: time.UTC}
	if p := s.EventState.Now; p != nil {
		h.at = p.Event.Location()
	}
	return h
}

// lookMillis returns in how many milliseconds a page that waits for people to gather asks again. r is random, from 0
// up to 1. The last look before people gather falls due when they do, and so joins.
func (h *happening) lookMillis(r float64) int64 {
	left := h.PreQueueAt - h.Now
	spread := min(arrivalSpread, (h.SettlesAt-h.PreQueueAt)/2)
	if h.Order == event.OrderDraw {
		spread = min(drawSpread, (h.SettlesAt-h.PreQueueAt)/2)
	}
	look := int64(float64(min(max(left/4, leastLook), mostLook)) * (0.75 + r/2))
	if h.PreQueueAt > 0 {
		look = min(look, max(left, 0)+int64(r*float64(max(spread, 1_000))))
	}
	return look
}

// shut puts the zone's event on a page whose visitor may not join, since the zone is closed.
func (h *HTTP) shut(ctx context.Context, z *zones.Zone, v *view, accept string) {
	if v.settings.EventState.IsZero() {
		return
	}
	state, err := h.wait.State(ctx, z)
	if err != nil || state.Event == nil {
		return
	}
	e := happeningOf(v.settings, state.Event.Now, accept)
	if e == nil {
		return
	}
	switch e.Phase {
	case event.PhaseAnnounced:
		v.State, v.News = announced, e.text
		v.opening(e)
		if v.Text = v.text("held"); e.PreQueueAt > 0 {
			v.Text = v.text("announcedText", "time", v.at(time.UnixMilli(e.PreQueueAt).In(e.at)))
		}
		v.RefreshSeconds = max(1, (e.lookMillis(rand.Float64())+999)/1000)
	case event.PhaseGathering, event.PhaseOpen: // an operator closed the zone during the event
	case event.PhaseClosed:
		v.News = e.text
	case wait.PhaseEnded:
		v.State, v.News = ended, e.text
		v.RefreshSeconds = int64(mostLook * (0.75 + rand.Float64()/2) / 1000)
	}
}

// opening fills in when the event opens, if that is to come.
func (v *view) opening(e *happening) {
	if v.OpensIn = e.OpensAt - e.Now; v.OpensIn > 0 {
		v.Opens = v.duration(time.Duration(v.OpensIn) * time.Millisecond)
		v.When = v.text("opensAt", "time", v.at(time.UnixMilli(e.OpensAt).In(e.at)))
	}
}

// gathered puts the zone's event on the page of a visitor who has a place.
func (v *view) gathered(a *answer.Answer, accept string) {
	e := happeningOf(v.settings, a.Line.State.NowMillis, accept)
	if e == nil || a.Line.State.NowMillis == 0 {
		return
	}
	d := v.settings.EventState.Draw()
	byDraw := d != nil && d.Holds(a.Line.Place.ArrivedAtMicros)
	switch {
	case a.Event != "" || v.State == paused && e.Phase == event.PhaseAnnounced:
		v.News = e.text
		v.opening(e)
	case e.Phase == event.PhaseOpen, e.Phase == event.PhaseClosed:
		v.News = e.text
		if byDraw {
			v.Draw = e.Name
		}
	}
	if a.Event == "" {
		return
	}
	v.Data.Event, v.Data.Commitment, v.Data.Arrived = e.Name, e.Commitment, a.Line.Place.ArrivedAtMicros
	v.There, v.Wait = v.number(float64(max(a.Line.Position, a.Line.State.Waiting))), ""
	switch {
	case a.Line.Position > 0 && byDraw:
		v.State, v.Text = drawn, v.text("settledText")
	case a.Line.Position > 0:
		v.State, v.Text = inLine, v.text("settledText")
	case e.Order == event.OrderDraw:
		v.State, v.Text = gathering, v.text("gatherDraw")
	default:
		v.State, v.Text = gathering, v.text("gatherArrival")
	}
	if e.OpensAt == 0 {
		v.Text = v.text("held")
	}
}
