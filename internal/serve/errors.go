package serve

import (
	"errors"
	"fmt"
	"strings"
)

// Errors of a request, before the store is asked. Compare with errors.Is.
var (
	// ErrInvalid: the request is not what the contract asks for. Every error
	// that wraps it is, or holds, a *FieldError or a *InvalidError.
	ErrInvalid = errors.New("serve: invalid request")
	// ErrTooSlow: the body did not come within the listener's time.
	ErrTooSlow = errors.New("serve: body too slow")
	// ErrTooLarge: the body is longer than MaxBody.
	ErrTooLarge = errors.New("serve: body too large")
)

// BodyField is the name that a FieldError gives to the body as a whole.
const BodyField = "body"

// FieldError says which field of a request is wrong, and why. It wraps
// ErrInvalid. Both texts are for the client; neither repeats what was sent.
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

// InvalidError lists all that is wrong with a change of settings. It wraps
// ErrInvalid. The faults are sentences for the operator.
type InvalidError struct{ Faults []string }

// Error returns all faults in one line.
func (e *InvalidError) Error() string { return fmt.Sprintf("%v: %s", ErrInvalid, e.Detail()) }

// Detail returns all faults in one line, for the operator.
func (e *InvalidError) Detail() string { return strings.Join(e.Faults, "; ") }

// Unwrap returns ErrInvalid.
func (e *InvalidError) Unwrap() error { return ErrInvalid }
