package page

import (
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/challenge"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/refusal"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/zone"
)

// state is what the page shows. It is the key of its heading; with Text behind, that of its text. Those of refusals, which the
// page does not tell apart, are in their declarations alone: see refusal.Page.
type state string

const (
	inLine  state = "inLine"
	turn    state = "turn"
	closed  state = "closed"
	paused  state = "paused"
	away    state = "away"
	left    state = "left"
	soldOut state = "soldOut"
	// busy and siteAway: a gateway gets no answer. See Export.
	busy     state = "busy"
	siteAway state = "siteAway"
	// proving: the browser is asked for a proof before it has a place.
	proving state = "proving"
	// invitation: the visitor has a ticket, and is to press a button.
	invitation state = "invitation"
	// cookieless: the browser keeps no cookies.
	cookieless state = "cookieless"

	announced state = "announced"
	gathering state = "gathering"
	drawn     state = "drawn"
	ended     state = "ended"
)

// view is what the template needs for one page. Of these, its part "told" is also what the script puts in the place of
// the same part after each poll.
type view struct {
	*locale
	settings zone.Settings
	status   int
	accept   string // the browser's Accept-Language
	State    state
	Title    string // of the document
	Heading  string
	Text     string
	// Place, Wait, Opens and There are the figures: the position, the expected wait, the time until
	// an event opens, and how many wait for it. "" for none.
	Place, Wait, Opens, There string
	// Reference has the id of the place, for a help desk; "" without a place.
	Reference string
	// Gone is how much of the wait is over, in percent, 1 to 99; 0 where it is not known.
	Gone int64
	// OpensIn is in how many milliseconds the event opens, for the script, which counts down; 0 for none.
	OpensIn int64
	// Range has both ends of the range that Wait shows, in milliseconds, for the script, which sends it with the next poll:
	// see steady. "" for none.
	Range string
	// Spoken is what a screen reader hears of place and wait, Why the reason for which the wait changed. "" for none.
	Spoken, Why string
	// When says at what time the event opens. News is the operator's text about it. "" for none.
	When, News string
	// Proof: a provider's widget is to be shown. Scriptless says to a browser without scripts that it gets no place; "" if it does.
	Proof      bool
	Scriptless string
	// Draw is the event whose draw gave the place, once its seed is public; else "".
	Draw string
	// Seated: the visitor has a place.
	Seated bool
	// Go is where the visitor enters, with the pass; "" for nowhere.
	Go template.URL
	// RefreshSeconds is in how many seconds the page is to be asked for again; 0 for never.
	RefreshSeconds int64
	Again          string // the address that joins again
	Accept         string // the address that joins with an invitation, "" for none
	Reloaded       string // the address that a browser without scripts is to load, "" for the same
	Data           data

	Nonce string
	// Policy is the Content-Security-Policy of a page without headers; "" for one with.
	Policy          string
	Texts           map[string]string
	Keep, CheckText string
	Look            Look
	CSS             template.CSS
	JS              template.JS
}

// Lang and Dir are the attributes of the document.
func (v *view) Lang() string { return v.code }

// Dir is ltr or rtl.
func (v *view) Dir() string { return v.dir }

// data is what the page hands to its script, as JSON.
type data struct {
	Zone string `json:"zone"`
	// Lang is the language with the digits 0-9, even if the language has others.
	Lang string `json:"lang"`
	// PollAfter is in how many milliseconds the script polls for the first time.
	PollAfter int64 `json:"pollAfter"`
	// Position, Estimate and High are those of the answer that is shown. Estimate and High, the upper end of the
	// range, are in milliseconds. 0 if they are not known.
	Position int64 `json:"position"`
	Estimate int64 `json:"estimate"`
	High     int64 `json:"high"`
	// Event is the event for which the visitor waits, and Commitment that of its draw; "" for none. Arrived is when the place was
	// taken, in Unix microseconds.
	Event      string `json:"event,omitempty"`
	Commitment string `json:"commitment,omitempty"`
	Arrived    int64  `json:"arrived,omitempty"`
	// Ticket is the visitor's invitation, "" for none.
	Ticket string            `json:"ticket,omitempty"`
	Secure bool              `json:"secure"`
	Texts  map[string]string `json:"texts"`
}

