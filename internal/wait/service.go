package wait

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/challenge"
	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/network"
	"github.com/openqueue/waitingroom/internal/refusal"
	"github.com/openqueue/waitingroom/internal/ticket"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Refusals of a join. Nobody took a place. Compare with errors.Is.
var (
	// ErrClosed: the operator closed the zone to newcomers.
	ErrClosed = refusal.New("wait: zone closed", refusal.Refusal{
		Status: http.StatusLocked, Code: "zone_closed",
		Title:   "The zone takes no newcomers",
		Detail:  "The operator has closed it. Those who wait keep their places.",
		Ordered: true,
		Page:    refusal.Page{State: "closed", AgainSeconds: 30},
		Readers: refusal.Visitors,
		Doc:     "The operator closed the zone to newcomers. Visitors who wait keep their places.",
	})
	// ErrFull: as many wait as the operator allows (maxWaiting).
	ErrFull = refusal.New("wait: line full", refusal.Refusal{
		Status: http.StatusTooManyRequests, Code: "line_full",
		Title:    "The line is full",
		Detail:   "No place was taken. Try again when Retry-After has passed.",
		RetryMin: 5, RetryMax: 10,
		Page: refusal.Page{State: "full", AgainSeconds: 30},
		Alert: "`maxWaiting` is reached. Raise it if there is time to serve them: `queue-server zones set SHOP " +
			"maxWaiting=200000`",
		Readers: refusal.Visitors,
		Doc:     "As many wait as the operator allows (`maxWaiting`). No place was taken.",
	})
)

// Bounds of what a newcomer says, in bytes. Both are far above what real clients send.
const (
	MaxClientID    = 256
	MaxClientAgent = 256
)

// Guard refuses newcomers who ask too much. *guard.Guard does.
type Guard interface {
	Admits(ctx context.Context, z *zone.Settings, n guard.Newcomer) error
	Press(ctx context.Context, n guard.Newcomer, cost int64) (level int)
	Source(n guard.Newcomer) netip.Addr
	Named(n guard.Newcomer) bool
}

// Meter counts the outcomes of joins. Package problem counts requests that are refused before. A zoneID is well-formed,
// but may be invented: the meter must not make a time series of each.
type Meter interface {
	// Join counts one join by its outcome, one of answer.Outcomes.
	Join(zoneID, outcome string)
	// Admit records how long an admitted visitor had waited.
	Admit(zoneID string, waited time.Duration)
}

// Lines is where places are taken: the chain of cmd/queue-server. Its first methods are those of store.Visitors, with
// what the visitor is told.
type Lines interface {
	Join(ctx context.Context, zoneID string, id line.ID) (line.Told, error)
	Poll(ctx context.Context, zoneID string, p line.Place) (line.Told, error)
	Leave(ctx context.Context, zoneID string, p line.Place) error
	Zone(ctx context.Context, zoneID string) (zone.Settings, error)
	// Latest returns a zone's line as it was within StateMaxAge.
	Latest(ctx context.Context, zoneID string) (line.Stats, error)
}

// Service takes and gives up places. It is safe for concurrent use.
type Service struct {
	store  Lines
	guard  Guard
	tokens *token.Keys
	issuer answer.Issuer
	meter  Meter
	desk   *ticket.Desk
	now    func() time.Time

	challenges *challenge.Desk
	shares     *network.Shares
	lined      func(zoneID string) bool
}

// New returns the room over this store, behind this guard. now is the clock by which invitations are in force; a nil now is time.Now.
func New(store Lines, guard Guard, tokens *token.Keys, issuer answer.Issuer, meter Meter, now func() time.Time) *Service {
	if now == nil {
		now = time.Now
	}
	return &Service{store: store, guard: guard, tokens: tokens, issuer: issuer, meter: meter, now: now}
}

// WithTickets has the room take invited visitors alone where a zone's settings say so. It is to be called before the
// first join. Without it, nobody can join such a zone.
func (s *Service) WithTickets(d *ticket.Desk) *Service {
	s.desk = d
	return s
}

