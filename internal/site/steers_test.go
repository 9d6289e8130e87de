package site_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	fixture "github.com/openqueue/waitingroom/internal/check/room"
	"github.com/openqueue/waitingroom/internal/gateway"
	"github.com/openqueue/waitingroom/internal/site"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestWhatSteers: the autopilot sees the answers to visitors with a session, not those on paths that are never queued nor streams, and which of
// them failed; without an autopilot it sees none.
func TestWhatSteers(t *testing.T) {
	t.Parallel()
	r := newRoom(t, 10)
	r.set(func(s *zone.Settings) {
		s.Pilot, s.PilotMax, s.BypassPaths = zone.PilotAdvise, 100, []string{"/assets/*"}
	})
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		switch q.URL.Path {
		case "/broken":
			w.WriteHeader(http.StatusInternalServerError)
		case "/away":
			panic(http.ErrAbortHandler)
		case "/stream":
			w.Header().Set("Content-Type", "text/event-stream")
		}
	}))
	t.Cleanup(shop.Close)
	var saw []string
	path := ""
	g, err := gateway.New(gateway.Options{
		Sites: []gateway.Site{{Zone: zoneID, Upstream: shop.URL}}, Gate: r.gate, Room: http.NotFoundHandler(), Meter: answers{}, Logger: slog.New(slog.DiscardHandler),
		AnswerTimeout: time.Minute, StallTimeout: time.Minute, Refuse: r.refuse,
		Saw: func(of string, session [16]byte, first time.Duration, failed bool) {
			if of != zoneID || session == [16]byte{} || (first == 0) != (path == "/away") {
				t.Errorf("%s: zone %s, session %x, after %v", path, of, session, first)
			}
			said := path
			if failed {
				said += " failed"
			}
			saw = append(saw, said)
		},
	})
	fixture.Must(t, err)
	ask := func(held string, paths ...string) {
		for _, path = range paths {
			req := httptest.NewRequest(http.MethodGet, path, http.NoBody)
			req.Host, req.RemoteAddr = "shop.example", "203.0.113.9:1234"
			if held != "" {
				req.Header.Set(site.SessionHeader, held)
			}
			g.ServeHTTP(httptest.NewRecorder(), req)
		}
	}
	held := r.session(zoneID, time.Hour)
	ask(held, "/cart", "/broken", "/away", "/stream", "/assets/a.css")
	ask("", "/assets/a.css", "/cart")
	r.set(func(s *zone.Settings) { s.Pilot = zone.PilotOff })
	ask(held, "/cart")
	if want := []string{"/cart", "/broken failed", "/away failed"}; !slices.Equal(saw, want) {
		t.Errorf("the autopilot sees %q, want %q", saw, want)
	}
}
