package adminclient

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/openqueue/waitingroom/internal/refusal"
)

// Kinds of failure. Compare with errors.Is.
var (
	// ErrInvalid: the server refused what was asked, and asking again will not
	// help. Nothing was changed.
	ErrInvalid = errors.New("adminclient: request refused")
	// ErrUnauthorized: the operators' token is wrong.
	ErrUnauthorized = errors.New("adminclient: token refused")
	// ErrForbidden: the token is good, and may not do this.
	ErrForbidden = errors.New("adminclient: not allowed")
	// ErrNotFound: there is no such zone, policy or token.
	ErrNotFound = errors.New("adminclient: no such zone or policy")
	// ErrConflict: the zone or policy is not as the caller had read it, or is being
	// changed by others. Nothing was changed.
	ErrConflict = errors.New("adminclient: changed by others")
	// ErrUnavailable: the server answers, but cannot do it now, mostly since
	// its store is away. Of a change it is not known whether it was made.
	ErrUnavailable = errors.New("adminclient: server cannot do it now")
	// ErrUnreachable: no answer came, or one that no waiting room gives. Of a
	// change it is not known whether it was made.
	ErrUnreachable = errors.New("adminclient: server not reachable")
)

// ProblemError is a refusal: the server's problem document (RFC 9457). It is one of
// the kinds above.
type ProblemError struct{ refusal.Document }

// Error returns what the server said, for people.
func (p *ProblemError) Error() string {
	said := p.Detail
	if len(p.Errors) > 0 {
		said = strings.Join(p.Errors, "; ")
	}
	if said == "" {
		said = p.Title
	}
	return fmt.Sprintf("%s (%d %s)", said, p.Status, p.Code)
}

// Is reports whether target is the kind of this problem.
func (p *ProblemError) Is(target error) bool { return target == p.kind() }

func (p *ProblemError) kind() error {
	switch {
	case p.Code == "forbidden":
		return ErrForbidden
	case p.Status == http.StatusUnauthorized, p.Status == http.StatusForbidden, p.Code == "too_many_wrong_tokens":
		return ErrUnauthorized
	case p.Status == http.StatusNotFound:
		return ErrNotFound
	case p.Code == "event_fixed":
		return ErrInvalid
	case p.Status == http.StatusConflict, p.Status == http.StatusPreconditionFailed:
		return ErrConflict
	case p.Status >= http.StatusInternalServerError, p.Status == http.StatusTooManyRequests:
		return ErrUnavailable
	default:
		return ErrInvalid
	}
}

// unreachableError is ErrUnreachable, and says which server and why.
type unreachableError struct {
	url   string
	cause error
}

func (e *unreachableError) Error() string   { return fmt.Sprintf("%s: %v", e.url, e.cause) }
func (e *unreachableError) Unwrap() []error { return []error{ErrUnreachable, e.cause} }

// errStranger: something answers there that is no operators' listener.
var errStranger = errors.New("what answers there is not the operators' listener of a queue-server")
