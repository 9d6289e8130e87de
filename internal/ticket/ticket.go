package ticket

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"

	"github.com/golang-jwt/jwt/v5"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/line"
)

// Refusals of a join. Nobody took a place. Compare with errors.Is.
var (
	// ErrMissing: the zone requires a ticket, and the request has none.
	ErrMissing = errors.New("ticket: missing")
	// ErrInvalid: the ticket is no good for this zone and invitation. An InvalidError says why.
	ErrInvalid = errors.New("ticket: invalid")
	// ErrUsed: the ticket's visitor was let in before, and that admission has expired.
	ErrUsed = errors.New("ticket: used")
)

// InvalidError is ErrInvalid, with what is wrong, in a sentence for a person.
type InvalidError struct{ Reason string }

// Error returns the sentence for a log.
func (e *InvalidError) Error() string { return ErrInvalid.Error() + ": " + e.Reason }

// Unwrap returns ErrInvalid.
func (e *InvalidError) Unwrap() error { return ErrInvalid }

const (
	// Policy names the limits policy by which a ticket can be used once.
	Policy = "tickets"
	// remembered is for how many seconds a use is remembered: the longest window that a rule may have.
	remembered = limit.MaxWindowSeconds
	// MaxTicket is the longest ticket, in bytes. A body has at most 4,096.
	MaxTicket = 3_072
	// maxName is the longest name in a ticket, in bytes.
	maxName = 200
)

// Policies returns the policy as it is made when absent.
func Policies() []limit.Policy {
	return []limit.Policy{{
		Name: Policy, Rules: []limit.Rule{{Algorithm: limit.SlidingLog, Limit: 1, WindowSeconds: remembered}},
		OnStoreFailure: limit.FailureLocal,
	}}
}

// Keys verifies JSON Web Tokens and returns their claims. *identity.Finder does.
type Keys interface {
	Claims(token string) (jwt.MapClaims, error)
}

// Limits counts the uses of tickets. *limiter.Limiter does.
type Limits interface {
	Check(ctx context.Context, q limiter.Question) (limiter.Answer, error)
}

// Desk checks tickets. Its methods may be called from any number of goroutines.
type Desk struct {
	keys   Keys
	limits Limits
	log    *slog.Logger
}

// New returns a desk. Without keys, every ticket is invalid.
func New(keys Keys, limits Limits, log *slog.Logger) *Desk { return &Desk{keys, limits, log} }

// Name returns the name in a ticket for the zone's invitation. With no invitation, "", a ticket for any event
// of the zone is good. The error is ErrMissing or an *InvalidError.
func (d *Desk) Name(ticket, zoneID, invitation string) (string, error) {
	switch {
	case ticket == "":
		return "", ErrMissing
	case d.keys == nil:
		return "", &InvalidError{"This server has no keys to check tickets with."}
	}
	claims, err := d.keys.Claims(ticket)
	switch {
	case errors.Is(err, jwt.ErrTokenExpired):
		return "", &InvalidError{"It has expired."}
	case errors.Is(err, jwt.ErrTokenNotValidYet):
		return "", &InvalidError{"It is not valid yet."}
	case err != nil:
		return "", &InvalidError{"It was not signed by who invites."}
	}
	audience, err := claims.GetAudience()
	if err != nil || !slices.Contains(audience, zoneID) {
		return "", &InvalidError{"It is for another zone."}
	}
	if event, _ := claims["event"].(string); invitation != "" && event != invitation {
		return "", &InvalidError{"It is for another event."}
	}
	claim := claims["sub"]
	if claim == nil || claim == "" { // a bad sub is refused below: falling back to jti would give one person many places
		claim = claims["jti"]
	}
	name, _ := claim.(string)
	if number, is := claim.(json.Number); is {
		name = number.String()
	}
	if name != "" && len(name) <= maxName {
		return name, nil
	}
	return "", &InvalidError{"It names nobody."}
}

// VisitorName returns what the visitor's id is made of, in place of zone and clientId. No zone's name has a space, so
// nobody can get the same id by choosing a clientId. No invitation has a line break, so it is never in doubt where it
// ends.
func VisitorName(zoneID, invitation, name string) (zone, client string) {
	return "ticket of " + zoneID, invitation + "\n" + name
}

// Joined notes in the log who took a place with a ticket.
func (d *Desk) Joined(ctx context.Context, zoneID, invitation, name string, id line.ID) {
	d.log.InfoContext(ctx, "joined by ticket", "zone", zoneID, "invitation", invitation, "name", name, "visitor", hex.EncodeToString(id[:]))
}

// Use notes that the visitor was let in. It can be repeated. It goes on after ctx ends: a visitor who hangs up meanwhile
// has the admission all the same.
func (d *Desk) Use(ctx context.Context, zoneID, invitation string, id line.ID) {
	if _, err := d.limits.Check(context.WithoutCancel(ctx), question(zoneID, invitation, id)); err != nil {
		d.log.ErrorContext(ctx, "the use of a ticket could not be counted", "zone", zoneID, "error", err)
	}
}

// Used reports whether the visitor was let in within the last day; false if that cannot be found out. It goes on after
// ctx ends: else a visitor could get false by hanging up.
func (d *Desk) Used(ctx context.Context, zoneID, invitation string, id line.ID) bool {
	q := question(zoneID, invitation, id)
	q.Look = true
	a, err := d.limits.Check(context.WithoutCancel(ctx), q)
	return err == nil && !a.Allowed
}

func question(zoneID, invitation string, id line.ID) limiter.Question {
	return limiter.Question{Policy: Policy, Once: true, Key: "ticket:" + zoneID + "/" + invitation + "/" + hex.EncodeToString(id[:])}
}
