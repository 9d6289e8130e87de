package console_test

import (
	"encoding/base64"
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
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/watch"
	"github.com/openqueue/waitingroom/internal/zone"
)

// hidden are the fields of a form that the page fills in itself.
var hidden = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)

// formOf are the hidden fields of the form that goes to a path.
func formOf(t *testing.T, w *httptest.ResponseRecorder, path string) url.Values {
	t.Helper()
	_, form, found := strings.Cut(w.Body.String(), `action="/console/`+path+`"`)
	if !found {
		t.Fatalf("no form goes to %s:\n%s", path, words(w.Body.String()))
	}
	form, _, _ = strings.Cut(form, "</form>")
	values := url.Values{}
	for _, m := range hidden.FindAllStringSubmatch(form, -1) {
		values.Set(m[1], html.UnescapeString(m[2]))
	}
	return values
}

// follow gets the page that an answer leads to.
func (p *person) follow(w *httptest.ResponseRecorder) *httptest.ResponseRecorder {
	p.tb.Helper()
	if w.Code != http.StatusSeeOther {
		p.tb.Fatalf("%d: %s", w.Code, words(w.Body.String()))
	}
	return p.get(strings.TrimPrefix(w.Header().Get("Location"), "/console/"))
}

// confirm asks for a change and says yes.
func (p *person) confirm(t *testing.T, query string) *httptest.ResponseRecorder {
	t.Helper()
	asked := p.get("zones/Z/change?" + query)
	return p.post("zones/Z/change", formOf(t, asked, "zones/Z/change"))
}

// What was done to a zone that was deleted is not undone in, nor resumed from,
// another one of its name.
func TestAnotherZoneOfTheSameNameHasNoPast(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	was := r.put("Z")
	paused := was
	paused.PerMinute = 0
	parts.Must(t, r.desk.Replace(t.Context(), was, paused, audit.By{Name: "Bea"}))
	anna := r.enter("Anna")
	page := anna.get("zones/Z?tab=record")
	shows(t, page, "Undo : back to 600 a minute")
	old := formOf(t, page, "zones/Z/undo")
	parts.Must(t, r.desk.Delete(t.Context(), "Z", audit.By{Name: "Bea"}, serve.Condition{}))
	r.make(paused, "Bea")
	if text := anna.get("zones/Z?tab=record").Body.String(); strings.Contains(text, "zones/Z/undo") {
		t.Error("the new zone offers to undo a change of the old one")
	}
	if w := anna.post("zones/Z/undo", old); w.Code != http.StatusNotFound {
		t.Errorf("undo: got %d", w.Code)
	}
	shows(t, anna.get("zones/Z/change?resume=1"), "The record does not say what the limit was.")
}

func TestAChangeSaysWhatItDoesAndIsUndoneWithOneClick(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.put("Z")
	r.seen.round(map[string]watch.Sample{"Z": sample(start)})
	anna := r.enter("Anna <i>")

	asked := anna.get("zones/Z/change?perMinute=900")
	shows(t, asked, "Set limit of Z to 900 a minute?", "At most 90 enter in any 6 s.",
		"At 900 a minute the last of 12,340 enters at about 12:12 UTC .", "Limit 600 a minute 900 a minute", "Cancel Set limit of Z to 900 a minute")
	if got := r.zone("Z"); got.PerMinute != 600 {
		t.Fatalf("asking has set the limit to %d", got.PerMinute)
	}
	done := anna.follow(anna.post("zones/Z/change", formOf(t, asked, "zones/Z/change")))
	shows(t, done, "Done at 11:59:01 UTC by Anna <i> (claimed). Limit 600 a minute → to 900 a minute Undo : back to 600 a minute")
	if strings.Contains(done.Body.String(), "<i>") {
		t.Error("a name is taken for HTML")
	}
	if got := r.zone("Z"); got.PerMinute != 900 {
		t.Errorf("the limit is %d", got.PerMinute)
	}
	r.Forward(time.Second)
	back := anna.follow(anna.post("zones/Z/undo", formOf(t, done, "zones/Z/undo")))
	shows(t, back, "Limit 900 a minute → to 600 a minute Undo : back to 900 a minute")
	if got := r.zone("Z"); !got.Equal(zone.Defaults("Z")) {
		t.Errorf("undone to %+v", got)
	}
	changes, err := r.desk.Changes(t.Context(), "Z", 10)
	parts.Must(t, err)
	if len(changes) != 3 || changes[0].Name != "Anna <i>" || changes[1].Name != "Anna <i>" || changes[2].Name != "Olga" {
		t.Errorf("record: %+v", changes)
	}
	shows(t, anna.get("changes"), "2026-11-21 11:59:02 UTC Anna <i> (claimed) root, 192.0.2.1, console Z Limit 900 a minute → to 600 a minute", "Olga Z Made the zone")
}

