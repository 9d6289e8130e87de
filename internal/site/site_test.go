package site_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	fixture "github.com/openqueue/waitingroom/internal/check/room"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/page"
	"github.com/openqueue/waitingroom/internal/site"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/wait"
	"github.com/openqueue/waitingroom/internal/zone"
)

// led returns where an answer leads a browser, whatever the gateway; "" if nowhere.
func led(t *testing.T, gateway string, w *httptest.ResponseRecorder) string {
	t.Helper()
	to := w.Header().Get("Location")
	want := http.StatusFound
	if gateway == "nginx" {
		want = http.StatusUnauthorized
	}
	if (to != "") != (w.Code == want) {
		t.Errorf("%s: %d to %q", gateway, w.Code, to)
	}
	return to
}

// TestANormalDay: if there is room, the first request goes on and gets a session. The next requests
// go on by that session, whatever the store does.
func TestANormalDay(t *testing.T) {
	t.Parallel()
	for _, gateway := range gatewayNames {
		r := newRoom(t, 600)
		w := r.ask(gateway, "GET", "/cart?item=7", opens...)
		held := cookie(w)
		if w.Code != 200 || !strings.HasPrefix(held, "__Host-waitingroom-SHOP=") || r.counted("admitted") != 1 {
			t.Fatalf("%s: %d %v", gateway, w.Code, w.Header())
		}
		r.away = fmt.Errorf("store: %w", line.ErrStoreUnavailable)
		for i, method := range []string{"GET", "POST", "DELETE"} {
			req := []string{"Cookie", "a=b; " + held + "; c=d"}
			h := r.http
			if gateway == "envoy" && method != "GET" {
				h = r.bare // no description has these
			}
			if w := r.askAt(h, gateway, method, "/api", req...); w.Code != 200 || w.Header().Get("Set-Cookie") != "" || w.Body.Len() != 0 {
				t.Errorf("%s %d: %d %v", gateway, i, w.Code, w.Header())
			}
		}
		if r.counted("session") != 3 || r.joins != 1 {
			t.Errorf("%s: %v, %d joins", gateway, r.counts, r.joins)
		}
	}
}

// TestALine: a browser that opens a page is led to the waiting page, anything else is told where to join.
func TestALine(t *testing.T) {
	t.Parallel()
	for _, gateway := range gatewayNames {
		r := newRoom(t, 10)
		if w := r.ask(gateway, "GET", "/", opens...); w.Code != 200 {
			t.Fatalf("%s: the first: %d", gateway, w.Code)
		}
		// The second joins, lands in line, and is led to the page, where it takes a place that no address has.
		to, err := url.Parse(led(t, gateway, r.ask(gateway, "GET", "/cart?item=7&n=a%20b", opens...)))
		fixture.Must(t, err)
		q := to.Query()
		if got := "https://" + to.Host + to.Path; got != roomURL+"/wait/SHOP" || q.Get("to") != "https://shop.example/cart?item=7&n=a%20b" {
			t.Errorf("%s: led to %s", gateway, to)
		}
		if s, err := r.Store.Observe(t.Context(), zoneID, 0); err != nil || len(q) != 1 || s.State.Waiting != 0 {
			t.Errorf("%s: led to %s, %d wait, %v", gateway, to, s.State.Waiting, err)
		}
		// Nobody else asks the store for a second.
		joins := r.joins
		third := led(t, gateway, r.ask(gateway, "GET", "/", "Accept", "text/html,*/*;q=0.8"))
		if want := roomURL + "/wait/SHOP?to=https%3A%2F%2Fshop.example%2F"; third != want || r.joins != joins {
			t.Errorf("%s: led to %s, %d joins", gateway, third, r.joins-joins)
		}
		for _, header := range [][]string{nil, {"Accept", "*/*"}, {"Sec-Fetch-Mode", "cors", "Accept", "text/html"}} {
			w := r.ask(gateway, "GET", "/api", header...)
			document := w.Body.String()
			if gateway == "nginx" {
				document = w.Header().Get(site.ProblemHeader)
			}
			var got struct {
				Code   string `json:"code"`
				ZoneID string `json:"zoneId"`
				Join   string `json:"join"`
				Page   string `json:"page"`
			}
			fixture.Must(t, json.Unmarshal([]byte(document), &got))
			if (gateway == "nginx") != (w.Code == 403) || (gateway != "nginx") != (w.Code == 429) || got.Code != "admission_required" ||
				got.Join != roomURL+"/traffic/wait" || got.Page != roomURL+"/wait/SHOP" || got.ZoneID != zoneID {
				t.Errorf("%s: %d %s", gateway, w.Code, document)
			}
		}
		if w := r.ask(gateway, "HEAD", "/api"); w.Body.Len() != 0 && gateway == "envoy" {
			t.Errorf("%s: %s", gateway, w.Body)
		}
	}
}

