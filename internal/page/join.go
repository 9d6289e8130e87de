package page

import (
	"context"
	"errors"
	"net/http"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/entry"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/ticket"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/wait"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

// ask polls the place in the cookie. It joins if there is none, or if that place is of no use any more; with an invitation only if the
// visitor acts, since programs open the links in mails, and would use it up.
func (h *HTTP) ask(r *http.Request, from entry.Origin, z *zones.Zone, s *seat, acts bool) (answer.Answer, error) {
	if s.token != "" {
		a, err := h.poll(r.Context(), z, s.token, from)
		if !errors.Is(err, token.ErrInvalid) && (!s.used || !errors.Is(err, entry.ErrGone)) {
			return a, err
		}
		// The token is another installation's, or signed with an old secret; or its admission has expired.
		*s = s.next()
	}
	shown := readTicket(r, z.ID())
	if shown != "" && !acts && !untimely(z.Settings()) {
		invited, underWay, err := h.wait.Invited(r.Context(), z, shown)
		switch {
		case err != nil:
			return answer.Answer{}, err
		case invited:
			return answer.Answer{}, &invitedError{underWay}
		}
	}
	return h.join(r, from, z, wait.Newcomer{
		Newcomer: guard.Newcomer{ClientID: s.client}, ClientAgent: clientAgent, Ticket: shown,
		Challenge: readUnsolved(r, z.ID()),
	})
}

// poll verifies the token, and polls its place.
func (h *HTTP) poll(ctx context.Context, z *zones.Zone, tok string, from entry.Origin) (answer.Answer, error) {
	held, err := h.entry.Verify(z.ID(), tok)
	if err != nil {
		return answer.Answer{}, err
	}
	return h.entry.Poll(ctx, z, held, from)
}

// join takes a place. Before an event gathers people in a zone that is closed, there is none to take: neither the store nor
// the limits of an address are asked then, since a page that waits for the event joins every few minutes.
func (h *HTTP) join(r *http.Request, from entry.Origin, z *zones.Zone, n wait.Newcomer) (answer.Answer, error) {
	if untimely(z.Settings()) {
		return answer.Answer{}, answer.InZone(z.ID(), wait.ErrClosed)
	}
	return h.wait.Join(r.Context(), z, n.From(from.RealIP(), r.Header))
}

// untimely reports whether there is no place to take before an event gathers people.
func untimely(s *zone.Settings) bool {
	e := s.EventState.Now
	return e != nil && e.Phase == event.PhaseAnnounced && s.Mode == zone.ModeClosed && len(s.SoldOut) == 0
}

// invitedError: the visitor is to press a button before the ticket is used. underWay says that a visit by it goes on elsewhere.
type invitedError struct{ underWay bool }

// Error returns the sentence for a log.
func (*invitedError) Error() string { return "page: an invitation waits for its visitor" }

// ticketPrefix begins the name of the ticket's cookie; the zone follows. It differs from cookiePrefix
// in a character before the zone, so no zone's name makes the two names equal.
const ticketPrefix = "waitingroom_ticket-"

// readTicket returns the visitor's invitation, "" for none.
func readTicket(r *http.Request, zoneID string) string {
	cookie, err := r.Cookie(ticketPrefix + zoneID)
	if err != nil || len(cookie.Value) > ticket.MaxTicket {
		return ""
	}
	return cookie.Value
}
