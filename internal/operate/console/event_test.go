package console_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/watch"
	"github.com/openqueue/waitingroom/internal/zone"
)

// at is a time after the beginning of a room's clock, as a form has it.
func at(d time.Duration) string { return start.Add(d).Format(time.RFC3339) }

// noon is an event that opens an hour after the beginning.
func noon() event.Event {
	return event.Event{
		Name: "noon", PreQueueAt: at(30 * time.Minute), OpensAt: at(time.Hour), ClosesAt: at(2 * time.Hour), EndsAt: at(3 * time.Hour),
		Order: event.OrderDraw, Settings: event.Values{"perMinute": "6000"}, Texts: event.Texts{Before: map[string]string{"en": "At noon."}},
	}
}

// list makes a zone with events.
func (r *room) list(zoneID string, events ...event.Event) {
	r.tb.Helper()
	was := r.put(zoneID)
	s := was
	s.Events = events
	parts.Must(r.tb, r.desk.Replace(r.tb.Context(), was, s, audit.By{Name: "Olga"}))
	r.makeDue(zoneID)
}

// makeDue does what servers do: all that is due.
func (r *room) makeDue(zoneID string) {
	r.tb.Helper()
	for {
		was := r.zone(zoneID)
		next, name, due := was.Due(r.Now(), func(string) (string, string) { return "nonce", "c0ffee" })
		if !due {
			return
		}
		_, err := r.zones.PutZone(r.tb.Context(), next, &was, zone.By(name))
		parts.Must(r.tb, err)
	}
}

// goTo lets time pass until so long after the beginning.
func (r *room) goTo(d time.Duration) {
	r.tb.Helper()
	r.Forward(start.Add(d).Sub(r.Now()))
	r.makeDue("Z")
}

// lacks wants a page not to have any of these texts.
func lacks(t *testing.T, w *httptest.ResponseRecorder, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if plain := words(w.Body.String()); strings.Contains(plain, text) {
			t.Errorf("the page says %q:\n%s", text, plain)
		}
	}
}

