package entry

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/refusal"
	"github.com/openqueue/waitingroom/internal/ticket"
	"github.com/openqueue/waitingroom/internal/zone"
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
	Doc: "The place was given up, or not polled for longer than the zone's idle timeout, or its admission has expired: " +
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

// Lines is where a place is polled: the chain of cmd/queue-server. See store.Visitors.
type Lines interface {
	Poll(ctx context.Context, zoneID string, p line.Place) (line.Told, error)
}

// Service answers polls. It is safe for concurrent use.
type Service struct {
	store  Lines
	issuer answer.Issuer
	meter  Meter
	desk   *ticket.Desk
	// admitted may be nil.
	admitted func(zoneID, address string)
}

// New returns the room over this store.
func New(store Lines, issuer answer.Issuer, meter Meter) *Service {
	return &Service{store: store, issuer: issuer, meter: meter}
}

// WithTickets has the room note which tickets were used. It is to be called before the first poll.
func (s *Service) WithTickets(d *ticket.Desk) *Service {
	s.desk = d
	return s
}

// WithNetworks has the room tell who was admitted from which address. It is to be called before the first poll.
func (s *Service) WithNetworks(admitted func(zoneID, address string)) *Service {
	s.admitted = admitted
	return s
}

// Origin finds the address that a poll comes from. Only that of one who is admitted is looked for.
type Origin interface{ RealIP() string }

// Poll says that the visitor is still here, and asks whether it is the
// visitor's turn. It can be repeated: after an admission it returns the same
// admission, with the same pass, until that expires.
//
// It returns a *serve.FieldError or token.ErrInvalid before the store is
// asked, guard.ErrRefused, answer.ErrSoldOut, ErrGone, or an error of the store.
func (s *Service) Poll(ctx context.Context, zoneID, tok string, from Origin) (answer.Answer, error) {
	p, err := s.issuer.Place(zoneID, tok)
	if err != nil {
		return answer.Answer{}, err
	}
	a, err := s.store.Poll(ctx, zoneID, p)
	settings := s.issuer.Zone(zoneID)
	if err == nil {
		err = answer.SoldOut(settings, &a)
	}
	if err == nil {
		err = s.use(ctx, settings, &a)
	}
	s.meter.Poll(zoneID, answer.Outcome(&a, err))
	if err != nil {
		return answer.Answer{}, answer.InZone(zoneID, fmt.Errorf("entry: poll: %w", err))
	}
	switch a.Status {
	case line.Admitted:
		s.meter.Admit(zoneID, answer.Waited(a))
		if s.admitted != nil {
			s.admitted(zoneID, from.RealIP())
		}
	case line.Gone:
		return answer.Answer{}, answer.InZone(zoneID, ErrGone)
	default: // nothing more to count
	}
	out, err := s.issuer.Renew(zoneID, tok, settings, a)
	if err != nil {
		return answer.Answer{}, answer.InZone(zoneID, fmt.Errorf("entry: poll: %w", err))
	}
	return out, nil
}

// use notes that an admitted visitor has used the ticket, in a zone by invitation. The store may not have taken the note of an
// admission that the guard repeats from memory, so use notes it for such an answer, too.
func (s *Service) use(ctx context.Context, z *zone.Settings, a *line.Told) error {
	if z == nil || s.desk == nil || a.Status != line.Admitted && a.Status != line.AdmittedBefore {
		return nil
	}
	if invitation := z.InvitationAt(time.UnixMilli(a.State.NowMillis)); invitation != "" {
		return s.desk.Use(ctx, z.ZoneID, invitation, a.Place.ID)
	}
	return nil
}
