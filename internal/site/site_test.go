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

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/challenge"
	"github.com/openqueue/waitingroom/internal/check/openapitest"
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
		must(t, err)
		q := to.Query()
		if got := "https://" + to.Host + to.Path; got != roomURL+"/wait/SHOP" || q.Get("to") != "https://shop.example/cart?item=7&n=a%20b" {
			t.Errorf("%s: led to %s", gateway, to)
		}
		if s, err := r.Latest(t.Context(), zoneID); err != nil || len(q) != 1 || s.State.Waiting != 0 {
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
			must(t, json.Unmarshal([]byte(document), &got))
			if (gateway == "nginx") != (w.Code == 403) || (gateway != "nginx") != (w.Code == 429) || got.Code != site.Code ||
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
		r.forward(13 * time.Second)
		page, form := r.ask(gateway, "GET", "/cart", opens...), r.askAt(r.bare, gateway, "POST", "/pay", opens...)
		r.forward(7 * time.Second)
		later := r.askAt(r.bare, gateway, "POST", "/pay", opens...)
		if page.Code != 200 || cookie(page) == "" || cookie(form) != "" || later.Code != 200 {
			t.Errorf("%s: %d, a form beyond the limit %d, and later %d", gateway, page.Code, form.Code, later.Code)
		}
	}
}

