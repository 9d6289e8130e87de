package serve

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/openqueue/waitingroom/internal/refusal"
)

// Errors of a request that are found before the store is asked. Compare them with errors.Is.
var (
	// ErrInvalid says that the request is not as the contract asks for. Every error
	// that wraps it is, or wraps, a *FieldError or an *InvalidError.
	ErrInvalid = refusal.New("serve: invalid request", refusal.Invalid)
	// ErrTooSlow says that the body did not come within the listener's timeout.
	ErrTooSlow = refusal.New("serve: body too slow", refusal.Refusal{
		Status: http.StatusRequestTimeout, Code: "request_timeout",
		Title:    "The body did not arrive in time",
		Detail:   "Nothing was done. Send the same request again when Retry-After has passed.",
		RetryMin: 1, RetryMax: 3,
		Readers: refusal.Visitors,
		Doc:     "The rest of the body did not come in time: a network that went away in the middle.",
	})
	// ErrTooLarge says that the body is longer than MaxBody, or than MaxOperatorBody for an operator's.
	ErrTooLarge = refusal.New("serve: body too large", refusal.TooLarge)
)

// BodyField is the name that a FieldError gives to the body as a whole.
const BodyField = "body"

// FieldError says which field of a request is wrong, and why. It wraps ErrInvalid.
// Field and Reason are sent to the client. Neither repeats what the client sent.
type FieldError struct {
	// Field is the field's name in the contract, or BodyField.
	Field string
	// Reason completes "<field> ...": "must be a string".
	Reason string
}

// Error returns the sentence for a log.
func (e *FieldError) Error() string {
	return fmt.Sprintf("%v: %s", ErrInvalid, e.Detail())
}

// Detail returns the sentence for the client.
func (e *FieldError) Detail() string { return e.Field + " " + e.Reason }

// Unwrap returns ErrInvalid.
func (e *FieldError) Unwrap() error { return ErrInvalid }

// InvalidError lists all faults of a change of settings, as sentences for the
// operator. It wraps ErrInvalid.
type InvalidError struct{ Faults []string }

// Error returns all faults in one line.
func (e *InvalidError) Error() string { return fmt.Sprintf("%v: %s", ErrInvalid, e.Detail()) }

// Errors returns the faults one by one, for the operator.
func (e *InvalidError) Errors() []string { return e.Faults }

// Detail returns all faults in one line, for the operator.
func (e *InvalidError) Detail() string { return strings.Join(e.Faults, "; ") }

// Unwrap returns ErrInvalid.
func (e *InvalidError) Unwrap() error { return ErrInvalid }
