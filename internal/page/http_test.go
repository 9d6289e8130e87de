package page_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/challenge"
	"github.com/openqueue/waitingroom/internal/check/room"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/page"
	"github.com/openqueue/waitingroom/internal/ticket"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

const (
	zoneID     = "SALE"
	cookieName = "waitingroom-" + zoneID
)

// server is a server with the page.
type server struct {
	*room.Server
	t testing.TB
	// inside is the zone in which each browser is inside.
	inside string
	page   *page.HTTP
}

func newServer(t testing.TB, perMinute int64) *server {
	t.Helper()
	r := &server{Server: room.New(t, zoneID, perMinute), t: t}
	r.Open(t, zones.Options{DrawSeeds: seeds{}})
	r.serve()
	return r
}

// serve makes the rooms and the page of the server's parts.
func (r *server) serve() {
	r.t.Helper()
	r.Serve(r.t)
	var err error
	r.page, err = page.New(r.Wait, r.Entry, r.Zones, r.isInside)
	room.Must(r.t, err)
	r.Echo.GET("/wait/:zoneId", r.page.Get)
	r.Echo.POST("/wait/:zoneId", r.page.Post)
}

func (r *server) set(change func(*zone.Settings)) { r.t.Helper(); r.Set(r.t, change) }

// fail has the store fail where visitors ask it; nil has it answer again.
func (r *server) fail(err error) { r.Store.Fail(err, "join", "leave", "poll") }

// seeds knows the seed of each draw.
type seeds struct{}

func (seeds) Seed(string, event.Draw) (event.Seed, bool) { return event.Seed{}, true }

// shown is the page of a visitor who waits at the second place and is told that. was is the range that the visitor sees.
func (r *server) shown(low, high int64, why line.Reason, was string) *httptest.ResponseRecorder {
	r.t.Helper()
	a, err := r.Issuer.Answer(r.Zones.Known(zoneID).Settings(), line.Told{
		Answer: line.Answer{Status: line.Waiting, Position: 1, PeriodMillis: 5_000}, LowMillis: low, HighMillis: high, Reason: why,
	})
	room.Must(r.t, err)
	req, w := httptest.NewRequest(http.MethodGet, "/wait/"+zoneID, nil), httptest.NewRecorder()
	req.Header.Set("Accept-Language", "en")
	c := r.Echo.NewContext(req, w)
	c.SetParamNames("zoneId")
	c.SetParamValues(zoneID)
	room.Must(r.t, page.Show(r.page, c, page.View(r.page, c, r.Zones.Known(zoneID), &a, nil, was)))
	return w
}

func (r *server) isInside(zoneID string, _ http.Header) bool { return zoneID == r.inside }

// waits returns how many are in the line.
func (r *server) waits() int64 {
	r.t.Helper()
	return r.Stats(r.t).State.Waiting
}

// sweep removes all who are idle.
func (r *server) sweep() {
	r.t.Helper()
	for cursor, done := uint64(0), false; !done; {
		s, err := r.Store.Sweep(r.t.Context(), zoneID, "test", cursor)
		room.Must(r.t, err)
		cursor, done = s.Next, s.Next == 0
	}
}

// browser is one that keeps its cookies, and follows no redirect.
type browser struct {
	server  *server
	cookies map[string]*http.Cookie
	header  http.Header
}

func (r *server) browser() *browser {
	return &browser{server: r, cookies: map[string]*http.Cookie{}, header: http.Header{"Accept-Language": {"en"}}}
}

func (b *browser) ask(method, path string) *httptest.ResponseRecorder {
	b.server.t.Helper()
	req := httptest.NewRequest(method, path, nil)
	req.Header = b.header.Clone()
	for _, c := range b.cookies {
		req.AddCookie(c)
	}
	w := httptest.NewRecorder()
	b.server.Echo.ServeHTTP(w, req)
	for _, c := range w.Result().Cookies() {
		if c.Path != "/wait/"+zoneID || c.SameSite != http.SameSiteLaxMode {
			b.server.t.Errorf("cookie %s", c)
		}
		if b.cookies[c.Name] = c; c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		}
	}
	return w
}

// get opens the page. A browser without a cookie is led to it with one.
func (b *browser) get(query string) *httptest.ResponseRecorder {
	b.server.t.Helper()
	w := b.ask(http.MethodGet, "/wait/"+zoneID+query)
	if to := w.Header().Get("Location"); strings.HasPrefix(to, "?") && strings.Contains(to, "reloaded=") {
		return b.ask(http.MethodGet, "/wait/"+zoneID+to)
	}
	return w
}

