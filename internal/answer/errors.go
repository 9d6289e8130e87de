package answer

import (
	"errors"
	"fmt"
	"slices"

	"github.com/openqueue/waitingroom/internal/challenge"
	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/network"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/ticket"
	"github.com/openqueue/waitingroom/internal/zone"
)

// MaxToken is the longest token that is looked at, in bytes: several times token.Size.
const MaxToken = 256

func invalid(field, reason string) error { return &serve.FieldError{Field: field, Reason: reason} }

// CheckZoneID refuses a missing or malformed zone name.
func CheckZoneID(zoneID string) error {
	switch {
	case zoneID == "":
		return invalid("zoneId", "is missing")
	case !zone.ValidID(zoneID):
		return invalid("zoneId", "must be 1 to 64 of A-Z a-z 0-9 . _ -")
	}
	return nil
}

// ErrSoldOut: there is nothing to wait for any more. Compare with errors.Is.
var ErrSoldOut = errors.New("answer: sold out")

// SoldOutError is ErrSoldOut, with the operator's words.
type SoldOutError struct{ Reason zone.Texts }

// Error returns the sentence for a log.
func (e *SoldOutError) Error() string { return ErrSoldOut.Error() }

// Unwrap returns ErrSoldOut.
func (e *SoldOutError) Unwrap() error { return ErrSoldOut }

// refusals name the errors that are outcomes of their own. All others are outcomeError.
var refusals = []struct {
	outcome string
	errs    []error
}{
	{"refused", []error{guard.ErrRefused, challenge.ErrBusy}},
	{"challenged", []error{challenge.ErrRequired}},
	{"network_share", []error{network.ErrShare}},
	{"sold_out", []error{ErrSoldOut}},
	{"uninvited", []error{ticket.ErrMissing, ticket.ErrInvalid, ticket.ErrUsed}},
}

const (
	// outcomeEarly: the guard answered from memory.
	outcomeEarly = "early"
	outcomeError = "error"
)

// Outcomes are all that Outcome returns: the names of the statuses, and of what else a join or a poll may end with.
var Outcomes = func() []string {
	all := []string{outcomeEarly, outcomeError}
	for s := line.Waiting; s <= line.Undrawn; s++ {
		all = append(all, s.String())
	}
	for _, r := range refusals {
		all = append(all, r.outcome)
	}
	return all
}()

// Outcome names the outcome of a join or a poll for a meter. It is one of Outcomes.
func Outcome(a *line.Told, err error) string {
	if err != nil {
		for _, r := range refusals {
			if slices.ContainsFunc(r.errs, func(target error) bool { return errors.Is(err, target) }) {
				return r.outcome
			}
		}
		return outcomeError
	}
	if a.Early {
		return outcomeEarly
	}
	return a.Status.String()
}

// CheckLength refuses a field of more than most bytes.
func CheckLength(field, value string, most int) error {
	if len(value) > most {
		return invalid(field, fmt.Sprintf("must not be longer than %d bytes", most))
	}
	return nil
}

// zoneError is an error in a request about one zone.
type zoneError struct {
	zoneID string
	err    error
}

func (e *zoneError) Error() string { return e.err.Error() }
func (e *zoneError) Unwrap() error { return e.err }

// InZone marks err with the zone that the request named, so that it can be counted for that zone. The name is
// well-formed, but may be invented: the meter must not make a time series of each.
func InZone(zoneID string, err error) error { return &zoneError{zoneID: zoneID, err: err} }

// ZoneOf returns the name that InZone put on err, or "".
func ZoneOf(err error) string {
	if in, ok := errors.AsType[*zoneError](err); ok {
		return in.zoneID
	}
	return ""
}