// TestWhoHasGoneIsInNobodysWay: a visitor who left without a word makes nobody wait, long before the place is swept.
func TestWhoHasGoneIsInNobodysWay(t *testing.T) {
	t.Parallel()
	for _, gateway := range gatewayNames {
		r := newRoom(t, 10)
		r.ask(gateway, "GET", "/", opens...)
		led(t, gateway, r.ask(gateway, "GET", "/", opens...)) // and goes away
		r.Forward(13 * time.Second)
		page, form := r.ask(gateway, "GET", "/cart", opens...), r.askAt(r.bare, gateway, "POST", "/pay", opens...)
		r.Forward(7 * time.Second)
		later := r.askAt(r.bare, gateway, "POST", "/pay", opens...)
		if page.Code != 200 || cookie(page) == "" || cookie(form) != "" || later.Code != 200 {
			t.Errorf("%s: %d, a form beyond the limit %d, and later %d", gateway, page.Code, form.Code, later.Code)
		}
	}
}

// TestRenewalEnds: a session that begins on a quiet day ends before a later sale, however often it is
// used. What is never queued renews no session, since caches may keep it.
func TestRenewalEnds(t *testing.T) {
	t.Parallel()
	r := newRoom(t, 0)
	r.set(func(s *zone.Settings) {
		s.SessionSeconds, s.SessionRenewal, s.BypassPaths = 3600, zone.RenewalUse, []string{"/assets/*"}
	})
	held := cookie(r.shows(r.pass(zoneID, time.Minute)))
	hours := 0
	for ; hours < 48; hours++ {
		r.Forward(59 * time.Minute)
		if w := r.ask("caddy", "GET", "/assets/a.js", "Cookie", held); w.Code != 200 || cookie(w) != "" {
			t.Fatalf("an asset: %d %q", w.Code, cookie(w))
		}
		w := r.ask("caddy", "GET", "/", with(opens, "Cookie", held)...)
		if w.Code != 200 {
			break
		}
		if renewed := cookie(w); renewed != "" {
			held = renewed
		}
	}
	if hours != 12 {
		t.Errorf("kept for %d hours by use, want 12", hours)
	}
}

// TestTheStoreHangs: the answer comes before a gateway gives up.
func TestTheStoreHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(t, 600)
		r.hangs = true
		began := time.Now()
		to := led(t, "nginx", r.ask("nginx", "GET", "/", opens...))
		if took := time.Since(began); !strings.HasPrefix(to, roomURL+"/wait/SHOP") || took > time.Second/2 {
			t.Errorf("led to %q after %v", to, took)
		}
	})
}

// TestALongHost: an answer that a gateway cannot read would let everybody go on.
func TestALongHost(t *testing.T) {
	t.Parallel()
	r := newRoom(t, 0)
	to := led(t, "nginx", r.askAt(r.bare, "nginx", "GET", "/cart", with(opens, "X-Original-Host", strings.Repeat("!", 8000))...))
	if !strings.HasPrefix(to, roomURL+"/wait/SHOP?to=%2Fcart") || len(to) > 200 {
		t.Errorf("led to %d bytes: %.100s", len(to), to)
	}
}

