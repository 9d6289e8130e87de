package refusal

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
)

// ContentType is the media type of a Document (RFC 9457, section 6.1).
const ContentType = "application/problem+json"

// TypeBase begins the type of a Document, the address of its description; the code follows. It is part of the API.
const TypeBase = "https://github.com/openqueue/waitingroom/blob/main/docs/reference/problems.md#"

// Document is what a client gets instead of an answer.
type Document struct {
	Type   string `json:"type" format:"uri" doc:"Names the kind of problem, and leads to its description." example:"https://github.com/openqueue/waitingroom/blob/main/docs/reference/problems.md#not_found"`
	Title  string `json:"title" minLength:"1" doc:"The same for all problems of one kind." example:"There is nothing at this path"`
	Status int    `json:"status" minimum:"400" maximum:"599" doc:"The HTTP status." example:"404"`
	Detail string `json:"detail" minLength:"1" doc:"About this one problem, for a person." example:"Check the path of the request."`
	Code   string `json:"code" doc:"What a program compares. It never changes its meaning." example:"not_found"`
	// Errors lists the faults one by one, if there can be several.
	Errors []string `json:"errors,omitempty" minLength:"1" doc:"All faults of a change, one sentence each. Absent where the body as a whole is wrong." example:"['perMinute is -1, must be between 0 and 6000000']"`
	// HTML is what the waiting page shows of it, for the page's own script.
	HTML string `json:"html,omitempty" doc:"-"`
	// Challenge is what a join has to show.
	Challenge any `json:"challenge,omitempty" doc:"-"`

	// RetryAfterSeconds is sent as Retry-After; 0 if it does not help to come back.
	RetryAfterSeconds int `json:"-"`
	// Authenticate is sent as WWW-Authenticate with a 401.
	Authenticate string `json:"-"`
}

// Document returns the document of a refusal, with a Retry-After of its range.
func (r Refusal) Document() Document {
	d := Document{
		Type: TypeBase + r.Code, Title: r.Title, Status: r.Status, Detail: r.Detail, Code: r.Code, Authenticate: r.Authenticate,
	}
	if r.RetryMax > 0 {
		d.RetryAfterSeconds = r.RetryMin + rand.IntN(r.RetryMax-r.RetryMin+1)
	}
	return d
}

// Describe returns the document of an error's refusal, with what the error itself says by these methods, which are for clients:
// RetryAfterSeconds, Detail, Errors, HTML and Challenge. The words of Error are not.
func Describe(err error) Document {
	d := Of(err).Document()
	var (
		later   interface{ RetryAfterSeconds() int }
		told    interface{ Detail() string }
		several interface{ Errors() []string }
		shown   interface{ HTML() string }
		asks    interface{ Challenge() any }
	)
	if errors.As(err, &later) {
		d.RetryAfterSeconds = later.RetryAfterSeconds()
	}
	if errors.As(err, &told) {
		d.Detail = told.Detail()
	}
	if errors.As(err, &several) {
		d.Errors = several.Errors()
	}
	if errors.As(err, &shown) {
		d.HTML = shown.HTML()
	}
	if errors.As(err, &asks) {
		d.Challenge = asks.Challenge()
	}
	return d
}

// Encode returns the document as JSON, and sets the header that goes with it.
func (d Document) Encode(h http.Header) (body []byte, err error) {
	if body, err = json.Marshal(d); err != nil {
		return nil, err
	}
	h.Set("Content-Type", ContentType)
	h.Set("Cache-Control", "no-store") // a 404 or 410 would be cacheable
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if d.RetryAfterSeconds > 0 {
		h.Set("Retry-After", strconv.Itoa(d.RetryAfterSeconds))
	}
	if d.Authenticate != "" {
		h.Set("WWW-Authenticate", d.Authenticate)
	}
	return body, nil
}
