package site_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	fixture "github.com/openqueue/waitingroom/internal/check/room"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/page"
	"github.com/openqueue/waitingroom/internal/pass"
	"github.com/openqueue/waitingroom/internal/site"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestExchange: a pass in the URL is exchanged for a session, once, and taken out of the URL. The browser is known by the key that
// the gate gave it, whatever its address.
func TestExchange(t *testing.T) {
	t.Parallel()
	for _, gateway := range gatewayNames {
		r := newRoom(t, 0)
		shown := r.pass(zoneID, 5*time.Minute)
		uri := "/cart?a&waiting_room_pass=" + shown + "&b="
		browser := with(opens, "Cookie", key(r.ask(gateway, "GET", "/", opens...)))
		first := r.ask(gateway, "GET", uri, browser...)
		if got := led(t, gateway, first); got != "/cart?a&b=" || cookie(first) == "" {
			t.Errorf("%s: led to %q with %v", gateway, got, first.Header())
		}
		if w := r.ask(gateway, "GET", "/", "Cookie", cookie(first)); w.Code != 200 {
			t.Errorf("%s: the session of a pass: %d", gateway, w.Code)
		}
		// The answer got lost, and the phone was in a tunnel, and has another address now.
		r.Forward(4 * time.Minute)
		for range 20 {
			if again := r.ask(gateway, "GET", uri, with(browser, "X-Forwarded-For", "198.51.100.7", "User-Agent", "updated")...); cookie(again) == "" {
				t.Fatalf("%s: the same browser: %d", gateway, again.Code)
			}
		}
		// Back to the address with the pass, with the session.
		back := r.ask(gateway, "GET", uri, with(opens, "Cookie", cookie(first))...)
		if led(t, gateway, back) != "/cart?a&b=" || cookie(back) == "" && back.Header().Get("Set-Cookie") != "" {
			t.Errorf("%s: back: %d %v", gateway, back.Code, back.Header())
		}
		for name, h := range map[string]http.Handler{"here": r.bare, "on another server": r.server(roomURL)} {
			for _, copied := range [][]string{opens, with(opens, "Cookie", newKey())} {
				w := r.askAt(h, gateway, "GET", uri, copied...)
				if to := led(t, gateway, w); !strings.HasPrefix(to, roomURL+"/wait/SHOP?to=") || !strings.HasSuffix(to, "&refused="+page.Refused(shown)+"&again=1") ||
					strings.Contains(to, shown) || cookie(w) != "" {
					t.Errorf("%s: used twice, %s: %d to %q", gateway, name, w.Code, to)
				}
			}
		}
	}
}

// TestWithoutAKey: a browser that comes from the waiting page and was never at the gate gets a key, and shows it at once. One that keeps
// no cookies is told so, and its pass is not used.
func TestWithoutAKey(t *testing.T) {
	t.Parallel()
	for _, gateway := range gatewayNames {
		r := newRoom(t, 0)
		shown := r.pass(zoneID, time.Minute)
		uri := "/cart?waiting_room_pass=" + shown
		r.ask(gateway, "GET", uri, opens...) // the answer gets lost
		w := r.ask(gateway, "GET", uri, opens...)
		to := led(t, gateway, w)
		if to != "/cart?waiting_room_pass=."+shown || key(w) == "" {
			t.Fatalf("%s: %q %v", gateway, to, w.Header())
		}
		forgot, err := url.Parse(led(t, gateway, r.ask(gateway, "GET", to, opens...)))
		if err != nil || forgot.Query().Get("to") != "https://shop.example"+uri || forgot.Query().Get(page.CookielessParameter) == "" || r.joins != 0 {
			t.Errorf("%s: without cookies: led to %s, %v, %d joins", gateway, forgot, err, r.joins)
		}
		in := r.ask(gateway, "GET", to, with(opens, "Cookie", key(w))...)
		if led(t, gateway, in) != "/cart" || cookie(in) == "" {
			t.Errorf("%s: with the key: %v", gateway, in.Header())
		}
		// The first page inside takes the key away.
		page := r.ask(gateway, "GET", "/cart", with(opens, "Cookie", key(w)+"; "+cookie(in))...)
		if gone := page.Header().Get("Set-Cookie"); page.Code != 200 || !strings.HasPrefix(gone, "__Host-waitingroom_key-SHOP=; ") || !strings.Contains(gone, "Max-Age=0") {
			t.Errorf("%s: inside: %d %q", gateway, page.Code, gone)
		}
	}
}