// TestWhatCachesKeep: caches keep no answer with a session, whatever the shop says. Envoy adds Cache-Control to the shop's
// answer, and so gets none without a session.
func TestWhatCachesKeep(t *testing.T) {
	t.Parallel()
	for _, gateway := range gatewayNames {
		r := newRoom(t, 10)
		shown := r.pass(zoneID, time.Minute)
		want := map[string]*httptest.ResponseRecorder{
			"private, no-store": r.ask(gateway, "GET", "/api", site.AppHeader, shown),
			"no-store":          r.ask(gateway, "GET", "/api", "Purpose", "prefetch"),
		}
		inside := "no-store"
		if gateway == "envoy" {
			inside = ""
		}
		if w := r.ask(gateway, "GET", "/api", site.SessionHeader, r.session(zoneID, time.Hour)); w.Header().Get("Cache-Control") != inside {
			t.Errorf("%s, inside: %v", gateway, w.Header())
		}
		w := r.ask(gateway, "GET", "/cart", opens...)
		cdn := w.Header().Get("CDN-Cache-Control") + w.Header().Get("Surrogate-Control")
		if w.Header().Get("Cache-Control") != "private, no-store" || cookie(w) == "" || cdn != "no-storeno-store" {
			t.Errorf("%s, let in: %v", gateway, w.Header())
		}
		for caching, w := range want {
			if w.Header().Get("Cache-Control") != caching {
				t.Errorf("%s: %d %v, want %s", gateway, w.Code, w.Header(), caching)
			}
		}
	}
}

// TestNoOtherCookie: only a session of the zone, under the zone's own cookie name, that has not ended lets a visitor in.
func TestNoOtherCookie(t *testing.T) {
	t.Parallel()
	r := newRoom(t, 0)
	good := r.session(zoneID, time.Minute)
	for name, cookie := range map[string]string{
		"a key":               newKey(),
		"another zone's name": "__Host-waitingroom-OTHER=" + good,
		"from the future":     "__Host-waitingroom-SHOP=" + r.Tokens.SignSession(zoneID, token.Session{Issued: r.Now().Add(time.Hour), Length: time.Hour}),
		"a token":             "__Host-waitingroom-SHOP=" + r.Tokens.Sign(zoneID, line.Place{ArrivedAtMicros: 1, Epoch: 1}),
	} {
		if w := r.ask("nginx", "GET", "/", "Cookie", cookie); w.Code == 200 {
			t.Errorf("%s: %d", name, w.Code)
		}
	}
	if w := r.ask("nginx", "GET", "/", "Cookie", "waitingroom_session-SHOP="+good, "X-Original-Proto", "http"); w.Code != 200 {
		t.Errorf("without TLS: %d", w.Code)
	}
}

// TestAgents: a zone names programs that are never queued by a part of their User-Agent.
func TestAgents(t *testing.T) {
	t.Parallel()
	r := newRoom(t, 0)
	r.set(func(s *zone.Settings) { s.BypassAgents = []string{"Googlebot"} })
	for agent, want := range map[string]int{"Mozilla/5.0 (compatible; googlebot/2.1)": 200, "Mozilla/5.0": 429} {
		if w := r.ask("traefik", "GET", "/", "User-Agent", agent); w.Code != want {
			t.Errorf("%s: %d", agent, w.Code)
		}
	}
}

// TestNetworks: the gateway's word counts for the address, the visitor's does not, and without that word there is none.
func TestNetworks(t *testing.T) {
	t.Parallel()
	r := newRoom(t, 0)
	r.set(func(s *zone.Settings) { s.BypassNetworks = []string{"198.51.100.0/24", "2001:db8::7", "192.0.2.1"} })
	for forwarded, want := range map[string]int{
		"198.51.100.9": 200, "2001:db8::7": 200, "203.0.113.9, 198.51.100.9": 200, "::ffff:198.51.100.9": 200,
		"198.51.101.9": 429, "2001:db8::8": 429, "198.51.100.9, 203.0.113.9": 429, "": 429, "x": 429, "192.0.2.1": 200, "x, 192.0.2.1": 429,
	} {
		if w := r.ask("caddy", "POST", "/wp-cron.php", "X-Forwarded-For", forwarded); w.Code != want {
			t.Errorf("from %q: %d", forwarded, w.Code)
		}
	}
}