func TestPauseRemembersTheLimit(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.put("Z")
	p := r.enter("Anna")
	shows(t, p.get("zones/Z/change?perMinute=0"), "Pause Z?", "Cancel Pause Z", "Nobody is admitted.", "The store does not answer just now")
	shows(t, p.follow(p.confirm(t, "perMinute=0")), "Paused Nobody is admitted.", "Resume at 600")
	r.Forward(time.Second)
	p.confirm(t, "mode=closed")
	shows(t, p.get("zones/Z"), "Paused and closed", "Resume at 600")
	r.Forward(time.Second)
	shows(t, p.get("zones/Z/change?resume=1"), "Resume Z at 600 a minute?")
	if w := p.confirm(t, "resume=1"); w.Code != http.StatusSeeOther {
		t.Errorf("resume: %d", w.Code)
	}
	if got := r.zone("Z"); got.PerMinute != 600 || got.Mode != zone.ModeClosed {
		t.Errorf("resumed: %+v", got)
	}
	made := zone.Defaults("Y")
	made.PerMinute = 0
	r.make(made, "Olga")
	shows(t, p.get("zones/Y"), "Paused. To resume, set a limit.")
	w := p.get("zones/Y/change?resume=1")
	shows(t, w, "The record does not say what the limit was. Enter a limit.")
	if w.Code != http.StatusUnprocessableEntity {
		t.Errorf("resume to what nobody knows: %d", w.Code)
	}
}

func TestProposals(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	s := r.put("Z")
	p := r.enter("Anna")
	for query, want := range map[string]string{
		"step=10":                    "to 660 a minute?",
		"step=-10":                   "to 540 a minute?",
		"perMinute=12,340":           "to 12,340 a minute?",
		"mode=open":                  "Cancel Open Z to all",
		"mode=closed":                "Cancel Close Z to newcomers",
		"mode=queue":                 "Nothing to change",
		"perMinute=600":              "Nothing to change",
		"maxWaiting=100&burst=5":     "Change 2 settings of Z?",
		"windowSeconds=12":           "Set window of Z to 12 s?",
		"onStoreFailure=admit":       "Set when the store is away of Z to admit?",
		"zoneId=Y&perMinute=700":     "Set limit of Z to 700 a minute?",
		"bots=low":                   "Change 4 settings of Z? ",
		"bots=high":                  "Challenge none work When it is asked for while there is a line always Work 1,000 ms 2,000 ms Most by network no bound 5 %",
		"bots=all":                   "Bots: choose low, medium or high.",
		"perMinute=much":             "Limit: write a whole number between 0 and 6,000,000.",
		"mode=ajar&windowSeconds=99": "Mode: choose one of the list. Window: write a whole number between 1 and 60.",
	} {
		w := p.get("zones/Z/change?" + query)
		shows(t, w, want)
		refused := strings.Contains(want, ": ")
		if (w.Code == http.StatusUnprocessableEntity) != refused {
			t.Errorf("%s: %d", query, w.Code)
		}
		if strings.Contains(w.Body.String(), `class="main"`) == (refused || want == "Nothing to change") {
			t.Errorf("%s: a button that does nothing, or none", query)
		}
	}
	tiny := s
	tiny.PerMinute = 1
	parts.Must(t, r.desk.Replace(t.Context(), s, tiny, audit.By{Name: "Olga"}))
	shows(t, p.get("zones/Z/change?step=10"), "to 2 a minute?")
	shows(t, p.get("zones/Z/change?step=-10"), "Nothing to change")
	w := p.post("zones/Z/change", url.Values{"was.perMinute": {"1"}, "perMinute": {"-1"}})
	shows(t, w, "Limit: write a whole number")
	if w.Code != http.StatusUnprocessableEntity || !r.zone("Z").Equal(tiny) {
		t.Errorf("a form that was not made here: %d %+v", w.Code, r.zone("Z"))
	}
}