// TestOneExchange: a pass is good for one session, in a link or in a header.
func TestOneExchange(t *testing.T) {
	t.Parallel()
	r := newRoom(t, 0)
	inLink := func(shown string, header ...string) bool {
		return cookie(r.ask("caddy", "GET", "/?waiting_room_pass="+shown, with(opens, header...)...)) != ""
	}
	bearer := func(shown string) bool {
		return r.ask("caddy", "GET", "/api", "Authorization", "Bearer "+shown).Header().Get(site.SessionHeader) != ""
	}
	one, two, three := r.pass(zoneID, time.Minute), r.pass(zoneID, time.Minute), r.pass(zoneID, time.Minute)
	if !inLink(one, "Cookie", newKey()) || bearer(one) || inLink(one, "Cookie", newKey()) {
		t.Error("after a link")
	}
	if !bearer(two) || bearer(two) || inLink(two, "Cookie", newKey()) {
		t.Error("after a header")
	}
	if inLink(three) || bearer(three) || !inLink(three, "Cookie", newKey()) {
		t.Error("after a link of a browser without a key")
	}

	// Two servers let a visitor in while the store was away. One of the passes is good, though they are two admissions; another
	// visitor's is good, and the visitor's next one.
	local := func(id byte) string {
		now := r.Now().UnixMilli()
		p, err := r.Passes.Issue(pass.Grant{ZoneID: zoneID, ID: line.ID{id}, AdmittedAtMillis: now, ExpiresAtMillis: now + 300_000, Local: true})
		fixture.Must(t, err)
		return p
	}
	one, browser := local(1), newKey()
	r.Forward(290 * time.Second)
	two, three = local(1), local(2)
	if !inLink(one, "Cookie", browser) || inLink(two, "Cookie", newKey()) || bearer(two) || !bearer(three) {
		t.Error("let in by two servers")
	}
	r.Forward(280 * time.Second)
	if inLink(two, "Cookie", newKey()) || bearer(two) || bearer(three) {
		t.Error("let in by two servers, when one pass has expired")
	}
	r.Forward(time.Hour)
	if !bearer(local(1)) {
		t.Error("let in anew")
	}
}

// TestBeforeThePass: a browser that was sent to wait gets no second place and no second admission here: the page knows what it has.
func TestBeforeThePass(t *testing.T) {
	t.Parallel()
	r := newRoom(t, 10)
	r.ask("caddy", "GET", "/", opens...)
	waits := r.ask("caddy", "GET", "/cart", opens...)
	r.Forward(time.Minute) // there is room again
	joins := r.joins
	for _, uri := range []string{"/cart", "/deep/link"} {
		w := r.ask("caddy", "GET", uri, with(opens, "Cookie", key(waits))...)
		if to := led(t, "caddy", w); to != roomURL+"/wait/SHOP?to="+url.QueryEscape("https://shop.example"+uri) || w.Header().Get("Set-Cookie") != "" || r.joins != joins {
			t.Errorf("led to %q with %v, %d joins", to, w.Header(), r.joins-joins)
		}
	}
	// Many at once: the gate leaves no place behind.
	r.Forward(time.Minute)
	for range 10 {
		r.ask("caddy", "GET", "/", opens...)
	}
	if s, err := r.Store.Observe(t.Context(), zoneID, 0); err != nil || s.State.Waiting != 0 {
		t.Errorf("%d wait, %v", s.State.Waiting, err)
	}
}