// TestCrawlers: while there is a line, a crawler is told to come again, and nobody keeps a place for it. On a quiet day it
// sees the site, and takes one admission for the pages that it reads at once.
func TestCrawlers(t *testing.T) {
	t.Parallel()
	crawler := with(opens, "User-Agent", "Twitterbot/1.0")
	for _, gateway := range gatewayNames {
		r := newRoom(t, 10) // one in six seconds
		for range 3 {
			if w := r.ask(gateway, "GET", "/sale", crawler...); w.Code != 200 {
				t.Fatalf("%s: room: %d", gateway, w.Code)
			}
		}
		if r.counted("admitted") != 3 || r.joins != 1 {
			t.Fatalf("%s: %d joins", gateway, r.joins)
		}
		r.Forward(2 * recently)
		r.set(func(s *zone.Settings) { s.PerMinute = 0 })
		for _, header := range [][]string{crawler, with(crawler, "Purpose", "preview"), crawler[2:]} {
			w := r.ask(gateway, "GET", "/sale", header...)
			status := fmt.Sprint(w.Code)
			if gateway == "nginx" {
				status = w.Header().Get(site.StatusHeader)
			}
			if status != "503" || w.Header().Get("Retry-After") != "600" || w.Header().Get("X-Robots-Tag") != "" || (gateway == "nginx") != (w.Code == 403) {
				t.Errorf("%s: %v: %d %v", gateway, header, w.Code, w.Header())
			}
		}
		if stats, err := r.Store.Observe(t.Context(), zoneID, 0); err != nil || stats.State.Waiting > 0 {
			t.Errorf("%s: %d places, %v", gateway, stats.State.Waiting, err)
		}
	}
}

// recently is how long the requests of a crawler count as one.
const recently = 5 * time.Second

// admitted is how many were admitted, and waiting how many wait.
func (r *room) admitted() (admitted, waiting int64) {
	r.t.Helper()
	stats, err := r.Store.Observe(r.t.Context(), zoneID, 0)
	fixture.Must(r.t, err)
	return stats.Totals.Admitted, stats.State.Waiting
}

// atOnce has n requests come at once, at two servers in turns. It returns how many went on, and how many sessions were given to how
// many.
func (r *room) atOnce(n int, gateway, method string, header ...string) (went, given, sessions int) {
	r.t.Helper()
	two := []http.Handler{r.bare, r.server(roomURL)}
	answers := make(chan *httptest.ResponseRecorder, n)
	for i := range n {
		go func() { answers <- r.askAt(two[i%2], gateway, method, "/api", header...) }()
	}
	seen := map[string]bool{}
	for range n {
		w := <-answers
		if w.Code == 200 {
			went++
		}
		if c := cookie(w); c != "" {
			given++
			seen[c] = true
		}
	}
	return went, given, len(seen)
}

// TestWhoDoesNotNavigate: a page that came from a CDN or a service worker calls the site without a session, and so do apps, monitors
// and feed readers. Where there is room all that comes at once goes on by one admission, and the first gets the session. Else
// they are refused, and nobody takes a place.
func TestWhoDoesNotNavigate(t *testing.T) {
	t.Parallel()
	const own, other = "https://shop.example", "https://www.partner.example"
	call := func(site, origin string) []string {
		return []string{"Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty", "Sec-Fetch-Site", site, "Origin", origin}
	}
	for name, tt := range map[string]struct {
		method string
		header []string
	}{
		"a POST":                {"POST", call("same-origin", own)},
		"a frame":               {"GET", with(opens, "Sec-Fetch-Dest", "iframe", "Sec-Fetch-Site", "same-origin")},
		"an origin of the zone": {"POST", call("cross-site", other)},
		"another site":          {"POST", call("cross-site", "https://evil.example")},
		"another site's frame":  {"GET", with(opens, "Sec-Fetch-Dest", "iframe", "Sec-Fetch-Site", "cross-site")},
		"a monitor":             {"HEAD", nil},
		"an app":                {"POST", []string{"User-Agent", "ShopApp/7"}},
	} {
		for _, gateway := range gatewayNames {
			r := newRoom(t, 600)
			r.set(func(s *zone.Settings) { s.CORSOrigins = []string{other} })
			went, given, _ := r.atOnce(10, gateway, tt.method, tt.header...)
			if n, _ := r.admitted(); went != 10 || given != 1 || n != 1 || r.joins > 2 {
				t.Errorf("%s: %s: %d went on, %d sessions, %d admissions, %d joins", gateway, name, went, given, n, r.joins)
			}
			r.askAt(r.bare, gateway, tt.method, "/api", with(tt.header, "Referer", own+"/other")...)
			if n, _ := r.admitted(); n != 2 {
				t.Errorf("%s: %s: another page: %d admissions", gateway, name, n)
			}
			// In a line.
			r.Forward(time.Minute)
			r.set(func(s *zone.Settings) { s.PerMinute = 10 })
			for range 4 {
				_, err := r.Wait.Join(t.Context(), r.Zones.Known(zoneID), wait.Newcomer{})
				fixture.Must(t, err)
			}
			w := r.askAt(r.bare, gateway, tt.method, "/api", with(tt.header, "User-Agent", "late")...)
			r.Forward(2 * time.Second)
			later := r.askAt(r.bare, gateway, tt.method, "/api", with(tt.header, "User-Agent", "later")...)
			if _, waiting := r.admitted(); w.Code == 200 || later.Code == 200 || waiting != 3 {
				t.Errorf("%s: %s: in a line: %d, %d, %d wait", gateway, name, w.Code, later.Code, waiting)
			}
		}
	}
}

