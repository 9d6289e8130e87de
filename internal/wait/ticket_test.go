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

	"github.com/openqueue/waitingroom/internal/check/room"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/store"
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
func (r *server) inviting(t *testing.T) {
	t.Helper()
	r.Tickets = ticket.New(shop{}, r.Store, slog.New(slog.DiscardHandler))
	r.Serve(t)
	r.Set(t, func(s *zone.Settings) { s.Invitation = "spring" })
}

func (r *server) show(clientID, shown string) *httptest.ResponseRecorder {
	return r.Send("POST", "/traffic/wait", fmt.Sprintf(`{"zoneId":%q,"clientId":%q,"ticket":%q}`, zoneID, clientID, shown))
}

// TestJoinByInvitation: one place and one admission a ticket, whatever else a client says.
func TestJoinByInvitation(t *testing.T) {
	t.Parallel()
	r := newServer(t)
	r.inviting(t)
	r.show("c", "spring/first")
	present := room.Read(t, r.show("phone", "spring/alice"))
	again := room.Read(t, r.show("laptop", "spring/alice"))
	other := room.Read(t, r.show("phone", "spring/bob"))
	if present.Waiting == nil || r.Place(t, again.Token) != r.Place(t, present.Token) || other.Waiting == nil || other.Waiting.Position != 2 {
		t.Fatalf("%+v, %+v, %+v", present, again, other)
	}
	before := r.Stats(t)
	for shown, code := range map[string]string{"": "ticket_missing", "forged": "ticket_invalid", "autumn/alice": "ticket_invalid", "spring/": "ticket_invalid"} {
		if w := r.show("c-1", shown); w.Code != http.StatusForbidden || room.Read(t, w).Code != code {
			t.Errorf("%q: got %d %s", shown, w.Code, w.Body)
		}
	}
	if after := r.Stats(t); !reflect.DeepEqual(after, before) {
		t.Errorf("the zone changed from %+v to %+v", before, after)
	}
	// Who gave the place up takes another, and who was admitted has used the ticket, which is looked at before a place is taken.
	r.Leave(present.Token)
	if d := room.Read(t, r.show("phone", "spring/alice")); d.Waiting == nil || d.Waiting.Position != 2 {
		t.Errorf("after leaving: %+v", d)
	}
	in := r.show("phone", "spring/first")
	if w := r.show("tablet", "spring/first"); !room.Read(t, in).CanEnter || room.Read(t, w).Admission.Pass != room.Read(t, in).Admission.Pass {
		t.Errorf("got %s, then %s", in.Body, w.Body)
	} else if r.Place(t, room.Read(t, w).Token).ID != r.Place(t, room.Read(t, in).Token).ID {
		t.Errorf("the tokens of one admission are of two visitors: %s, then %s", in.Body, w.Body)
	}
	bob := r.Place(t, other.Token)
	used := store.Visit{AtMillis: r.Now().UnixMilli(), UntilMillis: r.Now().UnixMilli() + 1}
	_, err := r.Tickets.Visit(t.Context(), zoneID, "spring", bob.ID, used) // as the room of polls does
	room.Must(t, err)
	r.Forward(301 * time.Second)
	before = r.Stats(t)
	for _, name := range []string{"spring/first", "spring/bob"} {
		if w := r.show("c", name); w.Code != http.StatusForbidden || room.Read(t, w).Code != "ticket_used" {
			t.Errorf("%s: got %d %s", name, w.Code, w.Body)
		}
	}
	if after := r.Stats(t); after.Totals.Joined != before.Totals.Joined {
		t.Errorf("%d took a place", after.Totals.Joined-before.Totals.Joined)
	}
	// A clientId is nobody's ticket, and without an invitation a ticket is nothing.
	r.Set(t, func(s *zone.Settings) { s.Invitation = "" })
	if a, b := room.Read(t, r.show("spring\nalice", "forged")), room.Read(t, r.Join("spring\nalice")); a.Token == "" || r.Place(t, a.Token).ID != r.Place(t, b.Token).ID ||
		r.Place(t, a.Token).ID == r.Place(t, present.Token).ID {
		t.Errorf("%+v, %+v", a, b)
	}
}

// TestNobodyIsInvited: a server without keys of tickets lets nobody into a zone by invitation.
func TestNobodyIsInvited(t *testing.T) {
	t.Parallel()
	r := newServer(t)
	r.Set(t, func(s *zone.Settings) { s.Invitation = "spring" })
	if w := r.show("c", "spring/alice"); w.Code != http.StatusForbidden {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

// TestEventByInvitation: from the gathering on nobody joins without a ticket, also while no server has made the step
// that sets the invitation. Before, and while the step is held, it is as the zone says.
func TestEventByInvitation(t *testing.T) {
	t.Parallel()
	r := newServer(t)
	r.inviting(t)
	at := func(in time.Duration) string { return r.Now().Add(in).Format(time.RFC3339Nano) }
	r.Set(t, func(s *zone.Settings) {
		s.Invitation = ""
		s.Events = []event.Event{{
			Name: "sale", Order: event.OrderArrival, PreQueueAt: at(time.Minute), OpensAt: at(time.Hour),
			Settings: event.Values{"invitation": "spring"},
		}}
		next, _, ok := s.Due(r.Now(), nil)
		if !ok {
			t.Fatal("the event is not announced")
		}
		*s = next
	})
	if w := r.Join("early"); w.Code != http.StatusOK {
		t.Errorf("a minute before: got %d %s", w.Code, w.Body)
	}
	r.Forward(time.Minute)
	if w := r.Join("c"); room.Read(t, w).Code != "ticket_missing" {
		t.Errorf("people gather, and the step is not made: got %d %s", w.Code, w.Body)
	}
	if w := r.show("c", "spring/alice"); w.Code != http.StatusOK {
		t.Errorf("with a ticket: got %d %s", w.Code, w.Body)
	}
	r.Set(t, func(s *zone.Settings) {
		now := r.Now()
		held, fault := s.EventState.Hold(event.StepPreQueue, now.Add(-time.Minute))
		if fault != "" {
			t.Fatal(fault)
		}
		s.EventState = held
	})
	if w := r.Join("c"); w.Code != http.StatusOK {
		t.Errorf("the gathering is held: got %d %s", w.Code, w.Body)
	}
}

// TestLeftByTicket: whoever gives up an admission that the cap counts has used the ticket. The slot is another's, so the pass is not given out again.
func TestLeftByTicket(t *testing.T) {
	t.Parallel()
	r := newServer(t)
	r.inviting(t)
	r.Set(t, func(s *zone.Settings) { s.MaxInside = 1 })
	r.Forward(5 * time.Second) // until then the store counts those who may have come before
	in := room.Read(t, r.show("phone", "spring/alice"))
	if !in.CanEnter {
		t.Fatalf("%+v", in)
	}
	r.Leave(in.Token)
	r.Forward(7 * time.Second) // a window
	if w := r.show("phone", "spring/bob"); !room.Read(t, w).CanEnter {
		t.Errorf("the slot is not given to another: %s", w.Body)
	}
	if w := r.show("phone", "spring/alice"); room.Read(t, w).Code != "ticket_used" {
		t.Errorf("who left is told %d %s", w.Code, w.Body)
	}
	if w := r.Poll(in.Token); room.Read(t, w).Code != "token_expired" {
		t.Errorf("who left polls, and is told %d %s", w.Code, w.Body)
	}
}
