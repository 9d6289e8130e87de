package wait_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/ticket"
	"github.com/openqueue/waitingroom/internal/zone"
)

// shop reads tickets that are names, but for one that it did not sign.
type shop struct{}

func (shop) Claims(token string) (jwt.MapClaims, error) {
	if token == "forged" {
		return nil, jwt.ErrTokenSignatureInvalid
	}
	event, name, _ := strings.Cut(token, "/")
	return jwt.MapClaims{"aud": zoneID, "event": event, "sub": name}, nil
}

// inviting has the room take who is invited to the spring sale.
func (r *room) inviting(t *testing.T) {
	t.Helper()
	r.tickets = ticket.New(shop{}, r.store, slog.New(slog.DiscardHandler))
	r.serve(t)
	r.set(t, func(s *zone.Settings) { s.Invitation = "spring" })
}

func (r *room) show(clientID, shown string) *httptest.ResponseRecorder {
	return r.send("POST", "/traffic/wait", fmt.Sprintf(`{"zoneId":%q,"clientId":%q,"ticket":%q}`, zoneID, clientID, shown))
}

// TestJoinByInvitation: one place and one admission a ticket, whatever else a client says.
func TestJoinByInvitation(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.inviting(t)
	r.show("c", "spring/first")
	present := read(t, r.show("phone", "spring/alice"))
	again := read(t, r.show("laptop", "spring/alice"))
	other := read(t, r.show("phone", "spring/bob"))
	if present.Waiting == nil || r.place(t, again.Token) != r.place(t, present.Token) || other.Waiting == nil || other.Waiting.Position != 2 {
		t.Fatalf("%+v, %+v, %+v", present, again, other)
	}
	before := r.stats(t)
	for shown, code := range map[string]string{"": "ticket_missing", "forged": "ticket_invalid", "autumn/alice": "ticket_invalid", "spring/": "ticket_invalid"} {
		if w := r.show("c-1", shown); w.Code != http.StatusForbidden || read(t, w).Code != code {
			t.Errorf("%q: got %d %s", shown, w.Code, w.Body)
		}
	}
	if after := r.stats(t); !reflect.DeepEqual(after, before) {
		t.Errorf("the zone changed from %+v to %+v", before, after)
	}
	// Who gave the place up takes another, and who was admitted has used the ticket, which is looked at before a place is taken.
	r.leave(present.Token)
	if d := read(t, r.show("phone", "spring/alice")); d.Waiting == nil || d.Waiting.Position != 2 {
		t.Errorf("after leaving: %+v", d)
	}
	in := r.show("phone", "spring/first")
	if w := r.show("tablet", "spring/first"); !read(t, in).CanEnter || read(t, w).Admission.Pass != read(t, in).Admission.Pass {
		t.Errorf("got %s, then %s", in.Body, w.Body)
	} else if r.place(t, read(t, w).Token).ID != r.place(t, read(t, in).Token).ID {
		t.Errorf("the tokens of one admission are of two visitors: %s, then %s", in.Body, w.Body)
	}
	bob := r.place(t, other.Token)
	if err := r.tickets.Use(t.Context(), zoneID, "spring", bob.ID); err != nil { // as the room of polls does
		t.Fatal(err)
	}
	r.clock.forward(301 * time.Second)
	before = r.stats(t)
	for _, name := range []string{"spring/first", "spring/first"} {
		if w := r.show("c", name); w.Code != http.StatusForbidden || read(t, w).Code != "ticket_used" {
			t.Errorf("%s: got %d %s", name, w.Code, w.Body)
		}
	}
	if after := r.stats(t); after.Totals.Joined != before.Totals.Joined {
		t.Errorf("%d took a place", after.Totals.Joined-before.Totals.Joined)
	}
	// A clientId is nobody's ticket, and without an invitation a ticket is nothing.
	r.set(t, func(s *zone.Settings) { s.Invitation = "" })
	if a, b := read(t, r.show("spring\nalice", "forged")), read(t, r.join("spring\nalice")); a.Token == "" || r.place(t, a.Token).ID != r.place(t, b.Token).ID ||
		r.place(t, a.Token).ID == r.place(t, present.Token).ID {
		t.Errorf("%+v, %+v", a, b)
	}
}

// TestNobodyIsInvited: a server without a desk lets nobody into a zone by invitation.
func TestNobodyIsInvited(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.set(t, func(s *zone.Settings) { s.Invitation = "spring" })
	if w := r.show("c", "spring/alice"); w.Code != http.StatusForbidden {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

// TestEventByInvitation: from the gathering on nobody joins without a ticket, also while no server has made the step
// that sets the invitation. Before, and while the step is held, it is as the zone says.
func TestEventByInvitation(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.inviting(t)
	at := func(in time.Duration) string { return r.clock.Now().Add(in).Format(time.RFC3339Nano) }
	r.set(t, func(s *zone.Settings) {
		s.Invitation = ""
		s.Events = []event.Event{{
			Name: "sale", Order: event.OrderArrival, PreQueueAt: at(time.Minute), OpensAt: at(time.Hour),
			Settings: event.Values{"invitation": "spring"},
		}}
		next, _, ok := s.Due(r.clock.Now(), nil)
		if !ok {
			t.Fatal("the event is not announced")
		}
		*s = next
	})
	if w := r.join("early"); w.Code != http.StatusOK {
		t.Errorf("a minute before: got %d %s", w.Code, w.Body)
	}
	r.clock.forward(time.Minute)
	if w := r.join("c"); read(t, w).Code != "ticket_missing" {
		t.Errorf("people gather, and the step is not made: got %d %s", w.Code, w.Body)
	}
	if w := r.show("c", "spring/alice"); w.Code != http.StatusOK {
		t.Errorf("with a ticket: got %d %s", w.Code, w.Body)
	}
	r.set(t, func(s *zone.Settings) {
		now := r.clock.Now()
		held, fault := s.EventState.Hold(event.StepPreQueue, now.Add(-time.Minute))
		if fault != "" {
			t.Fatal(fault)
		}
		s.EventState = held
	})
	if w := r.join("c"); w.Code != http.StatusOK {
		t.Errorf("the gathering is held: got %d %s", w.Code, w.Body)
	}
}