// shows checks the status, and that the page has these texts.
func shows(t *testing.T, w *httptest.ResponseRecorder, status int, texts ...string) {
	t.Helper()
	if w.Code != status {
		t.Errorf("status is %d, want %d", w.Code, status)
	}
	for _, text := range texts {
		if !strings.Contains(w.Body.String(), text) {
			t.Errorf("the page does not say %q:\n%s", text, w.Body)
		}
	}
}

// refresh returns in how many seconds a browser without the script loads the page again.
const refresh = `<noscript><meta http-equiv="refresh" content="`

// TestWithoutCookies: a browser that keeps no cookies is told so, and takes no place that it would lose.
func TestWithoutCookies(t *testing.T) {
	t.Parallel()
	r := newServer(t, 0)
	at := regexp.MustCompile(`; url=([^"]+)"></noscript>`)
	for name, says := range map[string]string{"keeps": "The line is paused", "forgets": "This browser keeps no cookies"} {
		b := r.browser()
		w := b.ask(http.MethodGet, "/wait/"+zoneID+"?to=/x%3Fa=1%26b")
		for range 3 {
			if name == "forgets" {
				clear(b.cookies)
			}
			address := w.Header().Get("Location")
			if reload := at.FindStringSubmatch(w.Body.String()); reload != nil {
				address = html.UnescapeString(reload[1])
			} else if w.Code != http.StatusSeeOther {
				t.Fatalf("%s: the page is not loaded again: %d\n%s", name, w.Code, w.Body)
			}
			w = b.ask(http.MethodGet, "/wait/"+zoneID+address)
			shows(t, w, http.StatusOK, "<h1 id=\"heading\" tabindex=\"-1\">"+says, "<script")
		}
	}
	if n := r.waits(); n != 1 {
		t.Errorf("%d wait", n)
	}
	// What the gate says of a browser that has been admitted.
	b := r.browser()
	shows(t, b.get("?cookieless=1&to=/x%3Fwaiting_room_pass=a.b.c"), http.StatusForbidden, "This browser keeps no cookies", `href="/x?waiting_room_pass=a.b.c"`)
	if w := b.get("?cookieless=1&to=/x"); strings.Contains(w.Body.String(), "<script") || r.waits() != 1 {
		t.Errorf("it joins: %d wait", r.waits())
	}
}

// TestTabsAtOnce: tabs that a browser opens together take one place, whatever answer comes first.
func TestTabsAtOnce(t *testing.T) {
	t.Parallel()
	r := newServer(t, 0)
	const tabs = 10
	for _, together := range []string{"first all are led", "each goes on by itself"} {
		b := r.browser()
		var got []*http.Cookie // as a browser sends them: those it has longest first
		open := func(to string, kept []*http.Cookie) string {
			clear(b.cookies)
			req := httptest.NewRequest(http.MethodGet, "/wait/"+zoneID+to, nil)
			for _, c := range kept {
				req.AddCookie(c)
			}
			w := httptest.NewRecorder()
			r.Echo.ServeHTTP(w, req)
			got = append(got, w.Result().Cookies()...)
			return w.Header().Get("Location")
		}
		to := make([]string, tabs)
		if together == "first all are led" {
			for i := range tabs {
				to[i] = open("?to=/x", nil)
			}
			for i := range tabs {
				open(to[i], got[:tabs])
			}
		} else {
			var led string
			for range tabs { // all requests are sent before the first answer is here
				led = open("?to=/x", nil)
				open(led, got)
			}
		}
	}
	if n := r.waits(); n != 2 {
		t.Errorf("%d places for two browsers", n)
	}
}

// TestWhoIsInside: a visitor who is inside is led on, and takes no place.
func TestWhoIsInside(t *testing.T) {
	t.Parallel()
	r := newServer(t, 0)
	r.inside = zoneID
	if w := r.browser().get("?to=/cart"); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/cart" || r.waits() != 0 {
		t.Errorf("%d to %q, %d wait", w.Code, w.Header().Get("Location"), r.waits())
	}
}