// WithChallenges has the room ask for proofs where a zone's settings say so. lined reports whether a newcomer to a zone would
// have to line up, as far as this server remembers. It is to be called before the first join. Without it, nobody is asked.
func (s *Service) WithChallenges(d *challenge.Desk, lined func(zoneID string) bool) *Service {
	s.challenges, s.lined = d, lined
	return s
}

// WithNetworks has the room count joins by network, and hold each network to its share. lined is as that of WithChallenges. It is to
// be called before the first join. Without it, or without a guard, which knows the addresses, nothing is counted.
func (s *Service) WithNetworks(shares *network.Shares, lined func(zoneID string) bool) *Service {
	s.shares, s.lined = shares, lined
	return s
}

// Newcomer is a visitor who asks for a place. All fields but ZoneID are optional.
type Newcomer struct {
	// ZoneID names the zone.
	ZoneID string
	// Of the Newcomer, ClientID has at most MaxClientID bytes. A join that repeats it finds the same place. Nobody else should be
	// able to guess it: it is as good as the token. Address and Forwarded are what From found in the request.
	guard.Newcomer
	// ClientAgent is the kind of client, at most MaxClientAgent bytes.
	ClientAgent string
	// Ticket is looked at where the zone takes invited visitors alone: see package ticket. The place then belongs to
	// the name in the ticket, not to the ClientID.
	Ticket string
	// Challenge is looked at where the zone asks for a proof: a solution or a provider's token, see package challenge.
	Challenge string
}

// check returns a *serve.FieldError for the first field that is out of bounds.
func (n *Newcomer) check() error {
	if err := answer.CheckZoneID(n.ZoneID); err != nil {
		return err
	}
	if err := answer.CheckLength("clientAgent", n.ClientAgent, MaxClientAgent); err != nil {
		return err
	}
	if err := answer.CheckLength("ticket", n.Ticket, ticket.MaxTicket); err != nil {
		return err
	}
	if err := answer.CheckLength("challenge", n.Challenge, challenge.MaxSolution); err != nil {
		return err
	}
	return answer.CheckLength("clientId", n.ClientID, MaxClientID)
}

// Join takes a place for the newcomer, or lets the newcomer straight in. With
// a ClientID it can be repeated: the place and the token are the same each time
// and, once admitted, the pass (the token may then be another for the same
// admission). Without one, each call takes a place of its own.
//
// It returns a *serve.FieldError, network.ErrShare, challenge.ErrRequired, challenge.ErrBusy or guard.ErrRefused before the store is asked,
// answer.ErrSoldOut, ErrClosed, ErrFull, an error of package ticket, or one of the store.
func (s *Service) Join(ctx context.Context, n Newcomer) (answer.Answer, error) {
	if err := n.check(); err != nil {
		return answer.Answer{}, err
	}
	z, err := s.zone(ctx, n.ZoneID)
	var a line.Told
	if err == nil {
		a, err = s.join(ctx, z, n)
	}
	if err == nil {
		err = answer.SoldOut(z, &a)
	}
	s.meter.Join(n.ZoneID, answer.Outcome(&a, err))
	if err != nil {
		return answer.Answer{}, answer.InZone(n.ZoneID, fmt.Errorf("wait: join: %w", err))
	}
	switch a.Status {
	case line.Admitted:
		s.meter.Admit(n.ZoneID, answer.Waited(a))
	case line.Closed:
		return answer.Answer{}, answer.InZone(n.ZoneID, ErrClosed)
	case line.Full:
		return answer.Answer{}, answer.InZone(n.ZoneID, ErrFull)
	default: // nothing more to count
	}
	out, err := s.issuer.Answer(n.ZoneID, z, a)
	if err != nil {
		return answer.Answer{}, answer.InZone(n.ZoneID, fmt.Errorf("wait: join: %w", err))
	}
	return out, nil
}

// zone returns a zone's settings, which the caller must not change. The store is asked only for a zone that this server does not
// know yet.
func (s *Service) zone(ctx context.Context, zoneID string) (*zone.Settings, error) {
	if z := s.issuer.Zone(zoneID); z != nil {
		return z, nil
	}
	z, err := s.store.Zone(ctx, zoneID)
	return &z, err
}