// TestRenewal: a visitor who comes when half of the session is over gets a new cookie for the same
// admission, if the zone's settings say so. If not, the session ends.
func TestRenewal(t *testing.T) {
	t.Parallel()
	for _, renewal := range []zone.Renewal{zone.RenewalUse, zone.RenewalOff} {
		r := newRoom(t, 0)
		r.set(func(s *zone.Settings) { s.SessionSeconds, s.SessionRenewal = 600, renewal })
		held := cookie(r.shows(r.pass(zoneID, time.Minute)))
		began, err := r.keys.VerifySession(zoneID, held[strings.IndexByte(held, '=')+1:])
		must(t, err)
		r.forward(298 * time.Second)
		if w := r.ask("caddy", "GET", "/", "Cookie", held); w.Code != 200 || cookie(w) != "" {
			t.Errorf("%s, before half: %d %q", renewal, w.Code, cookie(w))
		}
		r.forward(5 * time.Second)
		w := r.ask("caddy", "GET", "/", "Cookie", held)
		if w.Code != 200 || (cookie(w) != "") != (renewal == zone.RenewalUse) {
			t.Errorf("%s, after half: %d %q", renewal, w.Code, cookie(w))
		}
		if again := cookie(w); again != "" {
			s, err := r.keys.VerifySession(zoneID, again[strings.IndexByte(again, '=')+1:])
			if err != nil || s.Admission != began.Admission || !s.Begun.Equal(began.Begun) || !s.Issued.After(began.Issued) {
				t.Errorf("renewed: %+v of %+v, %v", s, began, err)
			}
		}
		r.forward(300 * time.Second)
		if w := r.ask("caddy", "GET", "/checkout", with(opens, "Cookie", held)...); w.Code != 302 {
			t.Errorf("%s: the old cookie at its end: %d", renewal, w.Code)
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
		r.forward(59 * time.Minute)
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

// TestWhoTakesAPlace: a visitor who opens the page, and no page that is fetched in advance or in a frame of another site.
func TestWhoTakesAPlace(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		headers []string
		status  int
	}{
		"a browser that guesses": {[]string{"Sec-Purpose", "prefetch;prerender"}, 429},
		"an older one":           {[]string{"Purpose", "prefetch"}, 429},
		"a chat's preview":       {[]string{"X-Purpose", "preview"}, 429},
		"an old Firefox":         {[]string{"X-Moz", "prefetch"}, 429},
		"another site's frame":   {[]string{"Sec-Fetch-Dest", "iframe", "Sec-Fetch-Site", "cross-site"}, 429},
		"a frame of its own":     {[]string{"Sec-Fetch-Dest", "iframe", "Sec-Fetch-Site", "same-origin"}, 200},
		// As Chromium sends them for a link of another site.
		"through a service worker": {[]string{"Sec-Fetch-Dest", "empty", "Sec-Fetch-Site", "cross-site"}, 200},
	} {
		r := newRoom(t, 600)
		w := r.ask("caddy", "GET", "/", with(opens, tt.headers...)...)
		if w.Code != tt.status || (r.joins > 0) != (tt.status == 200) || tt.status != 200 && !strings.Contains(w.Header().Get("Cache-Control"), "no-store") {
			t.Errorf("%s: %d %v, %d joins", name, w.Code, w.Header(), r.joins)
		}
	}
	r := newRoom(t, 600)
	if w := r.ask("caddy", "HEAD", "/", opens...); w.Code != 303 && w.Code != 302 || r.joins > 0 {
		t.Errorf("a link checker: %d, %d joins", w.Code, r.joins)
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
			"no-store":          r.ask(gateway, "GET", "/api"),
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
	old := r.keys.SignSession(zoneID, token.Session{Issued: r.clock().Add(-time.Hour), Length: time.Hour})
	for name, tt := range map[string]struct {
		cookie string
		ok     bool
	}{
		"good":                {"__Host-waitingroom-SHOP=" + good, true},
		"after a bad one":     {"__Host-waitingroom-SHOP=x; __Host-waitingroom-SHOP=" + good, true},
		"set without TLS":     {"waitingroom_session-SHOP=" + good, true},
		"of several hosts":    {"__Secure-waitingroom-SHOP=" + good, true},
		"a key":               {newKey(), false},
		"another name":        {"__Host-waitingroom-SHOP2=" + good, false},
		"another zone's name": {"__Host-waitingroom-OTHER=" + good, false},
		"another zone's":      {"__Host-waitingroom-SHOP=" + r.session("OTHER", time.Minute), false},
		"over":                {"__Host-waitingroom-SHOP=" + old, false},
		"from the future":     {"__Host-waitingroom-SHOP=" + r.keys.SignSession(zoneID, token.Session{Issued: r.clock().Add(time.Hour), Length: time.Hour}), false},
		"a token":             {"__Host-waitingroom-SHOP=" + r.keys.Sign(zoneID, line.Place{ArrivedAtMicros: 1, Epoch: 1}), false},
		"a pass":              {"__Host-waitingroom-SHOP=" + r.pass(zoneID, time.Minute), false},
		"none":                {"", false},
	} {
		if w := r.ask("nginx", "GET", "/", "Cookie", tt.cookie); (w.Code == 200) != tt.ok {
			t.Errorf("%s: %d", name, w.Code)
		}
	}
	if w := r.ask("nginx", "GET", "/", "Cookie", "waitingroom_session-SHOP="+good, "X-Original-Proto", "http"); w.Code != 200 {
		t.Errorf("without TLS: %d", w.Code)
	}
}

// TestNeverQueued: paths and agents of the settings and preflights go on. What only looks like them does not.
func TestNeverQueued(t *testing.T) {
	t.Parallel()
	r := newRoom(t, 0)
	r.set(func(s *zone.Settings) {
		s.BypassPaths = []string{
			"/assets/*", "/healthz", "/payment/*/callback", "*.css", "/caf\u00e9/*",
			"/?wc-api=*", "/index.php?option=pay&task=notify", "/pay/*?state=a b&ok",
		}
		s.BypassAgents = []string{"Googlebot"}
	})
	for uri, want := range map[string]bool{
		"/assets/a.js": true, "/assets/a/b.js?v=1": true, "/assets/": true, "/healthz": true, "/healthz?x=/y": true,
		"/payment/7/callback": true, "/payment/7/8/callback": true, "/x.css": true, "/caf%C3%A9/1": true, "/a%73sets/a": true,
		"/?wc-api=WC_Gateway_Paypal": true, "/?order=7&wc-api=x&key=y": true, "/?wc%2Dapi=": true, "/index.php?task=notify&option=pay": true,
		"/pay/1?ok&state=a+b": true, "/pay/1?ok=&state=a%20b": true,
		"/shop?wc-api=x": false, "/checkout/?wc-api=x": false, "/?x=wc-api=1": false, "/?nowc-api=1": false, "/?a=/?wc-api=1": false,
		"/%3Fwc-api=x": false, "/?wc-api=x;y": false, "/?wc-api=%zz": false, "/index.php?option=pay&task=order": false,
		"/index.php?option=pay&task=notify&task=order": false, "/pay/1?ok=no&state=a+b": false,
		"/assets": false, "/healthz/x": false, "/healthz2": false, "/payment/callback": false, "/x.css/y": false, "/": false,
		"/assets/../checkout": false, "/assets/%2e%2e/checkout": false, "/assets/..;/checkout": false, "/assets/..%2fcheckout": false,
		"/assets//checkout": false, "/assets/./x": false, `/assets/..\checkout`: false, "/assets/%5c..": false, "/assets/%252e%252e/x": false,
		"//assets/x": false, "/checkout?/assets/": false, "/checkout%3f.css": false, "/checkout;a.css": false, "/assets/%00": false, "/assets/%zz": false,
	} {
		if w := r.askAt(r.bare, "nginx", "GET", uri); (w.Code == 200) != want {
			t.Errorf("%s: %d", uri, w.Code)
		}
	}
	for agent, want := range map[string]int{"Mozilla/5.0 (compatible; googlebot/2.1)": 200, "Mozilla/5.0": 429} {
		if w := r.ask("traefik", "GET", "/", "User-Agent", agent); w.Code != want {
			t.Errorf("%s: %d", agent, w.Code)
		}
	}
	if w := r.ask("traefik", "OPTIONS", "/api", "Access-Control-Request-Method", "POST"); w.Code != 200 {
		t.Errorf("preflight: %d", w.Code)
	}
	if w := r.ask("traefik", "OPTIONS", "/api"); w.Code != 429 {
		t.Errorf("no preflight: %d", w.Code)
	}
}

// TestCommonFiles: what browsers and machines fetch without cookies is never queued, unless the zone says otherwise.
func TestCommonFiles(t *testing.T) {
	t.Parallel()
	r := newRoom(t, 0)
	paths := map[string]bool{
		"/.well-known/acme-challenge/LoqXcYV8q5ONbJQxbmR7SCTNo3tiAxDfyjxAjEuX0U0.9jg46WB3rR_AHD": true, "/.well-known/assetlinks.json": true,
		"/.well-known/pki-validation/fileauth.txt": true, "/.well-known/change-password": true, "/manifest.json": true, "/site.webmanifest?v=2": true,
		"/static/pwa/manifest.webmanifest": true, "/favicon.ico": true, "/favicon-32x32.png": true, "/images/favicon.svg": true, "/robots.txt": true,
		"/apple-touch-icon.png": true, "/apple-touch-icon-120x120-precomposed.png": true, "/android-chrome-192x192.png": true, "/ads.txt": true,
		"/": false, "/.well-known/": false, "/.well-known/../checkout": false, "/.well-known/..%2fcheckout": false, "/shop/.well-known/x": false,
		"/index.php/favicon.ico": false, "/checkout.php/manifest.json": false, "/checkout/robots.txt": false, "/robots.txt/x": false,
		"/favicon.ico/checkout": false, "/checkout?/favicon.ico": false, "/myfavicon.ico": false, "/data.json": false, "/logo.png": false,
	}
	for uri, want := range paths {
		for _, method := range []string{"GET", "HEAD", "POST", "DELETE"} {
			if w := r.askAt(r.bare, "nginx", method, uri); (w.Code == 200) != (want && (method == "GET" || method == "HEAD")) || cookie(w) != "" {
				t.Errorf("%s %s: %d", method, uri, w.Code)
			}
		}
	}
	r.set(func(s *zone.Settings) { s.BypassCommon = zone.CommonOff })
	for uri := range paths {
		if w := r.askAt(r.bare, "nginx", "GET", uri); w.Code == 200 {
			t.Errorf("off: %s: %d", uri, w.Code)
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

// crawlers are User-Agents as crawlers and makers of previews send them, and with false as people's browsers do.
var crawlers = map[string]bool{
	"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Googlebot/2.1; +http://www.google.com/bot.html) Chrome/139.0.0.0 Safari/537.36": true,
	"Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)":                                                                       true,
	"facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)":                                                                     true,
	"WhatsApp/2.23.20.0 A": true, "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)": true, "Twitterbot/1.0": true,
	"Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/help/us/ysearch/slurp)": true, "Baiduspider+(+http://www.baidu.com/search/spider.htm)": true,
	"Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5": true, "AdsBot-Google (+http://www.google.com/adsbot.html)": true,
	"Mozilla/5.0 (compatible; Google-InspectionTool/1.0;)": true, "TelegramBot (like TwitterBot)": true, "http.rb/5.1.1 (Mastodon/4.2.0; +https://a.example/) Bot": true,
	"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36":                                                false,
	"Mozilla/5.0 (Linux; Android 9; CUBOT_X18_Plus) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/90.0.4430.91 Mobile Safari/537.36":                       false,
	"Mozilla/5.0 (Linux; Android 11; CUBOT NOTE 20) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/96.0.4664.104 Mobile Safari/537.36":                      false,
	"Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/22B83 [FBAN/FBIOS;FBAV/489.0.0.59.102]":        false,
	"Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) GSA/284.0 Mobile/15E148 Safari/604.1":                 false,
	"Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Snapchat/12.60.0.41 (like Safari/8616)": false, "": false,
}

// TestCrawlers: while there is a line, a crawler is told to come again, and nobody keeps a place for it. On a quiet day it
// sees the site, and takes one admission for the pages that it reads at once.
func TestCrawlers(t *testing.T) {
	t.Parallel()
	for agent, crawls := range crawlers {
		for _, gateway := range gatewayNames {
			r := newRoom(t, 10) // one in six seconds
			agent := with(opens, "User-Agent", agent)
			for _, header := range [][]string{agent, agent[2:], with(agent[2:], "Accept", "*/*")} {
				if w := r.ask(gateway, "GET", "/sale", header...); crawls && w.Code != 200 {
					t.Fatalf("%s: %v: room: %d", gateway, agent, w.Code)
				}
			}
			if crawls && r.counted("admitted") != 3 || crawls && r.joins != 1 {
				t.Fatalf("%s: %v: %d joins", gateway, agent, r.joins)
			}
			r.ask(gateway, "GET", "/sale", with(opens, "User-Agent", "a person's")...)
			r.forward(2 * recently)
			r.set(func(s *zone.Settings) { s.PerMinute = 0 })
			for _, header := range [][]string{agent, with(agent, "Purpose", "preview"), agent[2:]} {
				w := r.ask(gateway, "GET", "/sale", header...)
				if !crawls {
					if w.Code == 503 || w.Header().Get(site.StatusHeader) == "503" {
						t.Errorf("%s: %v: %d", gateway, header, w.Code)
					}
					continue
				}
				status := fmt.Sprint(w.Code)
				if gateway == "nginx" {
					status = w.Header().Get(site.StatusHeader)
				}
				if status != "503" || w.Header().Get("Retry-After") != "600" || w.Header().Get("X-Robots-Tag") != "" || (gateway == "nginx") != (w.Code == 403) {
					t.Errorf("%s: %v: %d %v", gateway, header, w.Code, w.Header())
				}
			}
			stats, err := r.Latest(t.Context(), zoneID)
			must(t, err)
			if crawls && stats.State.Waiting > 1 {
				t.Errorf("%s: %v: %d places", gateway, agent, stats.State.Waiting)
			}
		}
	}
}

// recently is how long the requests of one browser are one page load.
const recently = 5 * time.Second

// TestCallsOfPages: a page that came from a CDN or a service worker calls the site without a session. Where there is room
// all its calls and frames get one, for one admission. Else they are refused, and nobody takes a place.
func TestCallsOfPages(t *testing.T) {
	t.Parallel()
	const own, other = "https://shop.example", "https://www.partner.example"
	call := func(site, origin string) []string {
		header := []string{"Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty", "Sec-Fetch-Site", site}
		if origin != "" {
			header = append(header, "Origin", origin)
		}
		return header
	}
	for name, tt := range map[string]struct {
		method string
		header []string
		ok     bool
	}{
		"a POST":                     {"POST", call("same-origin", own), true},
		"a GET has no Origin":        {"GET", call("same-origin", ""), true},
		"an image":                   {"GET", []string{"Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image", "Sec-Fetch-Site", "same-origin"}, true},
		"a WebSocket":                {"GET", []string{"Sec-Fetch-Mode", "websocket", "Sec-Fetch-Dest", "websocket", "Sec-Fetch-Site", "same-origin", "Origin", own}, true},
		"a frame":                    {"GET", with(opens, "Sec-Fetch-Dest", "iframe", "Sec-Fetch-Site", "same-origin"), true},
		"a frame of a sister":        {"GET", with(opens, "Sec-Fetch-Dest", "iframe", "Sec-Fetch-Site", "same-site"), true},
		"an origin of the zone":      {"POST", call("cross-site", other), true},
		"a POST without Origin":      {"POST", call("same-origin", ""), false},
		"another Origin than Host":   {"POST", call("same-origin", "https://evil.example"), false},
		"another site":               {"POST", call("cross-site", "https://evil.example"), false},
		"a site that begins so":      {"POST", call("cross-site", other+".evil.example"), false},
		"no browser":                 {"POST", []string{"Origin", other}, false},
		"another site's frame":       {"GET", with(opens, "Sec-Fetch-Dest", "iframe", "Sec-Fetch-Site", "cross-site"), false},
		"fetched in advance":         {"GET", with(call("same-origin", ""), "Sec-Purpose", "prefetch"), false},
		"another site's image of it": {"GET", []string{"Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image", "Sec-Fetch-Site", "cross-site"}, false},
	} {
		for _, gateway := range gatewayNames {
			r := newRoom(t, 600)
			r.set(func(s *zone.Settings) { s.CORSOrigins = []string{other} })
			joins := r.joins
			two := []http.Handler{r.bare, r.server(roomURL)}
			held := make(chan string, 10)
			for i := range 10 { // at once, at two servers
				go func() { held <- cookie(r.askAt(two[i%2], gateway, tt.method, "/api", tt.header...)) }()
			}
			sessions := map[string]bool{}
			for range 10 {
				sessions[<-held] = true
			}
			if tt.ok && (sessions[""] || len(sessions) != 1 || r.joins > joins+2) || !tt.ok && (!sessions[""] || r.joins != joins) {
				t.Errorf("%s: %s: %d sessions, %d joins: %v", gateway, name, len(sessions), r.joins-joins, sessions)
			}
			stats, err := r.Latest(t.Context(), zoneID)
			must(t, err)
			if n := stats.Totals.Admitted; n > 1 || (n == 1) != tt.ok {
				t.Errorf("%s: %s: %d admissions", gateway, name, n)
			}
			// In a line.
			r.forward(time.Minute)
			r.set(func(s *zone.Settings) { s.PerMinute = 10 })
			for range 4 {
				_, err := r.wait.Join(t.Context(), wait.Newcomer{ZoneID: zoneID})
				must(t, err)
			}
			w := r.askAt(r.bare, gateway, tt.method, "/api", with(tt.header, "User-Agent", "late")...)
			r.forward(2 * time.Second)
			later := r.askAt(r.bare, gateway, tt.method, "/api", with(tt.header, "User-Agent", "later")...)
			stats, err = r.Latest(t.Context(), zoneID)
			must(t, err)
			if w.Code == 200 || later.Code == 200 || stats.State.Waiting != 3 {
				t.Errorf("%s: %s: in a line: %d, %d, %d wait", gateway, name, w.Code, later.Code, stats.State.Waiting)
			}
		}
	}
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

// TestByInvitation: the ticket of a link is handed to the waiting page, and is not in the address to which that leads.
func TestByInvitation(t *testing.T) {
	t.Parallel()
	r := newRoom(t, 600)
	r.set(func(s *zone.Settings) { s.Invitation = "spring" })
	long := strings.Repeat("x", 2_049)
	for uri, want := range map[string]string{
		"/sale?a=1&waiting_room_ticket=e.y.J&b=2": "?to=" + url.QueryEscape("https://shop.example/sale?a=1&b=2") + "&ticket=e.y.J",
		"/sale":                             "?to=" + url.QueryEscape("https://shop.example/sale"),
		"/sale?waiting_room_ticket=" + long: "?to=" + url.QueryEscape("https://shop.example/sale"),
	} {
		if w := r.ask("caddy", "GET", uri, opens...); w.Code != 302 || !strings.HasSuffix(w.Header().Get("Location"), "/wait/"+zoneID+want) || r.joins != 0 {
			t.Errorf("%.60s: %d to %s, %d joined", uri, w.Code, w.Header().Get("Location"), r.joins)
		}
	}
}

// TestModes: an open zone lets all through, a closed one only visitors inside. A zone that does not exist
// stops nobody, and is counted.
func TestModes(t *testing.T) {
	t.Parallel()
	r := newRoom(t, 0)
	held := []string{"Cookie", "__Host-waitingroom-SHOP=" + r.session(zoneID, time.Hour)}
	r.set(func(s *zone.Settings) { s.Mode = zone.ModeOpen })
	page, api := r.ask("caddy", "GET", "/", opens...), r.ask("caddy", "POST", "/api")
	if page.Code != 200 || cookie(page) == "" || api.Code != 200 || cookie(api) != "" {
		t.Errorf("open: %d %q, %d %q", page.Code, cookie(page), api.Code, cookie(api))
	}
	r.set(func(s *zone.Settings) { s.SoldOut = zone.Texts{"default": "No seats are left."} })
	if page, api := r.ask("caddy", "GET", "/", opens...), r.ask("caddy", "POST", "/api"); page.Code != 302 || api.Code != 429 {
		t.Errorf("open, and sold out: %d, %d", page.Code, api.Code)
	}
	r.set(func(s *zone.Settings) { s.SoldOut, s.Invitation = nil, "spring" })
	if page, api := r.ask("caddy", "GET", "/", opens...), r.ask("caddy", "POST", "/api"); page.Code != 302 || api.Code != 429 {
		t.Errorf("open, by invitation: %d, %d", page.Code, api.Code)
	}
	r.set(func(s *zone.Settings) { s.Mode, s.Invitation = zone.ModeClosed, "" })
	joins := r.joins
	page, api, inside := r.ask("caddy", "GET", "/", opens...), r.ask("caddy", "POST", "/api"), r.ask("caddy", "GET", "/", held...)
	if page.Code != 302 || api.Code != 429 || inside.Code != 200 || r.joins != joins {
		t.Errorf("closed: %d, %d, inside %d", page.Code, api.Code, inside.Code)
	}
	must(t, r.DeleteZone(t.Context(), zoneID, ""))
	page, api, inside = r.ask("caddy", "GET", "/", opens...), r.ask("caddy", "POST", "/api"), r.ask("caddy", "GET", "/", held...)
	if page.Code != 200 || api.Code != 200 || inside.Code != 200 || r.counted("zone_unknown") != 2 {
		t.Errorf("deleted: %d, %d, inside %d, %v", page.Code, api.Code, inside.Code, r.counts)
	}
}

// challenge has the room ask for challenges, where a zone wants them.
func (r *room) challenge(lined func(string) bool) {
	desk := challenge.New(challenge.Options{Keys: r.keys, Spends: r, Provider: &challenge.Provider{}, Meter: meter{r}, Now: r.clock})
	issuer := answer.NewIssuer(r.keys, r.passes).WithZones(func(string) *zone.Settings {
		s, err := r.Store.Zone(r.t.Context(), zoneID)
		must(r.t, err)
		return &s
	})
	r.wait = wait.New(r, nil, r.keys, issuer, meter{r}, r.clock).WithChallenges(desk, lined)
	r.bare = r.server(roomURL)
	r.http, r.public = openapitest.Site.Handler(r.t, r.bare), openapitest.Public.Handler(r.t, r.bare)
}

// TestChallenges: where a challenge is due the gate lets no stranger in, but sends a browser to the page, which asks for it, and
// refuses what cannot be led there; whoever is never queued, or has a session, goes on.
func TestChallenges(t *testing.T) {
	t.Parallel()
	r := newRoom(t, 600)
	lined := false
	r.challenge(func(string) bool { return lined })
	held := []string{"Cookie", "__Host-waitingroom-SHOP=" + r.session(zoneID, time.Hour)}
	r.set(func(s *zone.Settings) { s.Challenge, s.BypassAgents = zone.ChallengeWork, []string{"Googlebot"} })
	for i, step := range []struct {
		when            string
		lined           bool
		page, api, call int
	}{
		{zone.ChallengeInLine, false, 200, 429, 200}, {zone.ChallengeInLine, true, 302, 429, 429}, {zone.ChallengeAlways, false, 302, 429, 429},
	} {
		lined = step.lined
		r.set(func(s *zone.Settings) { s.ChallengeWhen = step.when })
		page, api := r.ask("caddy", "GET", "/", opens...), r.ask("caddy", "POST", "/api")
		call := r.ask("caddy", "GET", "/api", "X-Forwarded-For", fmt.Sprintf("203.0.113.%d", i), "Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors")
		if page.Code != step.page || api.Code != step.api || call.Code != step.call {
			t.Errorf("%+v: %d, %d, %d", step, page.Code, api.Code, call.Code)
		}
		if page.Code == 302 && !strings.Contains(page.Header().Get("Location"), "/wait/"+zoneID) {
			t.Errorf("%+v: to %s", step, page.Header().Get("Location"))
		}
		bot, inside := r.ask("caddy", "GET", "/", with(opens, "User-Agent", "Googlebot/2.1")...), r.ask("caddy", "GET", "/", with(opens, held...)...)
		if bot.Code != 200 || inside.Code != 200 {
			t.Errorf("%+v: never queued %d, inside %d", step, bot.Code, inside.Code)
		}
	}
}

// TestOpenAndGathering: while people gather for an event nobody goes on, even if the zone is open on other days.
func TestOpenAndGathering(t *testing.T) {
	t.Parallel()
	r := newRoom(t, 600)
	now := r.clock()
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
		r.forward(step.forward)
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

// TestInMidCheckout: a form that is sent after the session has ended goes on if there is room. If
// there is a line, its visitor comes back to the page with the form.
func TestInMidCheckout(t *testing.T) {
	t.Parallel()
	form := with(opens, "Referer", "https://shop.example/checkout?step=2")
	r := newRoom(t, 600)
	if w := r.ask("caddy", "POST", "/pay", form...); w.Code != 200 || cookie(w) == "" {
		t.Errorf("room: %d", w.Code)
	}
	// An older browser, or one without TLS, does not say that it opens a page.
	older := []string{"Accept", "text/html,*/*;q=0.8", "Referer", "https://shop.example/checkout?step=2"}
	if w := r.ask("caddy", "POST", "/pay", older...); w.Code != 200 || cookie(w) == "" {
		t.Errorf("room, an older browser: %d", w.Code)
	}
	// Some programs send the Accept of a browser; they come from no page.
	if w := r.ask("caddy", "POST", "/hook", older[:2]...); w.Code != 429 {
		t.Errorf("a webhook: %d", w.Code)
	}
	r.set(func(s *zone.Settings) { s.Mode = zone.ModeClosed })
	for referer, want := range map[string]string{
		"https://shop.example/checkout?step=2": "https://shop.example/checkout?step=2",
		"https://evil.example/x":               "https://shop.example/", "": "https://shop.example/", "%": "https://shop.example/",
	} {
		to, err := url.Parse(led(t, "caddy", r.ask("caddy", "POST", "/pay", with(opens, "Referer", referer)...)))
		if err != nil || to.Query().Get("to") != want {
			t.Errorf("from %q back to %s, %v", referer, to, err)
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
		must(t, err)
		if got := to.Query().Get("to"); got != tt.want {
			t.Errorf("%v, %q: led back to %s, want %s", tt.sites, tt.host, got, tt.want)
		}
	}
}

// TestAPassOfAPage: a page of the site shows its pass by a call, and gets a cookie; an app and the page of another site get a header.
func TestAPassOfAPage(t *testing.T) {
	t.Parallel()
	for _, gateway := range gatewayNames {
		r := newRoom(t, 0)
		for from, inCookie := range map[string]bool{"same-origin": true, "same-site": false, "cross-site": false, "": false} {
			w := r.ask(gateway, "GET", "/api/me", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Site", from, site.AppHeader, r.pass(zoneID, time.Minute))
			if w.Code != 200 || (cookie(w) != "") != inCookie || (w.Header().Get(site.SessionHeader) != "") == inCookie {
				t.Errorf("%s: from %q: %d %v", gateway, from, w.Code, w.Header())
			}
		}
	}
}
