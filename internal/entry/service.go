package entry

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/openqueue/waitingroom/internal/admissionlog/writer"
	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/network"
	"github.com/openqueue/waitingroom/internal/refusal"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/ticket"
	"github.com/openqueue/waitingroom/internal/zones"
)

// ErrGone: the token is genuine, but its place is no more: it was swept, or
// left, or its admission has expired. The visitor has to join again.
var ErrGone = refusal.New("entry: token expired", refusal.Refusal{
	Status: http.StatusGone, Code: "token_expired",
	Title:   "The place is no more",
	Detail:  "It was given up or not polled for too long, or its admission has expired. Join the line again.",
	Page:    refusal.Page{State: "lost"},
	Alert:   "visitors came back after `idleTimeoutSeconds`; if they are many, raise it",
	Readers: refusal.Visitors,
	Doc: "The place was given up, or not polled for longer than the zone keeps places, or its admission has expired: " +
		"join again.",
})

// Meter counts the outcomes of polls. Package problem counts requests that are refused before. A zoneID is well-formed,
// but the zone may have been deleted.
type Meter interface {
	// Poll counts one poll by its outcome, one of answer.Outcomes.
	Poll(zoneID, outcome string)
	// Admit records how long an admitted visitor had waited.
	Admit(zoneID string, waited time.Duration)
}

// Dependencies are what a Service is made of. All but Log are required.
type Dependencies struct {
	Issuer answer.Issuer
	// Tickets notes which tickets were used.
	Tickets *ticket.Verifier
	// Shares counts who was admitted, by the network of the address that Guard counts.
	Shares *network.Shares
	Guard  *guard.Guard
	// Log hears what visitors are told.
	Log   *writer.Log
	Meter Meter
}

// Service answers polls. It is safe for concurrent use.
type Service struct{ Dependencies }

// New returns the room.
func New(d Dependencies) *Service { return &Service{d} }

// Origin finds the address that a poll comes from. Only that of one who is admitted is looked for.
type Origin interface{ RealIP() string }

// Verify returns what a token of the zone carries: see answer.Issuer. No store is asked.
func (s *Service) Verify(zoneID, tok string) (answer.Held, error) {
	return s.Issuer.Verify(zoneID, tok)
}

// Poll says that the visitor who holds a place in the zone is still here, and asks whether it is the
// visitor's turn. It can be repeated: after an admission it returns the same
// admission, with the same pass, until that expires.
//
// It returns guard.ErrRefused, answer.ErrSoldOut, ErrGone, or an error of the store.
func (s *Service) Poll(ctx context.Context, z *zones.Zone, held answer.Held, from Origin) (answer.Answer, error) {
	a, err := z.Poll(ctx, held.Place)
	settings := z.Settings()
	var source netip.Addr
	if err == nil && a.Status == line.Admitted {
		if at, unknown := netip.ParseAddr(from.RealIP()); unknown == nil {
			source = s.Guard.Source(guard.Newcomer{Address: at})
		}
	}
	if err == nil {
		s.Log.Polled(z, held.Place, source, &a)
	}
	if err == nil {
		err = answer.SoldOut(settings, &a)
	}
	if err == nil {
		err = s.visit(ctx, z, held.Place, &a)
	}
	s.Meter.Poll(z.ID(), answer.Outcome(&a, err))
	if err != nil {
		return answer.Answer{}, answer.InZone(z.ID(), fmt.Errorf("entry: poll: %w", err))
	}
	switch a.Status {
	case line.Admitted:
		s.Meter.Admit(z.ID(), answer.Waited(a))
		if source.IsValid() {
			s.Shares.Admit(settings, source)
		}
	case line.Gone:
		return answer.Answer{}, answer.InZone(z.ID(), ErrGone)
	default: // nothing more to count
	}
	out, err := s.Issuer.Renew(settings, held, a)
	if err != nil {
		return answer.Answer{}, answer.InZone(z.ID(), fmt.Errorf("entry: poll: %w", err))
	}
	return out, nil
}

// visit notes that an admitted visitor has used the ticket, in a zone by invitation. The store may not have taken the note of an
// admission that the guard repeats from memory, so visit notes it for such an answer, too. Where the visit has moved to another
// device, the admission is no longer this one's; where it has moved here, the line does not know of it, but the zone knows whether it is
// over.
func (s *Service) visit(ctx context.Context, z *zones.Zone, held line.Place, a *line.Told) error {
	admitted := a.Status == line.Admitted || a.Status == line.AdmittedBefore
	if !admitted && (a.Status != line.Gone || held.AdmittedAtMillis == 0) {
		return nil
	}
	invitation := z.Settings().InvitationAt(time.UnixMilli(a.State.NowMillis))
	if invitation == "" {
		return nil
	}
	var visit store.Visit
	if admitted {
		visit = store.Visit{AtMillis: a.AdmittedAtMillis, UntilMillis: a.ExpiresAtMillis}
	}
	newest, err := s.Tickets.Visit(ctx, z.ID(), invitation, held.ID, visit)
	switch {
	case err != nil:
		return err
	case newest.AtMillis <= visit.AtMillis: // a version before has noted an earlier one without its time
	case newest.AtMillis == held.AdmittedAtMillis && newest.BegunMillis == 0 && a.State.NowMillis < newest.UntilMillis &&
		!z.Over(line.Admission{ID: held.ID, AtMillis: newest.AtMillis}.JTI(z.ID())):
		a.Answer = ticket.Admitted(held.ID, newest, a.State)
	default:
		a.Status = line.Gone
	}
	return nil
}
