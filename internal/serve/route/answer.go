package route

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
)

// Problem is what is known of a problem by its code.
type Problem struct {
	// Document is what is sent (RFC 9457).
	Document any
	Status   int
	// Says is what it means, and what to do.
	Says string
	// RetryMin and RetryMax bound Retry-After, in seconds; 0 if none is sent.
	RetryMin, RetryMax int
	// Authenticate is sent as WWW-Authenticate.
	Authenticate string
}

// Headers of answers.
type (
	// NoStore is of an answer that is meant for one client.
	NoStore struct {
		NoStore string `json:"Cache-Control" enum:"no-store" doc:"It is meant for one client at one moment; nobody may keep it."`
	}
	// ETag is of an answer that a condition may name.
	ETag struct {
		ETag string `json:"ETag" pattern:"^\"[A-Za-z0-9_-]{22}\"$" example:"\"Zr3C0Fv0dXkq3yq1c1wM7g\"" doc:"Names the content; the same on every server of one version."`
	}
	packed struct {
		VaryEncoding string `json:"Vary" enum:"Accept-Encoding" doc:"The answer depends on what encodings the client takes."`
		Packed       string `json:"Content-Encoding,omitempty" enum:"gzip|zstd" doc:"With which encoding the body is packed, if it is."`
	}
	allow struct {
		Allow string `json:"Allow" pattern:"^[A-Z]+(, [A-Z]+)*$" example:"OPTIONS, POST" doc:"The methods that the path takes."`
	}
)

// problemType is the media type of problems (RFC 9457).
const problemType = "application/problem+json"

// responses describes the answers of a call by their status.
func (d *Describer) responses(r *Route, head bool) (all Object) {
	for _, a := range r.Answers {
		res := Object{{"description", a.Doc}}
		headers := a.Headers
		if r.Change && ok(a.Status) {
			headers = append([]any{d.listener.Warning}, headers...)
		}
		if r.Packed {
			headers = append([]any{packed{}}, headers...)
		}
		if len(headers) > 0 {
			res = res.With("headers", d.headersOf(headers...))
		}
		content := a.Media
		if a.Body != nil {
			content = Object{{"application/json", Object{{"schema", d.Schema(reflect.TypeOf(a.Body))}}}}
		}
		if len(content) > 0 && !head {
			res = res.With("content", content)
		}
		all = all.With(status(a.Status), res)
	}
	byStatus := make(map[int][]string)
	for _, code := range r.codes() {
		n := d.listener.Problem(code, nil).Status
		byStatus[n] = append(byStatus[n], code)
		if !slices.Contains(d.codes, code) {
			d.codes = append(d.codes, code)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(byStatus)) {
		res := refTo("responses", byStatus[n][0])
		if len(byStatus[n]) > 1 || byStatus[n][0] == invalid {
			res = d.refusal(byStatus[n], r.Invalid)
		}
		all = all.With(status(n), res)
	}
	return all
}

const invalid = "invalid_request"

// codes are those of the call's refusals. A call that changes something refuses pages of other sites; one that reads a body may wait
// in vain for it, or find it too long.
func (r *Route) codes() []string {
	codes := slices.Clone(r.Refusals)
	if len(r.Invalid) > 0 {
		codes = append(codes, invalid)
	}
	if r.Change {
		codes = append(codes, "cross_origin")
	}
	if r.Body != nil {
		codes = append(codes, "request_timeout", "body_too_large")
	}
	return codes
}

// refusal describes the answer with these problems, all of one status. faults are those that invalid_request tells.
func (d *Describer) refusal(codes, faults []string) Object {
	var says []string
	var examples Object
	var p Problem
	least, most, always := 0, 0, true
	for _, code := range codes {
		p = d.listener.Problem(code, faults)
		says = append(says, "`"+code+"`: "+p.Says)
		examples = examples.With(code, Object{{"value", FromJSON(p.Document)}})
		if always = always && p.RetryMax > 0; p.RetryMax > 0 {
			least, most = p.RetryMin, p.RetryMax
		}
	}
	headers := d.headersOf(NoStore{})
	if most > 0 {
		headers = headers.With("Retry-After", Object{
			{"description", "Send the same request again after so many seconds. The number is random, so that not all come at once."},
			{"required", always},
			{"schema", Object{{"type", "integer"}, {"minimum", least}, {"maximum", most}, {"example", least}}},
		})
	}
	if p.Authenticate != "" {
		headers = headers.With("WWW-Authenticate", Object{
			{"description", "The challenge that HTTP asks of every 401 (RFC 6750)."},
			{"required", true},
			{"schema", Object{{"type", "string"}, {"enum", []string{p.Authenticate}}}},
		})
	}
	if p.Status == http.StatusMethodNotAllowed {
		headers = append(headers, d.headersOf(allow{})...)
	}
	return Object{
		{"description", strings.Join(says, "\n")},
		{"headers", headers},
		{"content", Object{{problemType, Object{{"schema", d.Schema(reflect.TypeOf(p.Document))}, {"examples", examples}}}}},
	}
}
