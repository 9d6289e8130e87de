package page_test

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/zone"
)

// commitment is the commitment to the seed of which all bytes are 0.
const commitment = "66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925"

// opening is when the event of these tests opens.
var opening = time.Date(2027, 7, 9, 12, 0, 0, 0, time.FixedZone("", 2*3600))

// reloads finds in how many seconds a browser without scripts loads the page again.
var reloads = regexp.MustCompile(`http-equiv="refresh" content="(\d+)[";]`)

// lists puts an event of that order on the zone's list. Without the event the zone is closed.
func (r *server) lists(order event.Order) {
	r.t.Helper()
	at := func(d time.Duration) string { return opening.Add(d).Format(time.RFC3339) }
	texts := func(text string) map[string]string { return map[string]string{"default": text, "de": text + " (de)"} }
	r.Clock.Set(opening.Add(-80 * time.Hour))
	r.set(func(s *zone.Settings) {
		s.Mode, s.IdleTimeoutSeconds = zone.ModeClosed, 3600
		s.Events = []event.Event{{
			Name: "noon", PreQueueAt: at(-time.Hour), OpensAt: at(0), ClosesAt: at(time.Hour), EndsAt: at(2 * time.Hour), Order: order,
			Settings: event.Values{"mode": "queue"}, Texts: event.Texts{Before: texts("At noon."), During: texts("It is on."), After: texts("That was it.")},
		}}
	})
	r.at(-80 * time.Hour)
}

// at sets the clock to a time after the opening, and makes the steps of the event that are due.
func (r *server) at(after time.Duration) {
	r.t.Helper()
	for _, after := range []time.Duration{min(after, -61*time.Minute), after} { // the servers fix the event in time
		if r.Now().Before(opening.Add(after)) {
			r.Clock.Set(opening.Add(after))
		}
		r.set(func(s *zone.Settings) {
			for due := true; due; {
				var next zone.Settings
				if next, _, due = s.Due(r.Now(), func(string) (string, string) { return strings.Repeat("0", 32), commitment }); due {
					*s = next
				}
			}
		})
	}
}