// TestEventPage is an event from its announcement to its end: what comes next stands first.
func TestEventPage(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.list("Z", noon())
	p := r.enter("Anna")
	r.goTo(0)
	shows(t, p.get("zones/Z/schedule/noon"), "noon ○ Announced Nobody gathers yet.", "People gather in 30 min Sat 21 Nov 2026, 12:29:00 UTC : people gather, and nobody is admitted; a draw gives them their places, with perMinute=6000.",
		"Hold the gathering …", "It opens ○ Later Sat 21 Nov 2026, 12:59:00 UTC in 1 h", "Commitment, published before people gather c0ffee")
	shows(t, p.get("zones/Z?tab=events"), "○ Announced noon : People gather in 30 min , Sat 21 Nov 2026, 12:29:00 UTC", "Event State Next noon ○ Announced People gather:")

	r.goTo(30 * time.Minute)
	r.goTo(59*time.Minute + time.Second)
	r.seen.round(map[string]watch.Sample{"Z": sample(r.Now())})
	page := p.get("zones/Z/schedule/noon")
	shows(t, page, "noon ◔ Gathering", "It opens in 59 s Sat 21 Nov 2026, 12:59:00 UTC : they are admitted, as drawn.", "Gathered 12,340", "Polls a second 1,370",
		"The draw closes ○ Later Sat 21 Nov 2026, 12:58:30 UTC in 29 s", "People gather ✓ Done", "event noon 2026-11-21 12:29:00 UTC", "Limit 600 a minute → to 6,000 a minute")
	main, _, _ := strings.Cut(words(page.Body.String()), "Gathered")
	if !strings.Contains(main, "Hold the opening …") || strings.Contains(main, "What happens when") {
		t.Errorf("before all figures stands\n%s", main)
	}
	shows(t, p.get("zones/Z"), "◔ Gathering People gather for noon. Nobody is admitted before it opens.")

	r.goTo(59*time.Minute + 40*time.Second)
	shows(t, p.get("zones/Z/schedule/noon"), "◕ Places fixed", "It opens in 20 s", "The draw closes ✓ Done")
	r.goTo(time.Hour)
	shows(t, p.get("zones/Z/schedule/noon"), "● Open People are admitted.", "No newcomers in 1 h")
	set := func(change func(z *zone.Settings)) {
		was := r.zone("Z")
		now := was
		change(&now)
		if _, err := r.zones.PutZone(t.Context(), now, &was, audit.By{Name: "Bob"}); err != nil {
			t.Fatal(err)
		}
	}
	limit := r.zone("Z").PerMinute
	set(func(z *zone.Settings) { z.PerMinute = 0 })
	shows(t, p.get("zones/Z/schedule/noon"), "▮▮ Paused Nobody is admitted. Visitors who wait keep their places.")
	set(func(z *zone.Settings) { z.PerMinute = limit })
	r.goTo(2 * time.Hour)
	shows(t, p.get("zones/Z/schedule/noon"), "■ Closed to newcomers Newcomers are refused. Visitors who wait are still admitted.", "It ends in 1 h")
	r.goTo(3 * time.Hour)
	shows(t, p.get("zones/Z/schedule/noon"), "– Over", "Nothing further")
	lacks(t, p.get("zones/Z"), "Countdown, hold, move, open, cancel")
	for _, path := range []string{"Z/schedule/dusk", "Y/schedule/noon", "Z/schedule/dusk/events", "Z/schedule/dusk/act?do=open"} {
		if w := p.get("zones/" + path); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// TestLateIsLoud: nobody makes a step that is due, by the store's clock, which is 10 s ahead of the server's.
func TestLateIsLoud(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.list("Z", noon())
	r.seen.ahead = 10 * time.Second
	p := r.enter("Anna")
	r.goTo(29 * time.Minute)
	page := p.get("zones/Z/schedule/noon")
	shows(t, page, "People gather in 50 s")
	if want := fmt.Sprintf(`data-now="%d"`, start.Add(29*time.Minute+10*time.Second).UnixMilli()); !strings.Contains(page.Body.String(), want) {
		t.Errorf("the page has no %s", want)
	}
	r.goTo(59 * time.Minute)
	r.Forward(50*time.Second + 900*time.Millisecond)
	shows(t, p.get("zones/Z/schedule/noon"), "● Opening It opens this second.")
	r.Forward(5 * time.Second)
	page = p.get("zones/Z/schedule/noon")
	shows(t, page, "✕ Late People are admitted by the store’s clock, but no server could record the opening yet.")
	if !strings.Contains(page.Body.String(), `class="card upnext loud"`) {
		t.Error("it is not loud")
	}
}

// act asks for what is to be done to noon, and says yes.
func (p *person) act(t *testing.T, query string) *httptest.ResponseRecorder {
	t.Helper()
	const path = "zones/Z/schedule/noon/act"
	asked := p.get(path + "?" + query)
	if asked.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", query, asked.Code, words(asked.Body.String()))
	}
	return p.follow(p.post(path, formOf(t, asked, path)))
}

// TestAnEventIsHeldOpenedMovedAndCancelled: each says before what it will do, and stands in the record.
func TestAnEventIsHeldOpenedMovedAndCancelled(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.list("Z", noon())
	r.goTo(59 * time.Minute)
	r.seen.round(map[string]watch.Sample{"Z": sample(r.Now())})
	p := r.enter("Anna")
	const act = "zones/Z/schedule/noon/act?"

	shows(t, p.get(act+"do=hold&step=opens"), "Hold the opening of noon?",
		"▲ Warning: Nobody is admitted until an operator moves the opening. Visitors who wait (12,340) keep their places, and read that the opening has no time yet.",
		"The later steps keep their times")
	if at, _ := r.zone("Z").EventState.Now.Step(event.StepOpens); at == event.Never {
		t.Fatal("asking holds it")
	}
	held := p.act(t, "do=hold&step=opens")
	shows(t, held, "▮▮ Held The opening waits until an operator moves it.", "Held: the opening waits for an operator", "Done at 12:58:00 UTC by Anna (claimed).", "Open now …", "Cancel the event …")
	page := p.get("zones/Z")
	shows(t, page, "▮▮ Opening held The opening of noon is held", "▮▮ Held noon : It opens when an operator moves it")
	if !strings.Contains(held.Body.String(), `class="card upnext loud"`) || !strings.Contains(page.Body.String(), `class="next-event loud"`) {
		t.Error("a held step is not loud")
	}

	r.goTo(time.Hour + 10*time.Minute)
	shows(t, p.get(act+"do=open"), "Open noon?", "It opens at Sat 21 Nov 2026, 13:09:34 UTC , in 34 s.", "The draw closes at Sat 21 Nov 2026, 13:09:04 UTC .")
	shows(t, p.act(t, "do=open"), "◔ Gathering", "It opens in 34 s")
	shows(t, p.get(act+"do=move&step=opens&by=60"), "in 1 min 34 s: 1 min later than now.")
	shows(t, p.act(t, "do=move&step=opens&to="+url.QueryEscape("2026-11-21T14:20:00+01:00")), "It opens in 11 min")

	for query, want := range map[string]string{
		"do=move&step=opens&to=noon":                 "must be a time such as 2026-12-01T12:00:00+01:00",
		"do=move&step=opens&by=x":                    "must be a time such as",
		"do=move&step=opens&to=2026-11-21T12:00:00Z": "2026-11-21T12:00:00Z is in the past",
		"do=skip": "must be hold, move, open or cancel",
	} {
		w := p.get(act + query)
		shows(t, w, "This cannot be done", want)
		if w.Code != http.StatusUnprocessableEntity || strings.Contains(w.Body.String(), `class="main"`) {
			t.Errorf("%s: %d, or with a button", query, w.Code)
		}
	}
	shows(t, p.get(act+"do=hold&step=ends"), "The settings of the event hold until an operator moves the end.")
	shows(t, p.act(t, "do=hold&step=closes"), "It opens in 11 min", "▲ Warning: The closing is held: it waits until an operator moves it.", "No newcomers ▮▮ Held")
	shows(t, p.get(act+"do=cancel"), "Cancel noon?", "▲ Warning: noon does not take place.",
		"▲ Warning: Visitors who wait (12,340) are admitted from now on, at 600 a minute. To keep them waiting, hold the opening instead.", "They keep the order of the draw.")
	shows(t, p.act(t, "do=cancel"), "– Over The event is over, or was cancelled.", "Anna (claimed) 2026-11-21 13:09:00 UTC")
	if s := r.zone("Z"); s.EventState.Now != nil || s.PerMinute != 600 {
		t.Errorf("after cancelling: %v", s)
	}
	shows(t, p.get(act+"do=cancel"), "is over, or was cancelled; list another time for it")
}

// TestActOnAnotherTime: what somebody else did first stays, and the page says so.
func TestActOnAnotherTime(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.list("Z", noon())
	r.goTo(time.Minute)
	anna, bea := r.enter("Anna"), r.enter("Bea")
	const path = "zones/Z/schedule/noon/act"
	asked := anna.get(path + "?do=cancel")
	bea.act(t, "do=hold&step=opens")
	w := anna.post(path, formOf(t, asked, path))
	shows(t, w, "Not changed", "Somebody else has changed the same meanwhile.")
	if w.Code != http.StatusConflict || r.zone("Z").EventState.Now == nil {
		t.Errorf("%d, %v", w.Code, r.zone("Z").EventState)
	}
	if w := anna.post(path, url.Values{"do": {"move"}, "to": {"noon"}}); w.Code != http.StatusNotFound {
		t.Errorf("a form that was not made here: %d", w.Code)
	}
}

// TestEventsAreListed: the form goes the way of all changes, and keeps what it cannot say.
func TestEventsAreListed(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.put("Z")
	p := r.enter("Anna")
	shows(t, p.get("zones/Z?tab=events"), "None is listed.", "New event …")
	shows(t, p.get("zones/Z/new-event"), "New event at Z", "People gather from")
	form := url.Values{
		"name": {"noon"}, "preQueueAt": {at(30 * time.Minute)}, "opensAt": {at(time.Hour)}, "endsAt": {at(3 * time.Hour)}, "order": {"draw"},
		"drawClosesSeconds": {"60"}, "during.perMinute": {"6,000"}, "during.maxWaiting": {" 5"}, "during.mode": {""}, "textBefore": {"At noon.\r\nde: Um zwölf."},
	}
	asked := p.post("zones/Z/new-event", form)
	shows(t, asked, "Change the events of Z?", "Sat 21 Nov 2026, 12:29:00 UTC : noon: people gather, and nobody is admitted; a draw gives them their places, with maxWaiting=5 perMinute=6,000.",
		"Sat 21 Nov 2026, 12:59:00 UTC : noon: they are admitted, as drawn.", "Sat 21 Nov 2026, 14:59:00 UTC : noon: the settings from before the event hold again.", "Event noon none opens 2026-11-21T12:59:00Z")
	shows(t, p.follow(p.post("zones/Z/change", formOf(t, asked, "zones/Z/change"))), "Event noon none → to opens 2026-11-21T12:59:00Z")
	shows(t, p.get("zones/Z?tab=events"), "noon ○ Listed")
	r.makeDue("Z")
	want := event.Event{
		Name: "noon", PreQueueAt: at(30 * time.Minute), OpensAt: at(time.Hour), EndsAt: at(3 * time.Hour), Order: event.OrderDraw, DrawClosesSeconds: 60,
		Settings: event.Values{"perMinute": "6,000", "maxWaiting": "5"}, Texts: event.Texts{Before: map[string]string{"default": "At noon.", "de": "Um zwölf."}},
	}
	if got := r.zone("Z").Events; len(got) != 1 || asJSON(t, got[0]) != asJSON(t, want) {
		t.Errorf("listed %s, want %s", asJSON(t, got), asJSON(t, want))
	}

	for want, bad := range map[string]url.Values{"has two events": form, "It opens: write a time": {"name": {"dusk"}, "opensAt": {"noon"}}, "settings: perMinute must be a whole number": {"name": {"dusk"}, "opensAt": {at(5 * time.Hour)}, "during.perMinute": {"much"}}} {
		w := p.post("zones/Z/new-event", bad)
		if shows(t, w, want); w.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", want, w.Code)
		}
	}
	if got := r.zone("Z").Events; len(got) != 1 {
		t.Errorf("listed: %v", got)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	parts.Must(t, err)
	return string(text)
}

// inForm are the fields of a form: one input, text or choice each.
var inForm = regexp.MustCompile(`<input id="[^"]*" name="([^"]*)" value="([^"]*)"|<textarea id="[^"]*" name="([^"]*)"[^>]*>([^<]*)|<select id="[^"]*" name="([^"]*)".*?<option value="([^"]*)" selected`)

func fieldsIn(page string) url.Values {
	all := url.Values{}
	for _, m := range inForm.FindAllStringSubmatch(page, -1) {
		all.Set(m[1]+m[3]+m[5], html.UnescapeString(m[2]+m[4]+m[6]))
	}
	return all
}

// TestEventIsEditedAndRemoved: an edit that changes one thing changes that alone.
func TestEventIsEditedAndRemoved(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	e := noon()
	e.PreQueueAt, e.OpensAt, e.ClosesAt, e.EndsAt = at(130*time.Minute), at(140*time.Minute), at(145*time.Minute), at(3*time.Hour)
	e.Order, e.Settings = event.OrderArrival, event.Values{"perMinute": "6000", "pageTitle": ""}
	r.list("Z", e)
	p := r.enter("Anna")
	asked := p.get("zones/Z/schedule/noon/edit")
	form := fieldsIn(asked.Body.String())
	if w := p.post("zones/Z/schedule/noon/edit", form); !strings.Contains(words(w.Body.String()), "Nothing to change") {
		t.Errorf("an edit of nothing:\n%s", words(w.Body.String()))
	}
	form.Set("closesAt", at(150*time.Minute))
	asked = p.post("zones/Z/schedule/noon/edit", form)
	shows(t, asked, "Change the events of Z?", "noon, no newcomers from 2026-11-21T14:24:00Z 2026-11-21T14:29:00Z", "Sat 21 Nov 2026, 14:29:00 UTC : noon: no newcomers any more; those who wait go on.")
	done := p.follow(p.post("zones/Z/change", formOf(t, asked, "zones/Z/change")))
	shows(t, done, "noon, no newcomers from 2026-11-21T14:24:00Z → to 2026-11-21T14:29:00Z")
	e.ClosesAt = at(150 * time.Minute)
	if got := r.zone("Z").Events; len(got) != 1 || asJSON(t, got[0]) != asJSON(t, e) {
		t.Errorf("edited to %s, want %s", asJSON(t, got), asJSON(t, e))
	}
	r.Forward(time.Second)
	r.makeDue("Z")
	shows(t, p.follow(p.post("zones/Z/undo", formOf(t, done, "zones/Z/undo"))), "noon, no newcomers from 2026-11-21T14:29:00Z → to 2026-11-21T14:24:00Z")
	r.makeDue("Z")

	asked = p.get("zones/Z/schedule/noon/remove")
	shows(t, asked, "▲ Warning: noon does not take place.")
	r.goTo(71 * time.Minute)
	shows(t, p.post("zones/Z/change", formOf(t, asked, "zones/Z/change")), "The event is fixed", "to cancel it: queue-server events cancel Z noon")
	shows(t, p.get("zones/Z/schedule/noon/remove"), "This cannot be set", "to cancel it")
	if s := r.zone("Z"); len(s.Events) != 1 || s.EventState.Now == nil {
		t.Errorf("removed: %v", s)
	}
}

// TestStepsAreNotUndone: what a server has made is not offered to be undone, but its settings are.
func TestStepsAreNotUndone(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.list("Z", noon())
	p := r.enter("Anna")
	r.goTo(time.Minute)
	p.act(t, "do=hold&step=opens")
	if n := strings.Count(p.get("zones/Z?tab=record").Body.String(), "zones/Z/undo"); n != 1 {
		t.Errorf("%d changes are offered to be undone, want the listing alone", n)
	}
	p.act(t, "do=move&step=opens&to="+url.QueryEscape(at(time.Hour)))
	r.goTo(30 * time.Minute)
	page := p.get("zones/Z?tab=record")
	shows(t, page, "Undo : back to 600 a minute")
	p.follow(p.post("zones/Z/undo", formOf(t, page, "zones/Z/undo")))
	if s := r.zone("Z"); s.PerMinute != 600 || s.EventState.Now.Phase != event.PhaseGathering {
		t.Errorf("undone: %v", s)
	}
}
