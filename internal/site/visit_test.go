package site_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	fixture "github.com/openqueue/waitingroom/internal/check/room"
	"github.com/openqueue/waitingroom/internal/site"
	"github.com/openqueue/waitingroom/internal/ticket"
	"github.com/openqueue/waitingroom/internal/zone"
)

// guests reads tickets that are names.
type guests struct{}

func (guests) Claims(token string) (jwt.MapClaims, error) {
	return jwt.MapClaims{"aud": zoneID, "event": "spring", "sub": token}, nil
}

// TestAVisitMoves: by a ticket one device is inside at a time, in zones with and without a cap, however sessions are renewed. The same
// ticket on another device moves the visit there, and the first device's session is over a minute later; and back again.
func TestAVisitMoves(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*zone.Settings){
		"without a cap":     func(*zone.Settings) {},
		"with a cap of one": func(s *zone.Settings) { s.MaxInside = 1 },
		"without renewals":  func(s *zone.Settings) { s.SessionRenewal = zone.RenewalOff },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRoom(t, 600)
			r.Tickets = ticket.New(guests{}, r.Store, r.Log)
			r.Serve(t)
			r.bare = r.server(roomURL)
			r.public = r.bare
			r.set(func(s *zone.Settings) {
				s.Invitation, s.SessionSeconds = "spring", 1800
				change(s)
			})
			r.Forward(10 * time.Minute) // nobody is inside who came before there was a cap
			join := func() fixture.Document {
				return fixture.Read(t, r.Send("POST", "/traffic/wait", fmt.Sprintf(`{"zoneId":%q,"ticket":"alice"}`, zoneID)))
			}
			// enter begins a session on a device, and returns it.
			enter := func() string {
				t.Helper()
				in := join()
				if again := join(); !in.CanEnter || again.Admission.Pass != in.Admission.Pass {
					t.Fatalf("no pass, or another: %+v, %+v", in, again)
				}
				w := r.askAt(r.bare, "nginx", "GET", "/", site.AppHeader, in.Admission.Pass, site.PlaceHeader, in.Token)
				if w.Code != http.StatusOK || w.Header().Get(site.SessionHeader) == "" {
					t.Fatalf("the pass: %d %v", w.Code, w.Header())
				}
				if too := join(); too.Code != "too_many_requests" {
					t.Errorf("moved at once: %+v", too)
				}
				r.Forward(ticket.MovedAfter)
				return w.Header().Get(site.SessionHeader)
			}
			// goesOn reports whether a device is let through, which keeps its newest session.
			goesOn := func(session *string) bool {
				w := r.askAt(r.bare, "nginx", "GET", "/", with(opens, site.SessionHeader, *session)...)
				if anew := w.Header().Get(site.SessionHeader); anew != "" {
					*session = anew
				}
				if w.Code != http.StatusOK && !strings.Contains(w.Header().Get("Location"), "/wait/SHOP") {
					t.Errorf("%d %v", w.Code, w.Header())
				}
				return w.Code == http.StatusOK
			}
			devices := []string{enter(), "", ""}
			for range 5 {
				r.Forward(time.Minute)
				if !goesOn(&devices[0]) {
					t.Fatal("alone, and refused")
				}
			}
			for i := 1; i < len(devices); i++ {
				devices[i] = enter()
				r.Forward(time.Minute)
				stale := devices[i-1]
				if goesOn(&devices[i-1]) || !goesOn(&devices[i]) {
					t.Errorf("device %d: two go on, or none", i)
				}
				for session, want := range map[string]int{stale: http.StatusGone, devices[i]: http.StatusOK} { // as the edge asks
					if status, _, code := r.post("/traffic/session", "zoneId", zoneID, "session", session); status != want {
						t.Errorf("device %d, at the edge: %d %s", i, status, code)
					}
				}
				if n := r.Stats(t).State.Inside; n > 1 {
					t.Errorf("%d are inside", n)
				}
			}
			r.Forward(2 * time.Hour)
			if d := join(); d.Code != "ticket_used" {
				t.Errorf("after the visit: %+v", d)
			}
		})
	}
}
