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
	// ErrMissing: the zone takes who has a ticket, and there is none.
	ErrMissing = errors.New("ticket: missing")
	// ErrInvalid: the ticket is not one for this. An InvalidError says why.
	ErrInvalid = errors.New("ticket: invalid")
	// ErrUsed: its visitor was let in, and the admission has expired.
	ErrUsed = errors.New("ticket: used")
)

// InvalidError is ErrInvalid, with what is wrong, in a sentence for a person.
type InvalidError struct{ Reason string }

// Error returns the sentence for a log.
func (e *InvalidError) Error() string { return ErrInvalid.Error() + ": " + e.Reason }

// Unwrap returns ErrInvalid.
func (e *InvalidError) Unwrap() error { return ErrInvalid }

const (
	// Policy counts how often a ticket was used: once.
	Policy = "tickets"
	// remembered is how long that is known: the longest that a rule counts.
	remembered = limit.MaxWindowSeconds
	// MaxTicket is in bytes: a body has 4,096.
	MaxTicket = 3_072
	// maxName bounds who is named, in bytes.
	maxName = 200
)

// Policies returns the policy as it is made when absent.
func Policies() []limit.Policy {
	return []limit.Policy{{
		Name: Policy, Rules: []limit.Rule{{Algorithm: limit.SlidingLog, Limit: 1, WindowSeconds: remembered}},
		OnStoreFailure: limit.FailureLocal,
	}}
}

// Keys read tokens. *identity.Finder does.
type Keys interface {
	Claims(token string) (jwt.MapClaims, error)
}

// Limits count. *limiter.Limiter does.
type Limits interface {
	Check(ctx context.Context, q limiter.Question) (limiter.Answer, error)
}

// Desk looks at tickets. Its methods may be called from any number of goroutines.
type Desk struct {
	keys   Keys
	limits Limits
	log    *slog.Logger
}

// New returns a desk. Without keys, every ticket is invalid.
func New(keys Keys, limits Limits, log *slog.Logger) *Desk { return &Desk{keys, limits, log} }

// Name returns whom a ticket for the zone's invitation names; ErrMissing or an
// *InvalidError. With no invitation, "", a ticket for any event of the zone is good.
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
	if claim == nil || claim == "" { // else it is not passed over: who has a long one would have a place for each jti
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

// VisitorName is what the visitor's id is made of, in place of zone and clientId. No zone has
// such a name, and no invitation a line's end: so nobody can choose a clientId with the same id.
func VisitorName(zoneID, invitation, name string) (zone, client string) {
	return "ticket of " + zoneID, invitation + "\n" + name
}

// Joined notes in the log who took a place with a ticket.
func (d *Desk) Joined(ctx context.Context, zoneID, invitation, name string, id line.ID) {
	d.log.InfoContext(ctx, "joined by ticket", "zone", zoneID, "invitation", invitation, "name", name, "visitor", hex.EncodeToString(id[:]))
}

// Use notes that the visitor was let in. It can be repeated. It goes on where ctx ends: who hangs up while it is
// noted has the admission all the same.
func (d *Desk) Use(ctx context.Context, zoneID, invitation string, id line.ID) {
	if _, err := d.limits.Check(context.WithoutCancel(ctx), question(zoneID, invitation, id)); err != nil {
		d.log.ErrorContext(ctx, "the use of a ticket could not be counted", "zone", zoneID, "error", err)
	}
}

// Used reports whether the visitor was let in within the last day. What cannot be asked
// counts as not; so it is asked where ctx ends, too, which who asks can bring about.
func (d *Desk) Used(ctx context.Context, zoneID, invitation string, id line.ID) bool {
	q := question(zoneID, invitation, id)
	q.Look = true
	a, err := d.limits.Check(context.WithoutCancel(ctx), q)
	return err == nil && !a.Allowed
}

func question(zoneID, invitation string, id line.ID) limiter.Question {
	return limiter.Question{Policy: Policy, Once: true, Key: "ticket:" + zoneID + "/" + invitation + "/" + hex.EncodeToString(id[:])}
}
