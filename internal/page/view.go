package page

import (
	"errors"
	"html/template"
	"net/http"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/entry"
	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/ticket"
	"github.com/openqueue/waitingroom/internal/wait"
)

// state is what the page shows. It is the key of its heading; with Text behind, that of its text.
type state string

const (
	inLine  state = "inLine"
	turn    state = "turn"
	lost    state = "lost"
	closed  state = "closed"
	paused  state = "paused"
	full    state = "full"
	away    state = "away"
	unknown state = "unknown"
	left    state = "left"
	invited state = "invited"
	soldOut state = "soldOut"

	announced state = "announced"
	gathering state = "gathering"
	drawn     state = "drawn"
	ended     state = "ended"
)

// view is what the template needs for one page.
type view struct {
	status  int
	State   state
	Heading string
	Text    string
	// Place, Wait, Opens and There are the figures: the position, the expected wait, the time until
	// an event opens, and how many wait for it. "" for none. The script replaces them as it polls.
	Place, Wait, Opens, There string
	// When says at what time the event opens. News is the operator's text about it. "" for none.
	When, News string
	// Seated: the visitor has a place.
	Seated bool
	// RefreshSeconds is in how many seconds a browser without scripts loads the page again; 0
	// for never.
	RefreshSeconds int64
	Again          string // the address that joins again
	Reloaded       string // the address that such a browser is to load, "" for the same
	Cookieless     bool   // the browser kept no cookie since it last loaded the page
	Data           data

	Lang, Dir, Nonce string
	Texts            map[string]string
	Keep, CheckText  string
	Look             Look
	CSS              template.CSS
	JS               template.JS
}

// data is what the page hands to its script, as JSON.
type data struct {
	Zone   string `json:"zone"`
	Lang   string `json:"lang"`
	State  state  `json:"state"`
	Target string `json:"target"`
	// PassParameter is the name of the target's query parameter that takes the pass.
	PassParameter string `json:"passParameter"`
	// Notice is the number of the message that is shown; see zone.Settings.Notice.
	Notice int64 `json:"notice"`
	// Reload says that the page does not know yet where it leads. So it is loaded again when it
	// is the visitor's turn.
	Reload bool `json:"reload,omitempty"`
	// PollAfter is in how many milliseconds the script polls for the first time.
	PollAfter int64 `json:"pollAfter"`
	Position  int64 `json:"position"`
	Estimate  int64 `json:"estimate"`
	// Range is the range in which the wait lies, nil if it is not known. Estimate is in milliseconds.
	Range *interval `json:"range,omitempty"`
	// Event is the zone's event, nil for none. Arrived is when the place was taken, in Unix
	// microseconds; 0 for no event.
	Event   *happening `json:"event,omitempty"`
	Arrived int64      `json:"arrived,omitempty"`
	// Ticket is the visitor's invitation, "" for none.
	Ticket string `json:"ticket,omitempty"`
	Secure bool   `json:"secure"`
	Texts  *Texts `json:"texts"`
}

// refuse chooses the state and the status for an error, and when the page is loaded again.
func (v *view) refuse(err error, accept string) {
	const soon, later = 5, 30
	var refused *guard.RefusedError
	var sold *answer.SoldOutError
	switch {
	case errors.Is(err, line.ErrZoneUnknown), errors.Is(err, line.ErrZoneDeleted):
		v.State, v.status = unknown, http.StatusNotFound
	case errors.Is(err, entry.ErrGone):
		v.State, v.status = lost, http.StatusGone
	case errors.Is(err, ticket.ErrMissing), errors.Is(err, ticket.ErrInvalid), errors.Is(err, ticket.ErrUsed):
		v.State, v.status = invited, http.StatusForbidden
	case errors.As(err, &sold):
		v.State, v.status, v.Text = soldOut, http.StatusGone, serve.TextFor(sold.Reason, accept)
	case errors.Is(err, wait.ErrClosed):
		v.State, v.status, v.RefreshSeconds = closed, http.StatusLocked, later
	case errors.Is(err, wait.ErrFull):
		v.State, v.status, v.RefreshSeconds = full, http.StatusTooManyRequests, later
	case errors.As(err, &refused):
		v.State, v.status, v.RefreshSeconds = away, http.StatusTooManyRequests, int64(refused.RetryAfterSeconds())
	default:
		v.State, v.status, v.RefreshSeconds = away, http.StatusServiceUnavailable, soon
		var later interface{ RetryAfterSeconds() int }
		if errors.As(err, &later) {
			v.RefreshSeconds = int64(later.RetryAfterSeconds())
		}
	}
	v.Data.PollAfter = 1000 * v.RefreshSeconds
}

// Figures reports whether the page has at least one figure.
func (v *view) Figures() bool { return v.Place != "" || v.Wait != "" || v.Opens != "" || v.There != "" }

// Scripted reports whether the page has its script: only a page that is to be loaded again does.
func (v *view) Scripted() bool { return v.RefreshSeconds > 0 }