// TestAnEvent: what a page without scripts shows, from the announcement of an event until it is
// over. Nobody hears of a number before people settle, and all look again in time, but seldom.
func TestAnEvent(t *testing.T) {
	t.Parallel()
	const figure = `<div><dt>`
	for _, tt := range []struct {
		order event.Order
		after time.Duration // the opening
		first bool          // one who came while people gathered; else a newcomer
		want  int
		texts []string
		none  []string
		// The page is loaded again after so many seconds.
		from, upto int
	}{
		{event.OrderDraw, -73 * time.Hour, false, http.StatusLocked, []string{
			"Not open yet", "Beginning: 2027-07-09 11:00 (UTC&#43;02:00)", "Opening: 2027-07-09 12:00 (UTC&#43;02:00)", `<dd id="opens">3 days</dd>`, "At noon.",
		}, []string{figure + "Your place", `<form id="options" method="post">`}, 225, 375},
		{event.OrderDraw, -61 * time.Minute, false, http.StatusLocked, []string{"Not open yet", `<dd id="opens">61 minutes</dd>`}, nil, 22, 120},
		{event.OrderDraw, -59 * time.Minute, false, http.StatusOK, []string{
			"You are in the waiting room", "random place", `<dd id="opens">59 minutes</dd>`, `<dd id="there">2</dd>`, "At noon.", "come back within", commitment, `<form id="options" method="post">`,
		}, []string{figure + "Your place", figure + "Expected"}, 12, 20},
		{event.OrderDraw, -31 * time.Second, true, http.StatusOK, []string{"You are in the waiting room", `<dd id="there">1</dd>`}, []string{figure + "Your place"}, 12, 20},
		{event.OrderDraw, -29 * time.Second, true, http.StatusOK, []string{
			"Your number is drawn", "one after the other", figure + `Your place <span id="heard" aria-hidden="true"></span></dt><dd id="place">1</dd>`, figure + "Opens in",
		}, []string{figure + "Expected"}, 1, 20},
		{event.OrderDraw, -29 * time.Second, false, http.StatusOK, []string{"You are in line", "one after the other", figure + "Opens in"}, []string{`tabindex="-1">Your number is drawn`}, 1, 20},
		{event.OrderDraw, 10 * time.Second, false, http.StatusOK, []string{"You are in line", "It is on."}, []string{figure + "Opens in", `>At noon.</p>`}, 1, 20},
		{event.OrderDraw, time.Hour, false, http.StatusLocked, []string{"The line is closed", "That was it."}, nil, 30, 30},
		{event.OrderDraw, 2 * time.Hour, false, http.StatusLocked, []string{"It is over", "That was it."}, nil, 225, 375},
		{event.OrderArrival, -59 * time.Minute, false, http.StatusOK, []string{"You are in the waiting room", "Who came first goes in first"}, []string{`<p id="text">Shortly`}, 12, 20},
		{event.OrderArrival, -29 * time.Second, true, http.StatusOK, []string{"You are in line", figure + "Your place"}, []string{`tabindex="-1">Your number is drawn`}, 1, 20},
	} {
		r := newServer(t, 1)
		r.lists(tt.order)
		first, b := r.browser(), r.browser()
		for _, before := range []time.Duration{-59 * time.Minute, -10 * time.Minute, 5 * time.Second} {
			if before <= tt.after {
				r.at(before)
				first.get("")
			}
		}
		if r.at(tt.after); tt.first {
			b = first
		}
		w := b.get("")
		shows(t, w, tt.want, tt.texts...)
		for _, none := range tt.none {
			if strings.Contains(w.Body.String(), none) {
				t.Errorf("%v after the opening it has %q:\n%s", tt.after, none, w.Body)
			}
		}
		found := reloads.FindStringSubmatch(w.Body.String())
		if found == nil {
			t.Fatalf("%v after the opening it is not loaded again:\n%s", tt.after, w.Body)
		}
		if after, _ := strconv.Atoi(found[1]); after < tt.from || after > tt.upto {
			t.Errorf("%v after the opening it is loaded again after %d s, want %d to %d", tt.after, after, tt.from, tt.upto)
		}
	}
}

// TestAnOpeningThatIsHeld: an opening that is held has no time, and the page tells none.
func TestAnOpeningThatIsHeld(t *testing.T) {
	t.Parallel()
	r := newServer(t, 1)
	r.lists(event.OrderArrival)
	r.at(-59 * time.Minute)
	r.set(func(s *zone.Settings) {
		var fault string
		if s.EventState, fault = s.EventState.Hold(event.StepOpens, r.Now()); fault != "" {
			t.Fatal(fault)
		}
	})
	w := r.browser().get("")
	if shows(t, w, http.StatusOK, "You are in the waiting room", "The opening is postponed"); !strings.Contains(w.Body.String(), `<p id="when" hidden>`) {
		t.Errorf("it says when:\n%s", w.Body)
	}
}

// TestAPauseThatIsAnnounced: visitors who wait in a paused zone are told when it goes on, by the event's
// text in their language. Visitors in a line that moves are told nothing of an event that is far away.
func TestAPauseThatIsAnnounced(t *testing.T) {
	t.Parallel()
	r := newServer(t, 1)
	r.lists(event.OrderArrival)
	r.at(-70 * time.Hour)
	r.set(func(s *zone.Settings) { s.Mode, s.PerMinute = zone.ModeQueue, 0 })
	r.browser().get("")
	b := r.browser()
	b.header.Set("Accept-Language", "de")
	shows(t, b.get(""), http.StatusOK, "Die Warteschlange ruht", "zurzeit nicht bekannt", `<dd id="opens">3 Tage</dd>`, "At noon. (de)", "Beginn: 2027-07-09 12:00 (UTC&#43;02:00)")
	r.set(func(s *zone.Settings) { s.PerMinute = 1 })
	if w := b.get(""); strings.Contains(w.Body.String(), `<p id="news" dir="auto">`) || !strings.Contains(w.Body.String(), "Sie stehen an") {
		t.Errorf("in a line that moves:\n%s", w.Body)
	}
}
