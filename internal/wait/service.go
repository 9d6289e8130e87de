package wait

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/openqueue/waitingroom/internal/admissionlog/writer"
	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/challenge"
	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/network"
	"github.com/openqueue/waitingroom/internal/refusal"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/ticket"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
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
	// ErrTooLong: a newcomer would wait for longer than the operator allows (maxWaitMinutes).
	ErrTooLong = refusal.New("wait: the wait is too long", refusal.Refusal{
		Status: http.StatusTooManyRequests, Code: "wait_too_long",
		Title:    "The wait is too long",
		Detail:   "No place was taken. Try again when Retry-After has passed.",
		RetryMin: leastLater, RetryMax: mostLater,
		Ordered: true,
		Page:    refusal.Page{State: "tooLong"},
		Alert: "newcomers would wait for longer than `maxWaitMinutes`. Raise `perMinute` if the service bears it, or the bound: " +
			"`queue-server zones set SHOP maxWaitMinutes=60`",
		Readers: refusal.Visitors,
		Doc: "A newcomer would wait for longer than the operator allows (`maxWaitMinutes`). No place was taken; whoever has a place keeps " +
			"it. `Retry-After` is when the wait is likely to be short enough.",
	})
)

// Bounds of Retry-After while the wait is too long, in seconds. A line can grow shorter sooner than it moves, when visitors leave or
// the operator raises the limit: so nobody is told to stay away for longer than mostLater.
const (
	leastLater = 5
	mostLater  = 300
)

// TooLongError is ErrTooLong, with when the wait is likely to be short enough.
type TooLongError struct{ retrySeconds int }

// tooLong returns the error for a newcomer who would wait for so long, where most is allowed. A line that takes no newcomers
// grows shorter by a minute a minute. Up to a quarter more, and at least 5 s, spread those who were refused at one moment.
func tooLong(wait, most time.Duration) *TooLongError {
	const share = 4
	seconds := int(min((wait-most+time.Second-1)/time.Second, mostLater*share/(share+1)))
	seconds = max(leastLater, seconds)
	return &TooLongError{retrySeconds: seconds + rand.IntN(max(leastLater, seconds/share)+1)}
}

// Error returns the sentence for a log.
func (e *TooLongError) Error() string { return ErrTooLong.Error() }

// RetryAfterSeconds is in how many seconds the wait is likely to be short enough: 5 to 300.
func (e *TooLongError) RetryAfterSeconds() int { return e.retrySeconds }

// Unwrap returns ErrTooLong.
func (e *TooLongError) Unwrap() error { return ErrTooLong }

// Bounds of what a newcomer says, in bytes. Both are far above what real clients send.
const (
	MaxClientID    = 256
	MaxClientAgent = 256
)

// Meter counts the outcomes of joins. Package problem counts requests that are refused before. A zoneID is well-formed,
// but may be invented: the meter must not make a time series of each.
type Meter interface {
	// Join counts one join by its outcome, one of answer.Outcomes.
	Join(zoneID, outcome string)
	// Admit records how long an admitted visitor had waited.
	Admit(zoneID string, waited time.Duration)
}

// Dependencies are what a Service is made of. All but Log and Now are required.
type Dependencies struct {
	Guard  *guard.Guard
	Tokens *token.Keys
	Issuer answer.Issuer
	// Tickets checks tickets, where a zone takes invited visitors alone.
	Tickets *ticket.Verifier
	// Challenges checks proofs, where a zone asks for them.
	Challenges *challenge.Checker
	// Shares counts joins by network, and holds each network to its share.
	Shares *network.Shares
	// Log hears what visitors are told, and who leaves.
	Log   *writer.Log
	Meter Meter
	// Now is the clock by which invitations are in force. It defaults to time.Now.
	Now func() time.Time
}

// Service takes and gives up places. It is safe for concurrent use.
type Service struct{ Dependencies }

// New returns the room.
func New(d Dependencies) *Service {
	if d.Now == nil {
		d.Now = time.Now
	}
	return &Service{d}
}