// TestASessionIsGivenOnce: 60 browsers that say the same share no session, and no more of them go on than a page makes calls.
func TestASessionIsGivenOnce(t *testing.T) {
	t.Parallel()
	call := []string{"Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty", "Sec-Fetch-Site", "same-origin", "Referer", "https://shop.example/sale"}
	for want, header := range map[int][]string{2: call, 0: {"User-Agent", "curl/8.14.1"}} {
		r := newShop(t, func(s *zone.Settings) { s.MaxInside, s.PerMinute = 2, 6000 })
		went, given, sessions := r.atOnce(120, "caddy", "GET", header...)
		admitted, _ := r.admitted()
		if admitted != 2 || given != want || sessions != want || went == 0 || went > 2*2*17 {
			t.Errorf("%v: of 120, %d went on by %d admissions; %d got %d sessions", header, went, admitted, given, sessions)
		}
	}
}

// TestWhoKeepsNoSession: where those inside are counted, monitors take a slot each, however often they ask.
func TestWhoKeepsNoSession(t *testing.T) {
	t.Parallel()
	s := newShop(t, func(s *zone.Settings) { s.MaxInside, s.PassTTLSeconds = 4, 300 })
	for range 12 { // in two minutes
		for _, agent := range []string{"kube-probe/1.34", "ELB-HealthChecker/2.0"} {
			if w := s.ask("caddy", "GET", "/", "User-Agent", agent); w.Code != 200 || cookie(w) != "" {
				t.Fatalf("%s: %d %v", agent, w.Code, w.Header())
			}
		}
		s.wait(10)
	}
	s.inside(2)
}

// TestOtherOrigins: pages of the origins that the zone names can read refusals and the session; no other pages can.
func TestOtherOrigins(t *testing.T) {
	t.Parallel()
	const named = "https://www.shop.example"
	for _, gateway := range gatewayNames {
		r := newRoom(t, 0)
		r.set(func(s *zone.Settings) { s.CORSOrigins = []string{named, "capacitor://localhost"} })
		for origin, want := range map[string]string{
			named: named, "capacitor://localhost": "capacitor://localhost", "https://evil.example": "", "http://www.shop.example": "", "null": "", "": "",
		} {
			expose := func(w *httptest.ResponseRecorder) string { return w.Header().Get("Access-Control-Expose-Headers") }
			refused := r.ask(gateway, "GET", "/api", "Origin", origin)
			h := refused.Header()
			if h.Get("Access-Control-Allow-Origin") != want || (h.Get("Access-Control-Allow-Credentials") == "true") != (want != "") || (expose(refused) == "Retry-After") != (want != "") {
				t.Errorf("%s: from %q: refused %d %v", gateway, origin, refused.Code, h)
			}
			in := r.ask(gateway, "GET", "/api", "Origin", origin, site.AppHeader, r.pass(zoneID, 5*time.Minute))
			if in.Code != 200 || in.Header().Get("Access-Control-Allow-Origin") != "" || (expose(in) == site.SessionHeader) != (want != "") {
				t.Errorf("%s: from %q: in %d %v", gateway, origin, in.Code, in.Header())
			}
			preflight := r.askAt(r.bare, gateway, "OPTIONS", "/api", "Origin", origin, "Access-Control-Request-Method", "POST")
			if preflight.Code != 200 {
				t.Errorf("%s: preflight: %d", gateway, preflight.Code)
			}
		}
	}
}

