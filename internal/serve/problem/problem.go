package problem

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"

	"github.com/openqueue/waitingroom/internal/challenge"
	"github.com/openqueue/waitingroom/internal/limits/ratelimit"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/ticket"
)

// ContentType is the media type of a Problem in JSON (RFC 9457, section 6.1).
const ContentType = ratelimit.ContentType

// typeBase begins the type of a problem; the code follows. The type is the address of
// the problem's description.
const typeBase = ratelimit.TypeBase

// Problem is the document that a client gets instead of an answer.
type Problem struct {
	// Type is the URI that identifies the kind of problem, and describes it.
	Type string `json:"type"`
	// Title names the kind of problem: all problems of one type have the same.
	Title string `json:"title"`
	// Status is the HTTP status.
	Status int `json:"status"`
	// Detail is about this one problem.
	Detail string `json:"detail"`
	// Code is for programs to compare. It never changes its meaning.
	Code string `json:"code"`
	// Errors lists the faults one by one, if there can be several.
	Errors []string `json:"errors,omitempty"`
	// HTML is what the waiting page shows of it, for the page's own script.
	HTML string `json:"html,omitempty"`
	// Challenge is what a join has to show.
	Challenge *challenge.RequiredError `json:"challenge,omitempty"`

	// RetryAfterSeconds is sent as Retry-After; 0 if it does not help to come back.
	RetryAfterSeconds int `json:"-"`
	// Authenticate is sent as WWW-Authenticate with a 401.
	Authenticate string `json:"-"`
}

// Of returns the problem that a client gets for an error: the row of err in the table,
// else internal_error. It has the error's own text only if that was written for the
// client.
func Of(err error) Problem {
	return describe(kindOf(err), err)
}

// kindOf returns the row of err in the table, else internalError.
func kindOf(err error) *kind {
	if errors.Is(err, context.Canceled) {
		// The client went away, or the server is stopping. Rooms and stores wrap context.Canceled
		// together with errors of their own. A client reads the answer only if the server is
		// stopping, and then the store is unavailable for it.
		err = line.ErrStoreUnavailable
	}
	is := func(target error) bool { return errors.Is(err, target) }
	for i := range table {
		if slices.ContainsFunc(table[i].errs, is) {
			return &table[i]
		}
	}
	return &internalError
}

// OfStatus returns the problem for a status that echo or a middleware chose. A status
// without a row in the table gets a code made from its name.
func OfStatus(status int) Problem {
	for i := range table {
		if k := &table[i]; k.ofStatus && k.status == status {
			return describe(k, nil)
		}
	}
	name := http.StatusText(status)
	if status < http.StatusBadRequest || name == "" || status == internalError.status {
		return describe(&internalError, nil)
	}
	return describe(&kind{
		status: status, code: strings.ReplaceAll(strings.ToLower(name), " ", "_"),
		title: name, detail: "The server refused the request.",
	}, nil)
}

func describe(k *kind, err error) Problem {
	p := Problem{
		Type: typeBase + k.code, Title: k.title, Status: k.status, Detail: k.detail, Code: k.code,
		Authenticate: k.authenticate,
	}
	var later interface{ RetryAfterSeconds() int }
	if errors.As(err, &later) {
		p.RetryAfterSeconds = later.RetryAfterSeconds()
	} else if k.retryMax > 0 {
		p.RetryAfterSeconds = k.retryMin + rand.IntN(k.retryMax-k.retryMin+1)
	}
	var shown interface{ HTML() string }
	if errors.As(err, &shown) {
		p.HTML = shown.HTML()
	}
	p.Challenge, _ = errors.AsType[*challenge.RequiredError](err)
	if told, ok := errors.AsType[*ticket.InvalidError](err); ok {
		p.Detail = told.Reason
	}
	if p.Detail != "" {
		return p
	}
	p.Detail = "The server could not read the request."
	var told interface{ Detail() string }
	if errors.As(err, &told) {
		p.Detail = told.Detail()
	}
	if list, ok := errors.AsType[*serve.InvalidError](err); ok {
		p.Errors = list.Faults
	}
	return p
}