// TestOneSiteOfSeveralHosts: with a cookieDomain, who was admitted at one host is inside at the others. Without TLS is another host, too.
func TestOneSiteOfSeveralHosts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		domain, first, proto, name, rest string
	}{
		{"shop.example", "shop.example", "https", "__Secure-waitingroom-SHOP=", "; Secure; Domain=shop.example"},
		{"shop.example", "WWW.shop.example:8443", "https", "__Secure-waitingroom-SHOP=", "; Secure; Domain=shop.example"},
		{"shop.example", "shop.example", "http", "waitingroom_session-SHOP=", "; SameSite=Lax; Domain=shop.example"},
		{"shop.example", "notshop.example", "https", "__Host-waitingroom-SHOP=", "; SameSite=Lax; Secure"},
		{"", "shop.example", "http", "waitingroom_session-SHOP=", "; SameSite=Lax"},
	} {
		r := newRoom(t, 10)
		r.set(func(s *zone.Settings) { s.CookieDomain = tt.domain })
		in := r.askAt(r.bare, "caddy", "GET", "/", with(opens, "X-Forwarded-Host", tt.first, "X-Forwarded-Proto", tt.proto)...)
		if set := in.Header().Get("Set-Cookie"); !strings.HasPrefix(set, tt.name) || !strings.HasSuffix(set, tt.rest) {
			t.Errorf("%+v: %s", tt, set)
		}
		if w := r.ask("caddy", "GET", "/", with(opens, "X-Forwarded-Host", "www.shop.example", "Cookie", cookie(in))...); w.Code != 200 || r.joins != 1 {
			t.Errorf("%+v: then %d, %d joins", tt, w.Code, r.joins)
		}
		wait := r.askAt(r.bare, "caddy", "GET", "/", with(opens, "X-Forwarded-Host", tt.first, "X-Forwarded-Proto", tt.proto)...)
		if set := wait.Header().Get("Set-Cookie"); key(wait) == "" || !strings.HasSuffix(set, tt.rest) {
			t.Errorf("%+v: the key %s", tt, set)
		}
	}
}

// TestPassesOfAnyLifeAreExchangedOnce: a pass that is good for a day is remembered for a day.
func TestPassesOfAnyLifeAreExchangedOnce(t *testing.T) {
	t.Parallel()
	for _, life := range []time.Duration{10 * time.Second, 9 * time.Minute, 10 * time.Minute, 59 * time.Minute, time.Hour, 24*time.Hour - time.Second} {
		r := newRoom(t, 0)
		shown := r.pass(zoneID, life)
		if w := r.shows(shown); cookie(w) == "" {
			t.Fatalf("%v: %d", life, w.Code)
		}
		r.Forward(life - 2*time.Second)
		if w := r.shows(shown); cookie(w) != "" {
			t.Errorf("%v: exchanged again just before it ends", life)
		}
	}
}

// TestAnApp: an app shows its pass in a header, and then the session that it got for it.
func TestAnApp(t *testing.T) {
	t.Parallel()
	for _, gateway := range gatewayNames {
		r := newRoom(t, 0)
		shown := r.pass(zoneID, time.Minute)
		var session string
		g, err := r.Passes.Verify(shown, r.Now())
		fixture.Must(t, err)
		place := r.Tokens.Sign(zoneID, line.Place{ID: g.ID, ArrivedAtMicros: 1, Epoch: 1})
		for _, header := range [][]string{{site.AppHeader, shown}, {"Authorization", "Bearer " + shown}, {"Authorization", "bearer " + shown}} {
			// With the token, whose answer gets lost can ask again.
			w := r.ask(gateway, "GET", "/api", with(header, site.PlaceHeader, place)...)
			session = w.Header().Get(site.SessionHeader)
			if w.Code != 200 || session == "" || w.Header().Get("Set-Cookie") != "" {
				t.Errorf("%s: %d %v", gateway, w.Code, w.Header())
			}
		}
		for _, other := range []string{"", "made-up", r.Tokens.Sign(zoneID, line.Place{ID: line.ID{1}, ArrivedAtMicros: 1, Epoch: 1})} {
			if w := r.ask(gateway, "GET", "/api", site.AppHeader, shown, site.PlaceHeader, other); w.Code == 200 {
				t.Errorf("%s: another app with the token %q: %d", gateway, other, w.Code)
			}
		}
		r.Forward(5 * time.Minute)
		if w := r.ask(gateway, "GET", "/api", site.AppHeader, shown, site.PlaceHeader, place); w.Code == 200 {
			t.Errorf("%s: a pass that has expired: %d", gateway, w.Code)
		}
		if w := r.ask(gateway, "GET", "/api", site.SessionHeader, session); w.Code != 200 || w.Header().Get(site.SessionHeader) != "" {
			t.Errorf("%s: the session: %d %v", gateway, w.Code, w.Header())
		}
		r.Forward(15 * time.Minute)
		w := r.ask(gateway, "GET", "/api", site.SessionHeader, session)
		if renewed := w.Header().Get(site.SessionHeader); w.Code != 200 || renewed == "" || renewed == session {
			t.Errorf("%s: renewed: %d %v", gateway, w.Code, w.Header())
		}
	}
}
