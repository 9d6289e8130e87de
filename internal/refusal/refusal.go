package refusal

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
)

// Readers are those who write clients: docs/reference/problems.md has a section for each.
type Readers string

// The sections.
const (
	Visitors  Readers = "visitors"
	Limits    Readers = "limits"
	Operators Readers = "operators"
	Both      Readers = "both"
)

// Refusal is what all errors that clients are told alike have in common.
type Refusal struct {
	// Status is the HTTP status.
	Status int
	// Code is for programs to compare. It never changes its meaning.
	Code string
	// Title names the kind of refusal, for people.
	Title string
	// Detail says what to do. An error with a method Detail says it in its own words.
	Detail string
	// RetryMin and RetryMax bound Retry-After, in seconds; 0 sends none. A random choice between them spreads the return of
	// clients who were refused at one moment. An error with a method RetryAfterSeconds chooses by itself.
	RetryMin, RetryMax int
	// Authenticate is the header WWW-Authenticate, which a 401 must have.
	Authenticate string
	// Outcome is the join's or the poll's, for metrics; "" for "error".
	Outcome string
	// Alert is what docs/operate/alerts.md says of many such refusals: what it may be, and what the operator does.
	Alert string
	// Ordered says that an operator asked for such refusals, so alerts do not count them.
	Ordered bool
	// Page is what the waiting page shows.
	Page Page
	// Readers are whose clients get it.
	Readers Readers
	// Doc is what docs/reference/problems.md says of it, for Readers, after the status and Retry-After: what it means, and what
	// a client does. The first refusal with a code has it.
	Doc string
}

// Page is what the waiting page shows of a refusal. By default it shows that the room is away, with 503, and comes again.
type Page struct {
	// State is the key of the heading in the page's languages. With Text behind, it is that of the text.
	State string
	// Text is the key of another text.
	Text string
	// AgainSeconds is when the page is loaded again; 0 for when the error says, or else never.
	AgainSeconds int
}

// declared are all refusals. Variables of packages declare them, before anything runs, so nothing locks the list.
var declared []Refusal

func declare(r Refusal) Refusal {
	declared = append(declared, r)
	return r
}

// declaredError is an error that has its refusal.
type declaredError struct {
	text string
	of   Refusal
}

func (e *declaredError) Error() string { return e.text }

// New returns the error of a package that clients are refused with. Only a variable of a package may be set to it.
func New(text string, r Refusal) error { return &declaredError{text, declare(r)} }

// Like returns an error that clients are told as they are told another.
func Like(text string, other error) error { return &declaredError{text, Of(other)} }

// Of returns the refusal of an error, Internal for one that has none. Of an error that wraps several, the first counts.
func Of(err error) Refusal {
	if errors.Is(err, context.Canceled) {
		// The client went away, or the server is stopping. Stores wrap context.Canceled together with errors of their own. A
		// client reads the answer only if the server is stopping, and then the store is unavailable for it.
		return StoreUnavailable
	}
	if e, ok := errors.AsType[*declaredError](err); ok {
		return e.of
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return StoreUnavailable
	}
	return Internal
}

// OfStatus returns the refusal for a status that a router or a middleware chose. A status that no refusal stands for gets a
// code made from its name.
func OfStatus(status int) Refusal {
	for _, r := range []Refusal{TooManyRequests, Invalid, NotFound, MethodNotAllowed, TooLarge, Unavailable} {
		if r.Status == status {
			return r
		}
	}
	name := http.StatusText(status)
	if status < http.StatusBadRequest || name == "" || status == Internal.Status {
		return Internal
	}
	code := strings.ReplaceAll(strings.ToLower(name), " ", "_")
	return Refusal{Status: status, Code: code, Title: name, Detail: "The server refused the request."}
}

// All returns the refusals of the program, one of each code, by code. Of several with one code it has the first, which is that
// of a package imported by the others.
func All() []Refusal {
	all := slices.Clone(declared)
	slices.SortStableFunc(all, func(a, b Refusal) int { return strings.Compare(a.Code, b.Code) })
	return slices.CompactFunc(all, func(a, b Refusal) bool { return a.Code == b.Code })
}

// Codes returns the codes of All.
func Codes() (codes []string) {
	for _, r := range All() {
		codes = append(codes, r.Code)
	}
	return codes
}

// Outcomes returns the outcomes of all refusals, in the order of the alphabet.
func Outcomes() (outcomes []string) {
	for _, r := range declared {
		if r.Outcome != "" {
			outcomes = append(outcomes, r.Outcome)
		}
	}
	slices.Sort(outcomes)
	return slices.Compact(outcomes)
}