// waiting fills in what a waiting visitor is told. shown is the Range that the visitor sees, "" for none.
func (v *view) waiting(a *answer.Answer, shown, accept string) {
	v.State, v.Seated, v.Reference = inLine, true, v.text("reference", "id", a.Line.Place.ID.PlaceID())
	v.Why = v.texts.Reasons[a.Line.Reason.String()]
	v.Text = v.Why
	low, high := steady(a.Line.LowMillis, a.Line.HighMillis, shown)
	v.Wait = v.wait(a.Line.EstimateMillis, low, high)
	if high > 0 {
		v.Range = fmt.Sprint(low, high)
	}
	if a.Line.Reason == line.OnHold {
		v.State, v.Wait = paused, v.text("long")
	}
	if a.Line.Position > 0 {
		v.Place = v.number(float64(a.Line.Position))
		v.Spoken = strings.TrimSpace(v.Why + " " + v.text("spoken", "place", v.Place, "wait", v.Wait))
	}
	v.Gone = gone(a, v.settings.Gate())
	v.gathered(a, accept)
	v.RefreshSeconds = a.RetryAfterSeconds()
	v.Data.PollAfter, v.Data.Position, v.Data.Estimate, v.Data.High = a.Line.PeriodMillis, a.Line.Position, a.Line.EstimateMillis, a.Line.HighMillis
}

// gone returns how much of a visitor's wait is over, in percent, as view.Gone: the time since the arrival, or since the opening of
// the event, as a share of that time and the expected wait together.
func gone(a *answer.Answer, g event.Gate) int64 {
	now := a.Line.State.NowMillis
	if a.Line.Position == 0 || now == 0 {
		return 0
	}
	waited := max(0, now-g.WaitsSince(a.Line.Place.ArrivedAtMicros/1000, now))
	return min(max(100*waited/max(1, waited+a.Line.EstimateMillis), 1), 99)
}

// finish fills in what follows from the state, and the texts that all pages have.
func (v *view) finish(accept string) {
	v.Texts, v.Look = v.texts.Said, Look{Title: v.settings.PageTitle, Message: serve.TextFor(v.settings.Message, accept), Severity: v.settings.MessageSeverity}
	if v.State == inLine && v.Data.Position > 0 && v.Data.Estimate <= nearMillis {
		v.Look.Near = serve.TextFor(v.settings.MessageNear, accept)
	}
	v.accept = accept
	if v.Heading = v.text(string(v.State)); v.Text == "" {
		v.Text = v.text(string(v.State) + "Text")
	}
	v.Title = v.Heading
	switch {
	case v.State == turn:
		v.Title = "★ " + v.Title
	case v.State == inLine && v.Place != "":
		v.Title = "(" + v.Place + ") " + v.Title
	}
	if v.Look.Title != "" {
		v.Title += " – " + v.Look.Title
	}
	v.Keep, v.CheckText = v.text("keep", "duration", v.duration(v.settings.KeptFor())), v.text("checkText", "size", checkSize)
}

// refuse chooses the state and the status for an error, and when the page is loaded again.
func (v *view) refuse(err error, accept string) {
	if proof, ok := errors.AsType[*challenge.RequiredError](err); ok {
		v.prove(proof)
		return
	}
	r := refusal.Of(err)
	v.State, v.status, v.RefreshSeconds = state(r.Page.State), r.Status, int64(r.Page.AgainSeconds)
	if v.State == "" {
		const soon = 5
		v.State, v.status, v.RefreshSeconds = away, http.StatusServiceUnavailable, soon
	}
	var later interface{ RetryAfterSeconds() int }
	if errors.As(err, &later) {
		v.RefreshSeconds = int64(later.RetryAfterSeconds())
	}
	var told interface{ DetailFor(accept string) string }
	if errors.As(err, &told) {
		v.Text = told.DetailFor(accept)
	} else if r.Page.Text != "" {
		v.Text = v.text(r.Page.Text)
	}
}

// Figures reports whether the page has at least one figure.
func (v *view) Figures() bool { return v.Place != "" || v.Wait != "" || v.Opens != "" || v.There != "" }

// Scripted reports whether the page has its script: only a page that is to be loaded again does.
func (v *view) Scripted() bool { return v.RefreshSeconds > 0 }

// shownError is an error of a join or a poll of the script, with what the page shows of it.
type shownError struct {
	error
	html string
}

// Unwrap returns the error.
func (e *shownError) Unwrap() error { return e.error }

// HTML is a member of the problem: see refusal.Document.
func (e *shownError) HTML() string { return e.html }