// join takes a place for the newcomer, if its network has less than its share.
func (s *Service) join(ctx context.Context, z *zone.Settings, n Newcomer) (a line.Told, err error) {
	joining, err := s.share(z, n)
	if err != nil {
		return s.again(ctx, z, n, joining)
	}
	defer func() { joining.End(counts(&a, err)) }()
	return s.take(ctx, z, n)
}

// take asks the store for a place under the newcomer's id.
func (s *Service) take(ctx context.Context, z *zone.Settings, n Newcomer) (line.Told, error) {
	asked, proof, err := s.prove(ctx, z, n)
	if err != nil {
		return line.Told{}, err
	}
	who := n.Newcomer
	if proof != nil && who.ClientID == "" {
		who.ClientID = string(proof.ID[:])
	}
	if err := s.guard.Admits(ctx, z, who); err != nil {
		return line.Told{}, err
	}
	if proof != nil {
		return s.joinProved(ctx, asked, *proof)
	}
	if invitation := z.InvitationAt(s.now()); invitation != "" {
		return s.joinInvited(ctx, n, invitation)
	}
	if n.ClientID == "" {
		return s.store.Join(ctx, n.ZoneID, token.NewID())
	}
	return s.store.Join(ctx, n.ZoneID, s.tokens.VisitorID(n.ZoneID, n.ClientID))
}

// Displaces reports whether a ticket that a visitor is handed goes in the place of the one it has: unless only the
// one that it has is good. Where no invitation is in force or known now, a ticket for any event of the zone is good.
func (s *Service) Displaces(ctx context.Context, zoneID, handed, has string) bool {
	if has == "" || s.desk == nil {
		return true
	}
	var invitation string
	if z, err := s.zone(ctx, zoneID); err == nil {
		invitation = z.InvitationAt(s.now())
	}
	if _, err := s.desk.Name(handed, zoneID, invitation); err == nil {
		return true
	}
	_, err := s.desk.Name(has, zoneID, invitation)
	return err != nil
}

// joinInvited asks the store for the one place of a ticket.
func (s *Service) joinInvited(ctx context.Context, n Newcomer, invitation string) (line.Told, error) {
	if s.desk == nil {
		return line.Told{}, ticket.ErrMissing
	}
	name, err := s.desk.Name(n.Ticket, n.ZoneID, invitation)
	if err != nil {
		return line.Told{}, err
	}
	id := s.tokens.VisitorID(ticket.VisitorName(n.ZoneID, invitation, name))
	used, err := s.desk.Used(ctx, n.ZoneID, invitation, id)
	if err != nil {
		return line.Told{}, err
	}
	if used {
		// A used ticket is good for the same admission while that lasts, and never for another place.
		// The log of admissions goes by the id alone.
		a, err := s.store.Poll(ctx, n.ZoneID, line.Place{ID: id, ArrivedAtMicros: line.AnyArrival})
		if err == nil && a.Status != line.AdmittedBefore {
			err = ticket.ErrUsed
		}
		return a, err
	}
	a, err := s.store.Join(ctx, n.ZoneID, id)
	if err == nil && (a.Status == line.Waiting || a.Status == line.Admitted) {
		s.desk.Joined(ctx, n.ZoneID, invitation, name, a.Place.ID)
	}
	if err == nil && (a.Status == line.Admitted || a.Status == line.AdmittedBefore) {
		err = s.desk.Use(ctx, n.ZoneID, invitation, a.Place.ID)
	}
	return a, err
}

// Leave gives up the place that the token stands for. It can be repeated: a place that is already gone is no error. It
// returns a *serve.FieldError or token.ErrInvalid before the store is asked, or an error of the store.
func (s *Service) Leave(ctx context.Context, zoneID, tok string) error {
	p, err := s.issuer.Place(zoneID, tok)
	if err != nil {
		return err
	}
	if err := s.store.Leave(ctx, zoneID, p); err != nil {
		return answer.InZone(zoneID, fmt.Errorf("wait: leave: %w", err))
	}
	return nil
}