// TestChallenges: a zone that asks for a challenge in a line asks for none where there is room. The cases hold the rest.
func TestChallenges(t *testing.T) {
	t.Parallel()
	r := newRoom(t, 600)
	r.set(func(s *zone.Settings) { s.Challenge, s.ChallengeWhen = zone.ChallengeWork, zone.ChallengeInLine })
	call := []string{"X-Forwarded-For", "203.0.113.7", "Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors"}
	if page, call := r.ask("caddy", "GET", "/", opens...), r.ask("caddy", "GET", "/api", call...); page.Code != 200 || call.Code != 200 {
		t.Errorf("a page %d, a call %d", page.Code, call.Code)
	}
}

// TestOpenAndGathering: while people gather for an event nobody goes on, even if the zone is open on other days.
func TestOpenAndGathering(t *testing.T) {
	t.Parallel()
	r := newRoom(t, 600)
	now := r.Now()
	at := func(in time.Duration) string { return now.Add(in).Format(time.RFC3339Nano) }
	r.set(func(s *zone.Settings) {
		s.Mode = zone.ModeOpen
		s.Events = []event.Event{{Name: "sale", PreQueueAt: at(time.Minute), OpensAt: at(time.Hour)}}
		next, _, ok := s.Due(now, nil)
		if !ok {
			t.Fatal("the event is not announced")
		}
		*s = next
	})
	for _, step := range []struct {
		forward   time.Duration
		page, api int
	}{{0, 200, 200}, {2 * time.Minute, 302, 429}, {time.Hour, 200, 200}} {
		r.Forward(step.forward)
		if page, api := r.ask("caddy", "GET", "/", opens...), r.ask("caddy", "GET", "/api"); page.Code != step.page || api.Code != step.api {
			t.Errorf("%v later: got %d, %d, want %d, %d", step.forward, page.Code, api.Code, step.page, step.api)
		}
	}
}

// TestTheStoreIsAway: a newcomer is led to the waiting page, which says so. A pass is neither exchanged nor lost.
func TestTheStoreIsAway(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]error{"away": fmt.Errorf("store: %w", line.ErrStoreUnavailable), "broken": errors.New("broken")} {
		r := newRoom(t, 600)
		shown := r.pass(zoneID, time.Minute)
		r.away = away
		if w := r.ask("caddy", "GET", "/", opens...); !strings.HasPrefix(led(t, "caddy", w), roomURL+"/wait/SHOP") {
			t.Errorf("%s: %d", name, w.Code)
		}
		if w := r.ask("caddy", "POST", "/api"); w.Code != 429 {
			t.Errorf("%s: %d", name, w.Code)
		}
		if w := r.shows(shown); w.Code != http.StatusServiceUnavailable || cookie(w) != "" || w.Header().Get("Retry-After") == "" {
			t.Errorf("%s: a pass: %d %v", name, w.Code, w.Header())
		}
		if w := r.ask("caddy", "GET", "/?waiting_room_pass="+shown, with(opens, "Cookie", "__Host-waitingroom-SHOP="+r.session(zoneID, time.Hour))...); led(t, "caddy", w) != "/" {
			t.Errorf("%s: a pass of one who is inside: %d %v", name, w.Code, w.Header())
		}
		if w := r.ask("nginx", "GET", "/?waiting_room_pass="+shown, opens...); w.Code != 403 || w.Header().Get(site.StatusHeader) != "503" ||
			!strings.Contains(w.Header().Get(site.ProblemHeader), `"code":"store_unavailable"`) || w.Header().Get("Retry-After") == "" || w.Header().Get("Refresh") != "3" || w.Body.Len() > 0 {
			t.Errorf("%s: a pass, to nginx: %d %v", name, w.Code, w.Header())
		}
		r.away = nil
		if w := r.shows(shown); cookie(w) == "" || led(t, "caddy", w) != "/" {
			t.Errorf("%s: a pass, later: %d %v", name, w.Code, w.Header())
		}
	}
}

