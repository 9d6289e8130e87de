package site_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	fixture "github.com/openqueue/waitingroom/internal/check/room"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/site"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestInside: a session in a zone with a cap counts as inside until it is over or told to be done, and is then refused.
func TestInside(t *testing.T) {
	t.Parallel()
	r := newRoom(t, 600)
	r.set(func(s *zone.Settings) { s.MaxInside, s.DonePaths, s.PassTTLSeconds = 1, []string{"/thanks*"}, 60 })
	r.Zones.RunOnce(t.Context())
	inside := func(want int64) {
		t.Helper()
		r.Zones.ReportInsideOnce(t.Context())
		stats, err := r.Store.Observe(t.Context(), zoneID, 0)
		fixture.Must(t, err)
		if stats.State.Inside != want {
			t.Fatalf("%d are inside, want %d", stats.State.Inside, want)
		}
	}
	done := func(body string, want int) {
		t.Helper()
		req := httptest.NewRequest(http.MethodPost, "/site/"+zoneID+"/done", strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		r.http.ServeHTTP(w, req)
		if w.Code != want {
			t.Fatalf("%s: %d %s, want %d", body, w.Code, w.Body, want)
		}
	}
	get := func(header ...string) *httptest.ResponseRecorder {
		t.Helper()
		return r.ask("nginx", http.MethodGet, "/cart", with(header, opens...)...)
	}

	r.Forward(2 * time.Second) // sessions of before are told first

	// The first gets in, and stays longer than the pass is good.
	first := get()
	held := cookie(first)
	if first.Code != http.StatusOK || held == "" {
		t.Fatalf("the first: %d %v", first.Code, first.Header())
	}
	inside(1)
	for range 90 {
		r.Forward(time.Second)
		inside(1)
	}
	if second := get(); second.Code != http.StatusUnauthorized {
		t.Fatalf("a second one beside the first: %d", second.Code)
	}
	_, session, _ := strings.Cut(held, "=")

	// Bad input changes nothing.
	for body, want := range map[string]int{
		`{}`:                                  http.StatusBadRequest,
		`{"session": "` + session[1:] + `x"}`: http.StatusBadRequest,
		`{"pass": "` + r.pass("OTHER", time.Minute) + `"}`: http.StatusBadRequest,
		`{"jti": "00000000-0000-8000-8000-000000000000"}`:  http.StatusBadRequest,
		`{"jti": "x"}`: http.StatusBadRequest,
		`{"jti": "` + uuid.UUID(line.Admission{ID: line.ID{9}, AtMillis: r.Now().UnixMilli()}.JTI(zoneID)).String() + `"}`: http.StatusBadRequest,
	} {
		done(body, want)
	}
	inside(1)

	// The page that thanks gives the slot back, and what belongs to it is served for a minute.
	// Nothing but opening that page from the site's own does.
	for name, more := range map[string][]string{
		"a call": {"Sec-Fetch-Mode", "cors", "Sec-Fetch-Site", "same-origin"}, "an image": {"Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Site", "same-origin", "Sec-Fetch-Dest", "image"},
		"prefetch": with(opens, "Sec-Fetch-Site", "same-origin", "Sec-Purpose", "prefetch;prerender"), "old prefetch": with(opens, "Sec-Fetch-Site", "same-origin", "X-Moz", "prefetch"),
		"another site's link": with(opens, "Sec-Fetch-Site", "cross-site"), "a mail's link": with(opens, "Sec-Fetch-Site", "none"),
		"a frame": with(opens, "Sec-Fetch-Site", "same-origin", "Sec-Fetch-Dest", "iframe"), "no word": {"Accept", "text/html"},
		"another site's link, without Sec-Fetch": {"Accept", "text/html", "Referer", "https://other.example/"},
	} {
		if w := r.ask("nginx", http.MethodGet, "/thanks?order=1", with(more, "Cookie", held)...); w.Code != http.StatusOK {
			t.Errorf("%s: %d", name, w.Code)
		}
	}
	r.ask("nginx", http.MethodHead, "/thanks?order=1", with(opens, "Sec-Fetch-Site", "same-origin", "Cookie", held)...)
	inside(1)
	if thanks := r.ask("nginx", http.MethodGet, "/thanks?order=1", with(opens, "Sec-Fetch-Site", "same-origin", "Cookie", held)...); thanks.Code != http.StatusOK {
		t.Fatalf("the page that thanks: %d", thanks.Code)
	}
	inside(0)
	if more := get("Cookie", held); more.Code != http.StatusOK {
		t.Errorf("what belongs to it: %d", more.Code)
	}
	inside(0)
	for range 61 {
		r.Forward(time.Second)
		inside(0)
	}
	again := get("Cookie", held)
	if now := cookie(again); again.Code != http.StatusOK || now == held || now == "" {
		t.Fatalf("a minute later, with the session that is done: %d, %q", again.Code, now)
	}
	inside(1)

	// The backend says that the visitor is done, twice.
	_, session, _ = strings.Cut(cookie(again), "=")
	done(`{"session": "`+session+`"}`, http.StatusNoContent)
	done(`{"session": "`+session+`"}`, http.StatusNoContent)
	inside(0)

	// A service that verifies passes by itself says who is inside; what it says wrong changes nothing.
	here := func(jti string, want int) {
		t.Helper()
		req := httptest.NewRequest(http.MethodPost, "/site/"+zoneID+"/here", strings.NewReader(`{"jti": "`+jti+`"}`))
		req.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		if r.http.ServeHTTP(w, req); w.Code != want {
			t.Fatalf("here, %s: %d %s, want %d", jti, w.Code, w.Body, want)
		}
	}
	for _, jti := range []string{"", "x", "00000000-0000-8000-8000-000000000000"} {
		here(jti, http.StatusBadRequest)
	}
	inside(0)
	by := uuid.UUID(line.Admission{ID: line.ID{9}, AtMillis: r.Now().UnixMilli()}.JTI(zoneID)).String()
	here(by, http.StatusNoContent)
	here(by, http.StatusNoContent)
	inside(1)
	done(`{"jti": "`+by+`"}`, http.StatusNoContent)
	inside(0)
	r.Forward(61 * time.Second)
	here(by, http.StatusBadRequest)

	// An operator revokes all: they are refused at once.
	third := get()
	inside(1)
	r.set(func(s *zone.Settings) { s.InsideState.RevokedUpToMillis = r.Now().UnixMilli() + 1000 })
	r.Zones.RunOnce(t.Context())
	if revoked := get("Cookie", cookie(third)); cookie(revoked) == "" && revoked.Code == http.StatusOK {
		t.Error("a session that was revoked goes on")
	}

	// Beside it a good one counts, whichever cookie comes first; and the waiting page goes by the same.
	r.Forward(2 * time.Second)
	now := r.Now()
	good := "waitingroom_session-" + zoneID + "=" + r.Tokens.SignSession(zoneID, token.Session{
		Admission: line.Admission{ID: line.ID{8}, AtMillis: now.UnixMilli()}.JTI(zoneID), Begun: now, Issued: now, Length: time.Minute,
	})
	isInside := site.Inside(r.Tokens, r.Zones, r.Now)
	for kept, want := range map[string]bool{
		cookie(third): false, good: true, cookie(third) + "; " + good: true, good + "; " + cookie(third): true,
	} {
		if want && r.ask("nginx", http.MethodGet, "/cart", "Cookie", kept).Code != http.StatusOK {
			t.Errorf("%s does not go on", kept)
		}
		if isInside(zoneID, http.Header{"Cookie": {kept}}) != want {
			t.Errorf("%s: the waiting page does not go by the gate", kept)
		}
	}
}

// BenchmarkSession is what an answer about somebody inside costs, in a zone with a cap and without.
func BenchmarkSession(b *testing.B) {
	for name, most := range map[string]int64{"without": 0, "with": 1000} {
		b.Run(name, func(b *testing.B) {
			r := newRoom(b, 600)
			r.set(func(s *zone.Settings) { s.MaxInside = most })
			r.Zones.RunOnce(b.Context())
			r.Forward(5 * time.Second)
			held := cookie(r.ask("nginx", http.MethodGet, "/cart", opens...))
			for b.Loop() {
				if w := r.askAt(r.bare, "nginx", http.MethodGet, "/cart", "Cookie", held); w.Code != http.StatusOK {
					b.Fatal(w.Code)
				}
			}
		})
	}
}