// TestWithoutScript is a wait by reloading alone: from the line to the site.
func TestWithoutScript(t *testing.T) {
	t.Parallel()
	r := newServer(t, 10) // one in 6 s
	first, second := r.browser(), r.browser()
	if w := first.get("?to=/cart?item=7%26n=2"); w.Code != http.StatusSeeOther {
		t.Fatalf("the first is not let in: %d", w.Code)
	}
	w := second.get("?to=/cart")
	shows(t, w, http.StatusOK, "<h1 id=\"heading\" tabindex=\"-1\">You are in line</h1>", `<dd id="place">1</dd>`,
		`less than a minute`, refresh, "come back within 16 minutes")
	w = second.get("?to=/cart")
	shows(t, w, http.StatusOK, `<dd id="place">1</dd>`)
	if waits, err := r.Store.Observe(t.Context(), zoneID, 0); err != nil || waits.State.Waiting != 1 {
		t.Errorf("a reload took another place: %d wait, %v", waits.State.Waiting, err)
	}
	r.Forward(6100 * time.Millisecond)
	w = second.get("?to=/cart%3Fitem=7")
	location, err := url.Parse(w.Header().Get("Location"))
	if w.Code != http.StatusSeeOther || err != nil || location.Path != "/cart" || location.Query().Get("item") != "7" ||
		strings.Count(location.Query().Get(page.PassParameter), ".") != 2 {
		t.Errorf("let in to %s (%d)", location, w.Code)
	}
	if w.Header().Get("Cache-Control") != "no-store" {
		t.Error("the pass may be cached")
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	waiting := func(r *server) *browser { // one who has a place
		r.browser().get("")
		b := r.browser()
		b.get("")
		return b
	}
	for name, tt := range map[string]struct {
		do     func(r *server, b *browser)
		status int
		texts  []string
	}{
		"swept": {func(r *server, _ *browser) {
			r.Forward(10 * time.Minute)
			r.sweep()
			r.Forward(16 * time.Minute)
		}, http.StatusGone, []string{"Your place is gone", `href="?again=1"`}},
		"paused": {func(r *server, _ *browser) { r.set(func(s *zone.Settings) { s.PerMinute = 0 }) },
			http.StatusOK, []string{"The line is paused", "You keep your place", "not known at the moment", refresh}},
		"closed to a newcomer": {func(r *server, b *browser) {
			r.set(func(s *zone.Settings) { s.Mode = zone.ModeClosed })
			clear(b.cookies)
		}, http.StatusLocked, []string{"The line is closed", `content="30;`}},
		"sold out for one in line": {func(r *server, _ *browser) {
			r.set(func(s *zone.Settings) { s.SoldOut = zone.Texts{"default": "No <seats> are left.", "fr": "Complet."} })
		}, http.StatusGone, []string{"Sold out", "No &lt;seats&gt; are left."}},
		"sold out for a newcomer": {func(r *server, b *browser) {
			r.set(func(s *zone.Settings) { s.SoldOut = zone.Texts{"default": "No seats are left.", "fr": "Complet."} })
			clear(b.cookies)
			b.header.Set("Accept-Language", "fr")
		}, http.StatusGone, []string{"Épuisé", "Complet."}},
		"closed to one in line": {func(r *server, _ *browser) { r.set(func(s *zone.Settings) { s.Mode = zone.ModeClosed }) },
			http.StatusOK, []string{"You are in line"}},
		"full": {func(r *server, b *browser) {
			r.set(func(s *zone.Settings) { s.MaxWaiting = 1 })
			clear(b.cookies)
		}, http.StatusTooManyRequests, []string{"The line is full", `content="30;`}},
		"store away": {func(r *server, _ *browser) { r.fail(line.ErrStoreUnavailable) },
			http.StatusServiceUnavailable, []string{"One moment, please", "Your place is kept"}},
		"zone deleted": {func(r *server, _ *browser) {
			room.Must(r.t, r.Store.DeleteZone(r.t.Context(), zoneID, audit.By{}))
		},
			http.StatusNotFound, []string{"There is nothing to wait for here"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newServer(t, 10)
			b := waiting(r)
			tt.do(r, b)
			w := b.get("")
			shows(t, w, tt.status, tt.texts...)
		})
	}
}

// TestHowLongAndWhy: the page tells the range of the wait, and why it changed. On hold it tells neither.
func TestHowLongAndWhy(t *testing.T) {
	t.Parallel()
	r := newServer(t, 10)
	const low, high, none = 245_000, 340_000, `<p id="text" hidden>`
	shows(t, r.shown(low, high, line.NoReason, ""), http.StatusOK, `<dd id="wait">4 to 6 minutes</dd>`, `data-range="245000 340000"`, `"high":340000`, none)
	shows(t, r.shown(low, high, line.Slower, ""), http.StatusOK, "You are in line", `<dd id="wait">4 to 6 minutes</dd>`, `<p id="text">Fewer people are let in now. Your wait is longer.</p>`)
	r.set(func(s *zone.Settings) { s.PerMinute = 0 })
	shows(t, r.shown(low, high, line.Slower, ""), http.StatusOK, "The line is paused", `<dd id="wait">not known at the moment</dd>`, `<p id="text">You keep your place.`)
	r.set(func(s *zone.Settings) { s.PerMinute = 10 })
	// The estimate does not know yet that it goes on.
	shows(t, r.shown(low, high, line.OnHold, ""), http.StatusOK, "You are in line", `<dd id="wait">4 to 6 minutes</dd>`, none)
	// The range that the visitor sees stays while it holds.
	shows(t, r.shown(240_000, 360_000, line.Faster, ""), http.StatusOK, `data-spoken="More people are let in now. Your wait is shorter. Place 1, 4 to 6 minutes."`)
	shows(t, r.shown(230_000, 373_000, line.Faster, ""), http.StatusOK, `<dd id="wait">3 to 7 minutes</dd>`)
	shows(t, r.shown(230_000, 373_000, line.Faster, "240000 360000"), http.StatusOK, `<dd id="wait">4 to 6 minutes</dd>`, `data-range="240000 360000"`)
	for _, was := range []string{"240000 360000", "NaN 360000"} {
		shows(t, r.shown(200_000, 330_000, line.Faster, was), http.StatusOK, `<dd id="wait">3 to 6 minutes</dd>`)
	}
}

// TestAgain: a visitor whose place is gone joins again only on request.
func TestAgain(t *testing.T) {
	t.Parallel()
	r := newServer(t, 10)
	r.browser().get("")
	b := r.browser()
	b.get("")
	r.Forward(10 * time.Minute)
	r.sweep()
	r.Forward(16 * time.Minute)
	r.browser().get("")
	r.browser().get("")
	shows(t, b.get(""), http.StatusGone, "Your place is gone")
	shows(t, b.get(""), http.StatusGone, "Your place is gone")
	w := b.get("?again=1&to=/cart")
	if at := w.Header().Get("Location"); w.Code != http.StatusSeeOther || at != "?to=%2Fcart" {
		t.Fatalf("%d to %q", w.Code, at)
	}
	for range 2 { // loaded again, it is the same place
		shows(t, b.get("?to=%2Fcart"), http.StatusOK, "You are in line", `<dd id="place">2</dd>`)
	}
}

// TestALinkTakesNobodysPlace: a visitor who waits keeps the place, whatever link leads to the page.
func TestALinkTakesNobodysPlace(t *testing.T) {
	t.Parallel()
	r := newServer(t, 10)
	r.browser().get("")
	b := r.browser()
	b.get("")
	r.browser().get("")
	b.get("?again=1&to=/cart")
	shows(t, b.get("?to=/cart"), http.StatusOK, `<dd id="place">1</dd>`)
	r.fail(line.ErrStoreUnavailable)
	b.get("?again=1&to=/cart")
	r.fail(nil)
	shows(t, b.get("?to=/cart"), http.StatusOK, `<dd id="place">1</dd>`)
}

// TestWhoComesBackAnotherDay: a visitor whose last place was used is not told that a place was lost.
func TestWhoComesBackAnotherDay(t *testing.T) {
	t.Parallel()
	r := newServer(t, 10)
	b := r.browser()
	if w := b.get("?to=/cart"); w.Code != http.StatusSeeOther {
		t.Fatalf("the first: %d", w.Code)
	}
	r.Forward(24 * time.Hour)
	r.sweep()
	r.browser().get("")
	shows(t, b.get("?to=/cart"), http.StatusOK, "You are in line", `<dd id="place">1</dd>`)
}

// TestAgainAfterThePassWasUsed: the place of the cookie would only give the same pass. No link takes away a pass that is good.
func TestAgainAfterThePassWasUsed(t *testing.T) {
	t.Parallel()
	r := newServer(t, 20)
	b := r.browser()
	at := b.get("?to=/cart").Header().Get("Location")
	_, given, _ := strings.Cut(at, page.PassParameter+"=")
	for _, link := range []string{"?to=/cart", "?again=1&to=/cart", "?again=1&to=/cart&refused=" + page.Refused("another"), "?to=/cart&token=" + given} {
		if w := b.get(link); w.Header().Get("Location") != at { // a link of somebody else
			b.get(link)
		}
		if w := b.get("?to=/cart"); given == "" || w.Header().Get("Location") != at {
			t.Errorf("%s: first to %q, then %d to %q", link, at, w.Code, w.Header().Get("Location"))
		}
	}
	tab := &browser{server: r, cookies: map[string]*http.Cookie{cookieName: b.cookies[cookieName]}, header: b.header}
	places := map[string]bool{}
	for _, one := range []*browser{b, tab} { // two tabs are refused at once
		one.get("?again=1&to=/cart&refused=" + page.Refused(given))
		other := one.get("?to=/cart")
		places[other.Header().Get("Location")] = true
		if other.Code != http.StatusSeeOther || places[at] {
			t.Errorf("first to %q, then %d to %q", at, other.Code, other.Header().Get("Location"))
		}
	}
	if len(places) != 1 {
		t.Errorf("two tabs took %d places", len(places))
	}
}

// invites is a shop in which a ticket is the name of its visitor.
type invites struct{}

func (invites) Claims(token string) (jwt.MapClaims, error) {
	if token == "forged" {
		return nil, jwt.ErrTokenSignatureInvalid
	}
	return jwt.MapClaims{"aud": zoneID, "event": "spring", "sub": token}, nil
}

// TestATicketHandedOver: a ticket that is handed over is kept in a cookie, taken out of the address, and used when its visitor presses
// the button, which programs that open links in mails do not.
func TestATicketHandedOver(t *testing.T) {
	t.Parallel()
	r := newServer(t, 10)
	r.Tickets = ticket.New(invites{}, r.Store, r.Log)
	r.serve()
	r.browser().get("")
	r.set(func(s *zone.Settings) { s.Invitation = "spring" })
	shows(t, r.browser().get("?to=/x"), http.StatusForbidden, "By invitation only")
	shows(t, r.browser().get("?to=/x&again=1"), http.StatusSeeOther)
	b, forger := r.browser(), r.browser()
	if w := b.get("?to=/x&ticket=alice"); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "?to=%2Fx" || !b.cookies["waitingroom_ticket-"+zoneID].HttpOnly {
		t.Errorf("%d to %q, cookies %v", w.Code, w.Header().Get("Location"), b.cookies)
	}
	for range 2 {
		shows(t, b.get("?to=/x"), http.StatusOK, "You are invited", `<form method="post" action="?join=1&amp;`)
	}
	if r.waits() != 0 {
		t.Errorf("%d places, and nobody has pressed the button", r.waits())
	}
	w := b.ask(http.MethodPost, "/wait/"+zoneID+"?join=1&to=/x")
	if shows(t, w, http.StatusOK, "You are in line"); w.Header().Get("Refresh") != "0; url=?to=%2Fx" || strings.Contains(w.Body.String(), "<script") {
		t.Errorf("on to %q", w.Header().Get("Refresh"))
	}
	shows(t, b.get("?to=/x"), http.StatusOK, "You are in line", `"ticket":"alice"`)
	b.get("?ticket=forged") // a link that somebody else made
	shows(t, b.get("?to=/x"), http.StatusOK, `"ticket":"alice"`)
	b.get("?ticket=bob")
	shows(t, b.get("?to=/x"), http.StatusOK, `"ticket":"bob"`)
	r.set(func(s *zone.Settings) { s.Invitation = "" }) // as before an event that is by invitation
	b.get("?ticket=forged")
	r.set(func(s *zone.Settings) { s.Invitation = "spring" })
	shows(t, b.get("?to=/x"), http.StatusOK, `"ticket":"bob"`)
	other := r.browser()
	other.get("?ticket=alice")
	other.ask(http.MethodPost, "/wait/"+zoneID+"?join=1")
	if shows(t, other.get(""), http.StatusOK, "You are in line", `"position":1`); r.waits() != 1 {
		t.Errorf("%d places for one ticket", r.waits())
	}
	forger.get("?ticket=forged")
	shows(t, forger.get(""), http.StatusForbidden, "By invitation only")
	forger.get("?ticket=carol")
	forger.ask(http.MethodPost, "/wait/"+zoneID+"?join=1")
	shows(t, forger.get(""), http.StatusOK, "You are in line", `"ticket":"carol"`)
	long := r.browser()
	if long.get("?ticket=" + strings.Repeat("x", ticket.MaxTicket+1)); long.cookies["waitingroom_ticket-"+zoneID] != nil {
		t.Error("a ticket that is too long is kept")
	}
}

// TestALinkWhileTheStoreIsAway: the page keeps what the link hands over. It does what the link asks for once, and not
// again when it is loaded once more, which may be when it is the visitor's turn.
func TestALinkWhileTheStoreIsAway(t *testing.T) {
	t.Parallel()
	r := newServer(t, 10)
	r.Store.Fail(line.ErrStoreUnavailable)
	r.Zones = zones.New(zones.Options{Store: r.Store})
	r.serve()
	b := r.browser()
	if w := b.get("?to=/x&again=1&ticket=alice"); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "?to=%2Fx" {
		t.Errorf("%d to %q", w.Code, w.Header().Get("Location"))
	}
	shows(t, b.get("?to=/x"), http.StatusServiceUnavailable, "One moment, please", `"ticket":"alice"`)
}

// TestATurnComesBack: a visitor who closes the browser on the way to the shop, and comes back, still has the turn.
func TestATurnComesBack(t *testing.T) {
	t.Parallel()
	r := newServer(t, 10)
	r.browser().get("")
	b := r.browser()
	b.get("?to=/cart")
	r.Forward(7 * time.Second)
	first, again := b.get("?to=/cart"), b.get("?to=/cart")
	if at := first.Header().Get("Location"); at == "" || again.Header().Get("Location") != at {
		t.Errorf("led to %q, then %d to %q", at, again.Code, again.Header().Get("Location"))
	}
}

// scripted is what the script reads of an answer.
type scripted struct {
	Token    string `json:"token"`
	Code     string `json:"code"`
	HTML     string `json:"html"`
	CanEnter bool   `json:"canEnter"`
	Waiting  struct {
		Position int64 `json:"position"`
	} `json:"waiting"`
	Admission struct {
		Pass string `json:"pass"`
	} `json:"admission"`
	Challenge challenge.RequiredError `json:"challenge"`
}

// poll polls or joins as the script does.
func (r *server) poll(query, body string) (status int, s scripted) {
	r.t.Helper()
	req := httptest.NewRequest(http.MethodPost, "/wait/"+zoneID+query, strings.NewReader(body))
	// A proxy on the way may have added a charset.
	req.Header = http.Header{"Accept-Language": {"en"}, "Content-Type": {"Application/JSON ;charset=UTF-8"}}
	w := httptest.NewRecorder()
	r.Echo.ServeHTTP(w, req)
	room.Must(r.t, json.Unmarshal(w.Body.Bytes(), &s))
	if len(w.Result().Cookies()) > 0 || w.Header().Get("Cache-Control") != "no-store" {
		r.t.Errorf("%s: %v", body, w.Header())
	}
	return w.Code, s
}

// TestScript: a poll of the script gets the API's answer, with what the page shows then: what a page that is loaded then shows.
func TestScript(t *testing.T) {
	t.Parallel()
	const join = `{"clientId":"0123456789abcdef0123456789abcdef"}`
	r := newServer(t, 10)
	check := func(query, body string, status int, code string, texts ...string) scripted {
		t.Helper()
		got, s := r.poll(query, body)
		if got != status || s.Code != code {
			t.Errorf("%s: %d %q, want %d %q", body, got, s.Code, status, code)
		}
		for _, text := range texts {
			if !strings.Contains(s.HTML, text) {
				t.Errorf("%s: it does not show %q:\n%s", body, text, s.HTML)
			}
		}
		return s
	}
	r.browser().get("")
	s := check("", join, 200, "", "You are in line", `<dd id="place">1</dd>`, `data-title="(1) You are in line"`)
	if s.Token == "" || s.Waiting.Position != 1 {
		t.Errorf("%+v", s)
	}
	poll := `{"token":"` + s.Token + `"}`
	r.set(func(s *zone.Settings) { s.Message = zone.Texts{"default": "Soon."} })
	check("", poll, 200, "", `<p id="notice" dir="auto">Soon.</p>`)
	check("", `{"token":"made-up"}`, 401, "token_invalid")
	check("", `{"token":7}`, 400, "invalid_request")
	r.fail(line.ErrStoreUnavailable)
	check("", poll, 503, "store_unavailable", "One moment, please")
	r.fail(nil)
	r.Forward(7 * time.Second)
	s = check("?to=/cart?item=7", poll, 200, "", "It is your turn", "★ It is your turn", "Your turn is kept for")
	if want := `href="/cart?item=7&amp;waiting_room_pass=` + s.Admission.Pass + `"`; !s.CanEnter || !strings.Contains(s.HTML, want) {
		t.Errorf("it does not lead to %q: %+v", want, s)
	}
	r.set(func(s *zone.Settings) { s.Mode = zone.ModeClosed })
	check("", `{"clientId":"another"}`, 423, "zone_closed", "The line is closed", `data-after="30"`)
}

// TestParametersOfOthers: the page's own address keeps where it leads, and nothing that others have added.
func TestParametersOfOthers(t *testing.T) {
	t.Parallel()
	r := newServer(t, 0)
	for _, query := range []string{"?utm_source=mail&to=/cart", "?utm_source=mail&again=1&to=/cart&reloaded=0"} {
		b := r.browser()
		w := b.get(query)
		if to := w.Header().Get("Location"); to != "" {
			w = b.get(to)
		}
		if body := w.Body.String(); w.Code != 200 || strings.Contains(body, "utm_source") || !strings.Contains(body, "to=%2fcart") && !strings.Contains(body, "to=%2Fcart") {
			t.Errorf("%s: %d %s", query, w.Code, body)
		}
	}
}

func TestLeave(t *testing.T) {
	t.Parallel()
	r := newServer(t, 10)
	r.browser().get("")
	b := r.browser()
	b.get("")
	r.fail(line.ErrStoreUnavailable)
	w := b.ask(http.MethodPost, "/wait/"+zoneID)
	shows(t, w, http.StatusServiceUnavailable, "One moment, please", "Your place is kept")
	if after := w.Header().Get("Retry-After"); after == "" || w.Header().Get("Refresh") != after {
		t.Errorf("the page is not loaded again: %v", w.Header())
	}
	r.fail(nil)
	shows(t, b.ask(http.MethodPost, "/wait/"+zoneID), http.StatusOK, "You have left the line", "Join the line again")
	if s, err := r.Store.Observe(t.Context(), zoneID, 0); err != nil || s.State.Waiting != 0 {
		t.Errorf("%d wait, %v", s.State.Waiting, err)
	}
}

// TestLanguages: each language's page says who waits in that language, in its direction.
func TestLanguages(t *testing.T) {
	t.Parallel()
	r := newServer(t, 10)
	r.browser().get("")
	b := r.browser()
	for accept, texts := range map[string][]string{
		"":                       {`lang="en" dir="ltr"`},
		"xx, *;q=0.1":            {`lang="en"`},
		"de-AT,de;q=0.9":         {`lang="de"`, "Sie stehen an", "innerhalb von 16 Minuten"},
		"ko":                     {`lang="ko"`, "대기 중입니다"},
		"ja-JP":                  {`lang="ja"`, "16分以内"},
		"zh-TW":                  {`lang="zh-Hant"`, "排隊"},
		"zh-CN":                  {`lang="zh-Hans"`, "排队"},
		"ar-EG":                  {`lang="ar" dir="rtl"`, "16 دقيقة"},
		"he":                     {`lang="he" dir="rtl"`},
		"fr-CA;q=0.8, en;q=0.7":  {`lang="fr"`},
		"pt-BR,pt;q=0.9":         {`lang="pt"`},
		strings.Repeat("é,", 99): {`lang="en"`},
	} {
		b.header.Set("Accept-Language", accept)
		w := b.get("")
		shows(t, w, http.StatusOK, texts...)
	}
}

// TestLook: what an operator sets is on the page, only as text and as an image. A logo or colour that
// no operator can have set is not.
func TestLook(t *testing.T) {
	t.Parallel()
	r := newServer(t, 10)
	const svg = "data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+"
	r.set(func(s *zone.Settings) {
		s.Sites = []string{"https://shop.example"}
		s.PageTitle, s.PageColor, s.PageLogo = `Shop </title><script>alert(1)</script>`, "#ffdd00", svg
		s.Message = zone.Texts{"default": `<img src=x onerror="alert(1)"></script><script>alert(1)</script>`, "da": "<p>Vi åbner igen om lidt.</p>"}
	})
	shows(t, r.browser().get("?to=https://shop.example/x?y=1"), http.StatusSeeOther)
	w := r.browser().get("?to=/x")
	shows(t, w, http.StatusOK, `<img src="`+strings.ReplaceAll(svg, "+", "&#43;")+`" alt="">`, "--accent: #ffdd00; --on-accent: #000000; --edge: var(--ink)",
		"Shop &lt;/title&gt;", "&lt;img src=x onerror=&#34;alert(1)&#34;&gt;")
	if strings.Contains(w.Body.String(), "alert(1)</script>") || strings.Contains(w.Body.String(), "<img src=x") {
		t.Errorf("the page has a script of somebody else:\n%s", w.Body)
	}
	dane := r.browser() // of whose language the page has no texts of its own
	dane.header.Set("Accept-Language", "da,en;q=0.5")
	shows(t, dane.get("?to=/x"), http.StatusOK, "You are in line", "&lt;p&gt;Vi åbner igen om lidt.&lt;/p&gt;")
	for _, ground := range zone.Grounds {
		if !strings.Contains(w.Body.String(), "--card: "+ground.Color) {
			t.Errorf("page.css has no card of %s", ground.Color)
		}
	}
}

// TestPreview: an operator's console shows the page in a frame, where it can do nothing.
func TestPreview(t *testing.T) {
	t.Parallel()
	r := newServer(t, 10)
	h := r.page
	w := httptest.NewRecorder()
	s := zone.Defaults(zoneID)
	s.SoldOut = zone.Texts{"default": "No seats are left."}
	sold := httptest.NewRecorder()
	room.Must(t, h.Preview(sold, httptest.NewRequest(http.MethodPost, "/", nil), s))
	shows(t, sold, http.StatusOK, "Sold out", "No seats are left.")
	s.SoldOut, s.PageTitle, s.PageLogo, s.PageColor = nil, "Shop", "https://evil.example/x.png", "red } body { display: none"
	room.Must(t, h.Preview(w, httptest.NewRequest(http.MethodPost, "/", nil), s))
	shows(t, w, http.StatusOK, "Shop", "You are in line", "1,234", "10 to 15 minutes")
	if p := w.Header().Get("Content-Security-Policy"); !strings.Contains(p, "sandbox; frame-ancestors 'self'") || strings.Contains(w.Body.String(), "<script") ||
		strings.Contains(w.Body.String(), "evil.example") || strings.Contains(w.Body.String(), "red }") {
		t.Errorf("%s\n%s", p, w.Body)
	}
}

// TestOneRequest: the page loads nothing else, and is small.
func TestOneRequest(t *testing.T) {
	t.Parallel()
	r := newServer(t, 10)
	r.browser().get("")
	b := r.browser()
	b.header.Set("Accept-Language", "hi")
	w := b.get("?to=/x")
	var small bytes.Buffer
	z := gzip.NewWriter(&small)
	_, err := z.Write(w.Body.Bytes())
	room.Must(t, err)
	room.Must(t, z.Close())
	const most = 18_000
	if small.Len() > most {
		t.Errorf("%d bytes compressed, want at most %d", small.Len(), most)
	}
	t.Logf("%d bytes, %d compressed", w.Body.Len(), small.Len())
	policy := w.Header().Get("Content-Security-Policy")
	for _, rule := range []string{"default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'", "img-src data:"} {
		if !strings.Contains(policy, rule) {
			t.Errorf("the policy %q has no %q", policy, rule)
		}
	}
	if strings.Contains(policy, "unsafe") {
		t.Errorf("the policy %q allows what is written into the page", policy)
	}
	for _, outside := range []string{"src=\"http", "href=\"http", "url(", "@import", "import("} {
		if strings.Contains(strings.Replace(w.Body.String(), "import('./work.js')", "", 1), outside) { // which the page does otherwise
			t.Errorf("the page has %s", outside)
		}
	}
	if again := b.get("?to=/x").Header().Get("Content-Security-Policy"); again == policy {
		t.Error("two pages have one nonce")
	}
}