// TestTheRoomOnTheSite: if the page and the site are one origin, the gate tells paths without an origin.
func TestTheRoomOnTheSite(t *testing.T) {
	t.Parallel()
	r := newRoom(t, 0)
	r.set(func(s *zone.Settings) { s.Mode = zone.ModeClosed })
	h := r.server("")
	if to := led(t, "nginx", r.askAt(h, "nginx", "GET", "/a?b=c", opens...)); to != "/wait/SHOP?to=%2Fa%3Fb%3Dc" {
		t.Errorf("led to %q", to)
	}
	if to := led(t, "nginx", r.askAt(h, "nginx", "GET", "/a?b="+strings.Repeat("c", 4000), opens...)); to != "/wait/SHOP?to=%2Fa" {
		t.Errorf("led to %q", to)
	}
	if to := led(t, "nginx", r.askAt(h, "nginx", "GET", "/"+strings.Repeat("c", 4000), opens...)); to != "/wait/SHOP?to=%2F" {
		t.Errorf("led to %q", to)
	}
	// The page leads to each of these when it is the visitor's turn: it knows no other address.
	for uri, want := range map[string]string{
		"//sale?a=b": "/.//sale?a=b", "/50%-off": "/50%-off", `/a\b`: "/", `/\b`: "/", "/sale?off=50%": "/sale?off=50%", "/%2fa/\u00e9": "/%2fa/\u00e9",
	} {
		to, err := url.Parse(led(t, "nginx", r.askAt(h, "nginx", "GET", uri, opens...)))
		if got := to.Query().Get("to"); err != nil || got != want || !page.Leads(got) {
			t.Errorf("%s: led to %s, %v", uri, to, err)
		}
	}
}

// TestQuestionsThatAreWrong: the gate refuses to guess, so that no visitor chooses which path it is asked about.
func TestQuestionsThatAreWrong(t *testing.T) {
	t.Parallel()
	r := newRoom(t, 600)
	r.set(func(s *zone.Settings) { s.BypassPaths = []string{"/assets/*"} })
	for _, gateway := range []string{"nginx", "traefik", "caddy"} {
		w := r.ask(gateway, "GET", "/", "X-Original-URI", "/assets/x", "X-Forwarded-Uri", "/assets/x")
		if w.Code != 400 {
			t.Errorf("%s: both headers: %d", gateway, w.Code)
		}
	}
	r.set(func(s *zone.Settings) { s.Mode = zone.ModeClosed })
	if w := r.ask("envoy", "GET", "/", "X-Original-URI", "/assets/x", "X-Forwarded-Uri", "/assets/x"); w.Code != 429 {
		t.Errorf("envoy, with the others' headers: %d", w.Code)
	}
	if w := r.ask("none", "GET", "/"); w.Code != 400 {
		t.Errorf("nothing told: %d", w.Code)
	}
	if w := r.ask("nginx", "OPTIONS", "*"); w.Code != 403 {
		t.Errorf("*: %d", w.Code)
	}
	req := httptest.NewRequest(http.MethodGet, "/site/a%20b/x", http.NoBody)
	w := httptest.NewRecorder()
	r.bare.ServeHTTP(w, req)
	if w.Code != 400 {
		t.Errorf("no name of a zone: %d", w.Code)
	}
	if n := r.counted("unreadable"); n != 5 {
		t.Errorf("%d were counted as unreadable, want 5", n)
	}
	fixture.Must(t, r.Zones.DeleteZone(t.Context(), zoneID, audit.By{}))
	if w := r.ask("caddy", "POST", "/api"); w.Code != 200 || r.counted("zone_unknown") != 1 {
		t.Errorf("a zone that does not exist: %d, %v", w.Code, r.counts)
	}
}