func TestWhoIsFasterWins(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	s := r.put("Z")
	anna := r.enter("Anna")
	asked := anna.get("zones/Z/change?perMinute=900")

	bea := s
	bea.MaxWaiting = 5000
	parts.Must(t, r.desk.Replace(t.Context(), s, bea, audit.By{Name: "Bea"}))
	r.Forward(time.Second)
	done := anna.follow(anna.post("zones/Z/change", formOf(t, asked, "zones/Z/change")))
	if got := r.zone("Z"); got.PerMinute != 900 || got.MaxWaiting != 5000 {
		t.Errorf("another setting: %+v", got)
	}
	undo := formOf(t, done, "zones/Z/undo")

	r.Forward(time.Second)
	was := r.zone("Z")
	bea = was
	bea.PerMinute = 700
	parts.Must(t, r.desk.Replace(t.Context(), was, bea, audit.By{Name: "Bea"}))
	for path, form := range map[string]url.Values{
		"zones/Z/change": formOf(t, asked, "zones/Z/change"), "zones/Z/undo": undo,
	} {
		w := anna.post(path, form)
		shows(t, w, "Not changed", "Somebody else has changed the same meanwhile. Nothing of yours was set.")
		if w.Code != http.StatusConflict || !r.zone("Z").Equal(bea) {
			t.Errorf("%s: %d, %+v", path, w.Code, r.zone("Z"))
		}
	}
	page := anna.get("zones/Z?tab=record")
	shows(t, page, "Bea 2026-11-21 11:59:03 UTC Limit 900 a minute → to 700 a minute Undo : back to 900 a minute")
	if n := strings.Count(page.Body.String(), "/console/zones/Z/undo"); n != 2 {
		t.Errorf("%d changes can be undone, want Bea's two", n)
	}
	if w := anna.post("zones/Z/undo", url.Values{"change": {"0-0"}}); w.Code != http.StatusNotFound {
		t.Errorf("undo of what never was: %d", w.Code)
	}
}

func TestCreate(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	p := r.enter("Anna")
	shows(t, p.get(""), "There is no zone yet.")
	w := p.post("new", url.Values{"zoneId": {`"><script>`}, "perMinute": {"<b>"}, "mode": {"queue"}})
	shows(t, w, "Name: 1 to 64 letters", "Limit: write a whole number")
	if body := w.Body.String(); w.Code != http.StatusUnprocessableEntity || strings.Contains(body, "<script>") || strings.Contains(body, "<b>") {
		t.Errorf("%d, or HTML in\n%s", w.Code, body)
	}
	made := p.follow(p.post("new", url.Values{"zoneId": {" shop.v1_a-B "}, "perMinute": {"1,200"}, "mode": {"closed"}}))
	shows(t, made, "shop.v1_a-B", "Made the zone: Limit 1,200 a minute ; Mode closed to newcomers")
	want := zone.Defaults("shop.v1_a-B")
	want.PerMinute, want.Mode = 1200, zone.ModeClosed
	if got := r.zone("shop.v1_a-B"); !got.Equal(want) {
		t.Errorf("made %+v", got)
	}
	shows(t, p.post("new", url.Values{"zoneId": {"shop.v1_a-B"}, "perMinute": {"5"}}), "There is a zone with this name already.")
	if got := r.zone("shop.v1_a-B"); !got.Equal(want) {
		t.Errorf("set to %+v", got)
	}
	shows(t, p.get(""), "shop.v1_a-B ■ Closed to newcomers")
}

