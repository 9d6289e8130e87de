package guard

import (
	"errors"
	"fmt"
)

// ErrRefused: this client asks too often. Nothing was done. Compare with errors.Is.
var ErrRefused = errors.New("guard: refused")

// RefusedError is ErrRefused, with when to come back.
type RefusedError struct {
	// RetryMillis is in how many milliseconds to come back.
	RetryMillis int64
}

// Error returns the sentence for a log.
func (r *RefusedError) Error() string { return fmt.Sprintf("%v for %d ms", ErrRefused, r.RetryMillis) }

// Unwrap returns ErrRefused.
func (r *RefusedError) Unwrap() error { return ErrRefused }

// RetryAfterSeconds is when to come back, rounded up, at least 1 s.
func (r *RefusedError) RetryAfterSeconds() int { return int(max(1, (r.RetryMillis+999)/1000)) }