// TestIngressNginx: ingress-nginx says X-Original-URL alone, and leads to the page by itself whenever the answer is 401.
func TestIngressNginx(t *testing.T) {
	t.Parallel()
	r := newRoom(t, 600)
	ask := func(url string, header ...string) *httptest.ResponseRecorder {
		req := httptest.NewRequest(http.MethodGet, "/site/SHOP", http.NoBody)
		req.Host = "queue-server-gate.default.svc"
		for i, all := 0, append([]string{"X-Original-URL", url, "X-Original-Method", "GET", "X-Forwarded-For", "203.0.113.9", "Sec-Fetch-Mode", "navigate"}, header...); i < len(all); i += 2 {
			req.Header.Set(all[i], all[i+1])
		}
		w := httptest.NewRecorder()
		r.bare.ServeHTTP(w, req)
		return w
	}
	for url, name := range map[string]string{
		"https://shop.example/cart?item=7": "__Host-waitingroom-SHOP=", "https://shop.example": "__Host-waitingroom-SHOP=", "http://shop.example/?a": "waitingroom_session-SHOP=",
	} {
		if w := ask(url); w.Code != 200 || !strings.HasPrefix(cookie(w), name) {
			t.Errorf("%s: %d %q", url, w.Code, cookie(w))
		}
	}
	// Where the annotation auth-method is set, X-Original-URI is there, too.
	for uri, want := range map[string]int{"/cart": 200, "/assets/a.css": 400, "/": 400} {
		if w := ask("https://shop.example/cart", "X-Original-URI", uri); w.Code != want {
			t.Errorf("beside %s: %d", uri, w.Code)
		}
	}
	if w := ask("https://shop.example/cart", "X-Forwarded-Uri", "/cart"); w.Code != 400 {
		t.Errorf("with two: %d", w.Code)
	}

	r.set(func(s *zone.Settings) { s.PerMinute = 0 })
	w := ask("https://shop.example/cart?n=a%20b")
	if to := w.Header().Get("Location"); w.Code != 401 || to != roomURL+"/wait/SHOP?to="+url.QueryEscape("https://shop.example/cart?n=a%20b") {
		t.Errorf("in a line: %d to %s", w.Code, to)
	}
	browser, pass := key(w), r.pass(zoneID, time.Minute)
	for i, tt := range []struct {
		header []string
		want   int
	}{{[]string{"Cookie", browser}, 200}, {[]string{"Cookie", browser}, 200}, {nil, 401}} {
		w := ask("https://shop.example/cart?waiting_room_pass="+pass, tt.header...)
		if w.Code != tt.want || strings.HasPrefix(cookie(w), "__Host-waitingroom-SHOP=") != (tt.want == 200) {
			t.Errorf("%d: a pass: %d %v", i, w.Code, w.Header())
		}
	}
	if w := ask("https://shop.example/?waiting_room_pass=" + r.pass(zoneID, time.Minute)); w.Code != 200 || cookie(w) == "" {
		t.Errorf("a pass of one without a key: %d", w.Code)
	}
}

// TestHostsThatNobodyStates: where the room has a name of its own, a visitor is led back to the host that the gateway states, if it is one
// of the zone's sites. Else the page leads to the first of these, with the path.
func TestHostsThatNobodyStates(t *testing.T) {
	t.Parallel()
	r := newRoom(t, 0)
	for _, tt := range []struct {
		sites      []string
		host, want string
	}{
		{nil, "shop.example", "https://shop.example/cart?item=7"},
		{nil, "", "/cart?item=7"},
		{[]string{"https://shop.example"}, "shop.example", "https://shop.example/cart?item=7"},
		{[]string{"https://shop.example"}, "", "/cart?item=7"},
		{[]string{"https://shop.example"}, "queue_gate", "/cart?item=7"},
		{[]string{"https://a.example", "https://shop.example:8443"}, "SHOP.example:8443", "https://SHOP.example:8443/cart?item=7"},
		{[]string{"https://shop.example"}, "shop.example.evil.example", "/cart?item=7"},
	} {
		r.set(func(s *zone.Settings) { s.Sites = tt.sites })
		to, err := url.Parse(led(t, "nginx", r.askAt(r.bare, "nginx", "GET", "/cart?item=7", with(opens, "X-Original-Host", tt.host)...)))
		fixture.Must(t, err)
		if got := to.Query().Get("to"); got != tt.want {
			t.Errorf("%v, %q: led back to %s, want %s", tt.sites, tt.host, got, tt.want)
		}
	}
}
