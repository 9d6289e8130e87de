package limit

import (
	"errors"
	"fmt"
)

// ErrRefused: the limit is used up for now. Compare with errors.Is.
var ErrRefused = errors.New("limit: refused")

// RefusedError is ErrRefused, with the moment to come back.
type RefusedError struct {
	// RetryMillis is in how many milliseconds the same request would be allowed, if
	// nobody else took anything until then.
	RetryMillis int64
}

// Error returns the sentence for a log.
func (r *RefusedError) Error() string { return fmt.Sprintf("%v for %d ms", ErrRefused, r.RetryMillis) }

// Unwrap returns ErrRefused.
func (r *RefusedError) Unwrap() error { return ErrRefused }