// TestDelete asks for the name, and deletes what was seen then: not what somebody else has changed since.
func TestDelete(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	was := r.put("Z")
	r.seen.round(map[string]watch.Sample{"Z": sample(start)})
	p := r.enter("Anna")
	const path = "zones/Z/delete"
	asked := p.get(path)
	shows(t, asked, "Delete Z?", "12,340 waiting. All lose their places", "Type the zone’s name, Z")
	form := formOf(t, asked, path)
	for _, typed := range []string{"", "z", "ZZ", "Z\x00"} {
		form.Set("confirm", typed)
		w := p.post(path, form)
		shows(t, w, "That is not the zone's name. Nothing was deleted.")
		if w.Code != http.StatusUnprocessableEntity {
			t.Errorf("%q: %d", typed, w.Code)
		}
	}
	now := was
	now.PerMinute = 1200
	parts.Must(t, r.desk.Replace(t.Context(), was, now, audit.By{Name: "Bea"}))
	form.Set("confirm", "Z")
	if w := p.post(path, form); w.Code != http.StatusConflict {
		t.Errorf("it was changed meanwhile: %d", w.Code)
	}
	form = formOf(t, p.get(path), path)
	form.Set("confirm", " Z ")
	shows(t, p.follow(p.post(path, form)), "There is no zone yet.")
	for _, w := range []*httptest.ResponseRecorder{p.post(path, form), p.get("zones/Z")} {
		if w.Code != http.StatusNotFound {
			t.Errorf("deleted: %d", w.Code)
		}
	}
	shows(t, p.get("changes"), "Anna (claimed) root, 192.0.2.1, console Z Deleted the zone")
}

// TestWaitingPage: the page's settings go the way of all changes, also a logo that is too
// long for an address, and can be looked at before.
func TestWaitingPage(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.put("Z")
	p := r.enter("Anna")
	logo := "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte("<svg>"+strings.Repeat(" ", 12_000)+"</svg>"))
	form := url.Values{"message": {"Doors at noon.\r\nde: Um zw\u00f6lf."}, "pageTitle": {"Shop"}, "pageLogo": {logo}, "pageColor": {"#0f766e"}, "sites": {"https://shop.example"}}
	if w := p.post("zones/Z/preview", form); w.Body.String() != "Shop|Doors at noon.|" {
		t.Errorf("preview: %d %s", w.Code, w.Body)
	}
	form.Set("previewLanguage", "de")
	if w := p.post("zones/Z/preview", form); w.Body.String() != "Shop|Doors at noon.|de" {
		t.Errorf("preview: %d %s", w.Code, w.Body)
	}
	asked := p.post("zones/Z/ask", form)
	if got := words(asked.Body.String()); !strings.Contains(got, "image/svg+xml, 12.0 KB") || len(r.zone("Z").Message) > 0 {
		t.Errorf("asked: %d %s", asked.Code, got)
	}
	done := p.follow(p.post("zones/Z/change", formOf(t, asked, "zones/Z/change")))
	if s := r.zone("Z"); s.PageLogo != logo || s.Message["default"] != "Doors at noon." || s.Message["de"] != "Um zw\u00f6lf." || s.PageColor != "#0f766e" || len(s.Sites) != 1 {
		t.Errorf("set: %.200s", s)
	}
	if w := p.follow(p.post("zones/Z/undo", formOf(t, done, "zones/Z/undo"))); w.Code != http.StatusOK || !r.zone("Z").Equal(zone.Defaults("Z")) {
		t.Errorf("undone: %d %.200s", w.Code, r.zone("Z"))
	}
	if w := p.post("zones/Z/ask", url.Values{"pageColor": {"red } *"}}); w.Code != http.StatusUnprocessableEntity ||
		!strings.Contains(words(w.Body.String()), "Page colour:") {
		t.Errorf("a bad colour: %d", w.Code)
	}
}
