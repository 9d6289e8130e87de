package answer

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/refusal"
	"github.com/openqueue/waitingroom/internal/serve"
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
var ErrSoldOut = refusal.New("answer: sold out", refusal.Refusal{
	Status: http.StatusGone, Code: "sold_out",
	Title:   "There is nothing left to wait for",
	Detail:  "The organiser has ended the line.",
	Outcome: "sold_out",
	Ordered: true,
	Page:    refusal.Page{State: "soldOut"},
	Readers: refusal.Visitors,
	Doc: ", for polls and joins. There is nothing left to wait for, and `detail` says why, in the operator's words and in " +
		"the language that `Accept-Language` names, where there are several. Stop asking. An admitted visitor keeps the " +
		"pass.",
})

// SoldOutError is ErrSoldOut, with the operator's words.
type SoldOutError struct{ Reason zone.Texts }

// Error returns the sentence for a log.
func (e *SoldOutError) Error() string { return ErrSoldOut.Error() }

// DetailFor returns the operator's words in the language that best fits this Accept-Language.
func (e *SoldOutError) DetailFor(accept string) string { return serve.TextFor(e.Reason, accept) }

// Unwrap returns ErrSoldOut.
func (e *SoldOutError) Unwrap() error { return ErrSoldOut }

const (
	// outcomeEarly: the guard answered from memory.
	outcomeEarly = "early"
	outcomeError = "error"
)

// Outcomes returns all that Outcome may return: the names of the statuses, and what else a join or a poll may end with.
func Outcomes() []string {
	return slices.Concat([]string{outcomeEarly, outcomeError}, line.Statuses(), refusal.Outcomes())
}

// Outcome names the outcome of a join or a poll for a meter. It is one of Outcomes.
func Outcome(a *line.Told, err error) string {
	switch {
	case err != nil:
		return cmp.Or(refusal.Of(err).Outcome, outcomeError)
	case a.Early:
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
