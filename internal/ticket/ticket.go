package ticket

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/refusal"
	"github.com/openqueue/waitingroom/internal/store"
)

// Refusals of a join. Nobody took a place. Compare with errors.Is.
var (
	// ErrMissing: the zone requires a ticket, and the request has none.
	ErrMissing = refusal.New("ticket: missing", uninvited(
		"ticket_missing", "You need an invitation to join", "Join with the ticket of the invitation.",
		"Visitors need an invitation to join this zone: join with the ticket, as `ticket`."))
	// ErrInvalid: the ticket is no good for this zone and invitation. An InvalidError says why.
	ErrInvalid = refusal.New("ticket: invalid", uninvited(
		"ticket_invalid", "The ticket is not valid here", "The shop did not sign the ticket.",
		"The shop did not sign the ticket, or the ticket has expired, or it is for another zone or another event: `detail` says "+
			"which. No place was taken."))
	// ErrUsed: the ticket's visitor was admitted before, and that visit is over.
	ErrUsed = refusal.New("ticket: used", uninvited(
		"ticket_used", "The ticket was used", "A visitor was admitted with the ticket before. It is good for one admission.",
		"A visitor was admitted with the ticket before, and that visit is over. While the pass was not used yet, a join with the "+
			"ticket gets the same pass. While the session lasts, it moves the visit: it gets another pass, and the first session ends."))
)

func uninvited(code, title, detail, doc string) refusal.Refusal {
	return refusal.Refusal{
		Status: http.StatusForbidden, Code: code, Title: title, Detail: detail, Outcome: "uninvited",
		Page: refusal.Page{State: "invited"}, Readers: refusal.Visitors, Doc: doc,
	}
}

// InvalidError is ErrInvalid, with what is wrong, in a sentence for a person.
type InvalidError struct{ Reason string }

// Error returns the sentence for a log.
func (e *InvalidError) Error() string { return ErrInvalid.Error() + ": " + e.Reason }

// Detail returns the sentence for the visitor.
func (e *InvalidError) Detail() string { return e.Reason }

// Unwrap returns ErrInvalid.
func (e *InvalidError) Unwrap() error { return ErrInvalid }

const (
	// MaxTicket is the longest ticket, in bytes. A body has at most 8,192.
	MaxTicket = 3_072
	// maxName is the longest name in a ticket, in bytes.
	maxName = 200
)

// Keys verifies JSON Web Tokens and returns their claims. *identity.Finder does.
type Keys interface {
	Claims(token string) (jwt.MapClaims, error)
}

// Verifier checks tickets. Its methods may be called from any number of goroutines.
type Verifier struct {
	keys   Keys
	spends store.Spender
	log    *slog.Logger
}

// New returns a verifier that notes uses in a store. Without keys, every ticket is invalid.
func New(keys Keys, spends store.Spender, log *slog.Logger) *Verifier {
	return &Verifier{keys, spends, log}
}

// Name returns the name in a ticket for the zone's invitation. With no invitation, "", a ticket for any event
// of the zone is good. The error is ErrMissing or an *InvalidError.
func (v *Verifier) Name(ticket, zoneID, invitation string) (string, error) {
	switch {
	case ticket == "":
		return "", ErrMissing
	case v.keys == nil:
		return "", &InvalidError{"This server has no keys to check tickets with."}
	}
	claims, err := v.keys.Claims(ticket)
	switch {
	case errors.Is(err, jwt.ErrTokenExpired):
		return "", &InvalidError{"It has expired."}
	case errors.Is(err, jwt.ErrTokenNotValidYet):
		return "", &InvalidError{"It is not valid yet."}
	case err != nil:
		return "", &InvalidError{"The shop did not sign it."}
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
func (v *Verifier) Joined(ctx context.Context, zoneID, invitation, name string, id line.ID) {
	v.log.InfoContext(ctx, "joined by ticket", "zone", zoneID, "invitation", invitation, "name", name, "visitor", hex.EncodeToString(id[:]))
}

// Visit takes in a visit by the visitor's ticket, and returns the newest: see store.Spender. The zero value only asks. With an
// error, one of the store, nobody may be given an admission: the ticket might be used again.
func (v *Verifier) Visit(ctx context.Context, zoneID, invitation string, id line.ID, visit store.Visit) (store.Visit, error) {
	newest, err := v.spends.Visit(ctx, Key(zoneID, invitation, id), visit)
	if err != nil {
		return store.Visit{}, fmt.Errorf("ticket: visit: %w", err)
	}
	return newest, nil
}

// MovedAfter is for how long a visit has been under way before it can move to another device: whoever passes a ticket on has others
// inside by turns alone.
const MovedAfter = 10 * time.Second

// Admitted is the answer for a visit that has moved, whose pass was not used yet. The line knows nothing of it.
func Admitted(id line.ID, v store.Visit, s line.State) line.Answer {
	return line.Answer{
		Status: line.AdmittedBefore, AdmittedAtMillis: v.AtMillis, ExpiresAtMillis: v.UntilMillis, State: s,
		Place: line.Place{ID: id, ArrivedAtMicros: v.AtMillis * 1000, Epoch: s.Epoch, AdmittedAtMillis: v.AtMillis},
	}
}

// Key is under which key a store keeps the visit by a ticket.
func Key(zoneID, invitation string, id line.ID) string {
	return "ticket:" + zoneID + "/" + invitation + "/" + hex.EncodeToString(id[:])
}