// Newcomer is a visitor who asks for a place. All fields are optional.
type Newcomer struct {
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
// answer.ErrSoldOut, ErrClosed, ErrFull, a *TooLongError, an error of package ticket, or one of the store.
func (s *Service) Join(ctx context.Context, z *zones.Zone, n Newcomer) (answer.Answer, error) {
	a, err := s.Take(ctx, z, n)
	if err != nil {
		return answer.Answer{}, err
	}
	out, err := s.Issuer.Answer(z.Settings(), a)
	if err != nil {
		return answer.Answer{}, answer.InZone(z.ID(), fmt.Errorf("wait: join: %w", err))
	}
	return out, nil
}

// Take is Join for a caller that needs neither the token nor the pass.
func (s *Service) Take(ctx context.Context, z *zones.Zone, n Newcomer) (line.Told, error) {
	if err := n.check(); err != nil {
		return line.Told{}, err
	}
	j := join{Service: s, zone: z, settings: z.Settings(), Newcomer: n}
	a, err := j.do(ctx)
	if err == nil {
		if s.Log != nil && !j.moved {
			s.Log.Joined(z, s.Guard.Source(n.Newcomer), &a)
		}
		err = answer.SoldOut(j.settings, &a)
	}
	s.Meter.Join(z.ID(), answer.Outcome(&a, err))
	if err == nil {
		switch a.Status {
		case line.Admitted:
			s.Meter.Admit(z.ID(), answer.Waited(a))
		case line.Closed:
			return line.Told{}, answer.InZone(z.ID(), ErrClosed)
		case line.Full:
			return line.Told{}, answer.InZone(z.ID(), ErrFull)
		case line.TooLong:
			return line.Told{}, answer.InZone(z.ID(), tooLong(time.Duration(a.WaitMillis)*time.Millisecond, j.settings.MaxWait()))
		default: // nothing more to count
		}
		return a, nil
	}
	return line.Told{}, answer.InZone(z.ID(), fmt.Errorf("wait: join: %w", err))
}

// join is a join under way. It goes by the settings that were in force when it began.
type join struct {
	*Service
	zone     *zones.Zone
	settings *zone.Settings
	Newcomer
	joining *network.Join
	// moved: the visit by a ticket has moved. The store has let nobody in.
	moved bool
}

// do takes a place for the newcomer, if its network has less than its share.
func (j *join) do(ctx context.Context) (a line.Told, err error) {
	if err := j.share(); err != nil {
		return j.again(ctx)
	}
	newest := j.zone.LastArrivalMicros()
	defer func() { j.end(&a, err, newest) }()
	return j.take(ctx)
}

// take asks the store for a place under the newcomer's id.
func (j *join) take(ctx context.Context) (line.Told, error) {
	if a, found := j.known(ctx); found {
		return a, nil
	}
	asked, proof, err := j.prove(ctx)
	if err != nil {
		return line.Told{}, err
	}
	who := j.Newcomer.Newcomer
	if proof != nil && who.ClientID == "" {
		who.ClientID = string(proof.ID[:])
	}
	if err := j.Guard.Admits(ctx, j.settings, who); err != nil {
		return line.Told{}, err
	}
	if proof != nil {
		return j.takeProved(ctx, asked, *proof)
	}
	if invitation := j.settings.InvitationAt(j.Now()); invitation != "" {
		return j.takeInvited(ctx, invitation)
	}
	if j.ClientID == "" {
		return j.zone.Join(ctx, token.NewID())
	}
	return j.zone.Join(ctx, j.Tokens.VisitorID(j.zone.ID(), j.ClientID))
}

// Displaces reports whether a ticket that a visitor is handed goes in the place of the one it has: unless only the
// one that it has is good. Where no invitation is in force, or z is nil because the zone is not known now, a ticket for any
// event of the zone is good.
func (s *Service) Displaces(zoneID string, z *zones.Zone, handed, has string) bool {
	if has == "" {
		return true
	}
	var invitation string
	if z != nil {
		invitation = z.Settings().InvitationAt(s.Now())
	}
	if _, err := s.Tickets.Name(handed, zoneID, invitation); err == nil {
		return true
	}
	_, err := s.Tickets.Name(has, zoneID, invitation)
	return err != nil
}

// invitee is who is named in a ticket for the invitation that is in force.
type invitee struct {
	invitation, name string
	id               line.ID
	// visit is the newest by the ticket, the zero value before the first.
	visit store.Visit
}

// invitee returns who is named in a ticket. The error is one of package ticket, or of the store.
func (s *Service) invitee(ctx context.Context, zoneID, invitation, shown string) (who invitee, err error) {
	who.invitation = invitation
	if who.name, err = s.Tickets.Name(shown, zoneID, invitation); err != nil {
		return who, err
	}
	who.id = s.Tokens.VisitorID(ticket.VisitorName(zoneID, invitation, who.name))
	who.visit, err = s.Tickets.Visit(ctx, zoneID, invitation, who.id, store.Visit{})
	return who, err
}

// Invited reports whether visitors need an invitation to join a zone now, and whether a visit by the ticket goes on. It takes no
// place, and uses nothing. The error is one of package ticket, answer.ErrSoldOut, or one of the store.
func (s *Service) Invited(ctx context.Context, z *zones.Zone, shown string) (invited, underWay bool, err error) {
	now := s.Now()
	invitation := z.Settings().InvitationAt(now)
	if invitation == "" {
		return false, false, nil
	}
	who, err := s.invitee(ctx, z.ID(), invitation, shown)
	switch {
	case err != nil:
	case who.visit == store.Visit{}:
		err = answer.SoldOut(z.Settings(), &line.Told{})
	case who.visit.UntilMillis <= now.UnixMilli():
		err = ticket.ErrUsed
	}
	if err != nil {
		return true, false, answer.InZone(z.ID(), err)
	}
	return true, who.visit != store.Visit{}, nil
}

// takeInvited asks the store for the one place of a ticket.
func (j *join) takeInvited(ctx context.Context, invitation string) (line.Told, error) {
	zoneID := j.zone.ID()
	who, err := j.invitee(ctx, zoneID, invitation, j.Ticket)
	switch {
	case err != nil:
		return line.Told{}, err
	case who.visit != store.Visit{}:
		return j.visitAgain(ctx, who)
	}
	a, err := j.zone.Join(ctx, who.id)
	if err == nil && (a.Status == line.Waiting || a.Status == line.Admitted) {
		j.Tickets.Joined(ctx, zoneID, invitation, who.name, a.Place.ID)
	}
	if err == nil && (a.Status == line.Admitted || a.Status == line.AdmittedBefore) {
		_, err = j.Tickets.Visit(ctx, zoneID, invitation, who.id, store.Visit{AtMillis: a.AdmittedAtMillis, UntilMillis: a.ExpiresAtMillis})
	}
	return a, err
}

// visitAgain answers a join with a used ticket: with the same pass while nobody has used that, and with one for this device while
// the visit goes on elsewhere, which ends there. It never takes another place.
func (j *join) visitAgain(ctx context.Context, who invitee) (line.Told, error) {
	// The log of admissions goes by the id alone.
	a, err := j.zone.Poll(ctx, line.Place{ID: who.id, ArrivedAtMicros: line.AnyArrival})
	if err != nil {
		return a, err
	}
	visit, now := who.visit, j.Now().UnixMilli()
	same := a.Status == line.AdmittedBefore && (a.AdmittedAtMillis == visit.AtMillis || visit.UntilMillis == 0)
	since := time.Duration(now-visit.BegunMillis) * time.Millisecond
	switch {
	case visit.BegunMillis == 0 && same:
		return a, nil
	case visit.UntilMillis <= now, j.zone.Over(line.Admission{ID: who.id, AtMillis: visit.AtMillis}.JTI(j.zone.ID())):
		return line.Told{}, ticket.ErrUsed // it was given up, or revoked
	case visit.BegunMillis > 0 && since < ticket.MovedAfter:
		return line.Told{}, &guard.RefusedError{RetryMillis: (ticket.MovedAfter - max(0, since)).Milliseconds()}
	case visit.BegunMillis > 0:
		ttl := j.settings.PassTTL()
		visit = store.Visit{AtMillis: visit.AtMillis + 1, UntilMillis: now + ttl.Milliseconds()}
		over, err := j.zone.Move(ctx, line.Admission{ID: who.id, AtMillis: visit.AtMillis}, ttl)
		if over {
			err = ticket.ErrUsed
		}
		if err == nil {
			visit, err = j.Tickets.Visit(ctx, j.zone.ID(), who.invitation, who.id, visit)
		}
		if err != nil {
			return line.Told{}, err
		}
	}
	j.moved = true
	return line.Told{Answer: ticket.Admitted(who.id, visit, a.State)}, nil
}

// Leave gives up the place that the visitor holds. It can be repeated: a place that is already gone is no error. It
// returns guard.ErrRefused or an error of the store.
func (s *Service) Leave(ctx context.Context, z *zones.Zone, held answer.Held) error {
	if err := z.Leave(ctx, held.Place); err != nil {
		return answer.InZone(z.ID(), fmt.Errorf("wait: leave: %w", err))
	}
	s.Log.Left(z, held.Place, false)
	s.Used(z.ID(), line.Admission{ID: held.Place.ID, AtMillis: held.Place.AdmittedAtMillis}.JTI(z.ID()))
	return nil
}
