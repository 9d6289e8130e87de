package openapitest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// problemType is the media type of problems.
const problemType = "application/problem+json"

// maxShown is how much of a body is shown with what is wrong with it, in bytes.
const maxShown = 1000

// framing are the headers of HTTP itself, which every answer may have.
var framing = []string{"Connection", "Content-Length", "Content-Type", "Date", "Trailer"}

// Exchange is a request and its answer.
type Exchange struct {
	Request *http.Request
	// Sent is the body of the request, whole, or up to where it broke off.
	Sent   []byte
	Status int
	Header http.Header
	Body   []byte
}

// Check returns all that is wrong with an exchange, or nil.
func (d *Document) Check(ctx context.Context, x Exchange) error {
	doc, err := d.load()
	if err != nil {
		return err
	}
	if x.Body, err = unpacked(x); err != nil {
		return fmt.Errorf("openapitest: %s %s: %w", x.Request.Method, x.Request.URL.Path, err)
	}
	in, err := doc.find(x)
	if err != nil {
		return fmt.Errorf("openapitest: %s %s: %d: %w", x.Request.Method, x.Request.URL.Path, x.Status, err)
	}
	errs := []error{checkHeaders(in.answer, x), checkBody(ctx, in, x), checkProblem(in.answer, x)}
	if in.described && x.Status < http.StatusMultipleChoices {
		errs = append(errs, checkRequest(ctx, in, x))
	}
	if err := errors.Join(errs...); err != nil {
		body := x.Body[:min(len(x.Body), maxShown)]
		return fmt.Errorf("openapitest: %s %s: %d %s: %w", x.Request.Method, x.Request.URL.Path, x.Status, body, err)
	}
	d.note(in, x)
	return nil
}

// unpacked is the body as the document describes it.
func unpacked(x Exchange) ([]byte, error) {
	if x.Header.Get("Content-Encoding") != "gzip" {
		return x.Body, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(x.Body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// found is what the document says of an exchange.
type found struct {
	route  *routers.Route
	params map[string]string
	// described: there is an operation. Else the answer is one of those that
	// are for all the rest.
	described bool
	answer    *openapi3.Response
}

// find returns what the document says of the exchange, or why it says nothing.
func (d *described) find(x Exchange) (found, error) {
	route, params, err := d.router.FindRoute(x.Request)
	if err != nil {
		return d.elsewhere(x)
	}
	ref := route.Operation.Responses.Value(strconv.Itoa(x.Status))
	if ref == nil && x.Status == http.StatusMisdirectedRequest {
		return d.elsewhere(x) // before the path is looked at
	}
	if ref == nil {
		return found{}, fmt.Errorf("%s does not describe this status", route.Operation.OperationID)
	}
	return found{route: route, params: params, described: true, answer: ref.Value}, nil
}

// elsewhere is find where there is no such operation: the component of that
// name is then what has to be answered.
func (d *described) elsewhere(x Exchange) (found, error) {
	options, guarded := x.Request.Method == http.MethodOptions, guarded(x.Request.URL.Path)
	var name string
	switch {
	case options && x.Request.Header.Get("Access-Control-Request-Method") != "" && x.Header.Get("Allow") == "":
		name = "Preflight"
	case options && x.Status == http.StatusNoContent:
		name = "Options"
	case x.Status == http.StatusUnauthorized && !guarded, x.Status == http.StatusTooManyRequests && !guarded:
	default:
		name = map[int]string{
			http.StatusNotFound: "NotFound", http.StatusMethodNotAllowed: "MethodNotAllowed",
			http.StatusUnauthorized: "Unauthorized", http.StatusTooManyRequests: "Guessing",
			http.StatusMisdirectedRequest: "HostUnknown",
		}[x.Status]
	}
	ref := d.Components.Responses[name]
	if ref == nil {
		return found{}, errors.New("the document has neither this path nor this answer to other paths")
	}
	return d.answering(name, x.Status, ref), nil
}

// guarded reports whether a path wants the operators' token before it is looked at.
func guarded(path string) bool {
	return strings.HasPrefix(path, "/admin/") || strings.HasPrefix(path, "/debug/")
}

// answering is an operation that has this one answer.
func (d *described) answering(name string, status int, ref *openapi3.ResponseRef) found {
	answers := openapi3.NewResponses(openapi3.WithStatus(status, ref))
	return found{
		route:  &routers.Route{Spec: d.T, Operation: &openapi3.Operation{OperationID: name, Responses: answers}},
		answer: ref.Value,
	}
}

// checkHeaders wants each header to be described, and each that is described
// as it says.
func checkHeaders(answer *openapi3.Response, x Exchange) error {
	var errs []error
	for name, values := range x.Header {
		ref := answer.Headers[name]
		if ref == nil && !slices.Contains(framing, name) {
			errs = append(errs, fmt.Errorf("the header %s: %q is not described", name, x.Header.Get(name)))
		}
		if ref == nil {
			continue
		}
		for _, value := range values {
			if err := checkHeader(ref.Value.Schema.Value, value); err != nil {
				errs = append(errs, fmt.Errorf("the header %s: %q: %w", name, value, err))
			}
		}
	}
	for name, ref := range answer.Headers {
		if ref.Value.Required && len(x.Header[name]) == 0 {
			errs = append(errs, fmt.Errorf("the header %s is missing", name))
		}
	}
	return errors.Join(errs...)
}

func checkHeader(s *openapi3.Schema, value string) error {
	if !s.Type.Is(openapi3.TypeInteger) {
		return s.VisitJSON(value)
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return err
	}
	return s.VisitJSON(float64(n))
}

// bodiless reports whether HTTP lets the answer have no body, whatever it is.
func bodiless(x Exchange) bool {
	return x.Request.Method == http.MethodHead || x.Status == http.StatusNoContent || x.Status == http.StatusNotModified
}

// checkBody has kin-openapi's filter look at the body, and looks itself where
// that does not: at bodies that should not be.
func checkBody(ctx context.Context, in found, x Exchange) error {
	if bodiless(x) || len(in.answer.Content) == 0 {
		if len(x.Body) > 0 {
			return errors.New("there is a body, and none is described")
		}
		return nil
	}
	options := &openapi3filter.Options{
		IncludeResponseStatus: true, MultiError: true,
		// Bodies that were compressed otherwise cannot be read: see unpacked.
		ExcludeResponseBody: !slices.Contains([]string{"", "gzip"}, x.Header.Get("Content-Encoding")),
	}
	return openapi3filter.ValidateResponse(ctx, &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: x.Request, PathParams: in.params, Route: in.route, Options: options,
		},
		Status: x.Status, Header: x.Header, Options: options,
		Body: io.NopCloser(bytes.NewReader(x.Body)),
	})
}

// checkProblem wants a refusal to be one of the problems that are described for
// it, by code: the examples are named by theirs.
func checkProblem(answer *openapi3.Response, x Exchange) error {
	media := answer.Content[problemType]
	if media == nil || bodiless(x) {
		return nil
	}
	got, err := problemOf(x)
	if err != nil {
		return err
	}
	switch {
	case got.Status != x.Status:
		return fmt.Errorf("the document says %d", got.Status)
	case media.Examples[got.Code] == nil:
		return fmt.Errorf("the code %s is not described here", got.Code)
	case !strings.HasSuffix(got.Type, "#"+got.Code):
		return fmt.Errorf("the type %s is not that of the code %s", got.Type, got.Code)
	}
	return nil
}

// CheckProblem returns all that is wrong with a problem, whichever operation
// answered it: with its status, its headers and its document, as the problem of
// that code is described.
func (d *Document) CheckProblem(ctx context.Context, x Exchange) error {
	doc, err := d.load()
	if err != nil {
		return err
	}
	got, err := problemOf(x)
	if err != nil {
		return err
	}
	for _, ref := range doc.Components.Responses {
		media := ref.Value.Content[problemType]
		if media == nil || media.Examples[got.Code] == nil {
			continue
		}
		in := doc.answering(got.Code, x.Status, ref)
		return errors.Join(checkHeaders(in.answer, x), checkBody(ctx, in, x), checkProblem(in.answer, x))
	}
	return fmt.Errorf("openapitest: the code %s is not described", got.Code)
}

// problemOf reads a body that is a problem.
func problemOf(x Exchange) (p Problem, err error) {
	if err := json.Unmarshal(x.Body, &p); err != nil {
		return p, fmt.Errorf("openapitest: %s: %w", x.Body, err)
	}
	return p, nil
}

// checkRequest wants a request that was accepted to be one that the document
// allows: the server must not take what is not described, and lead clients to
// rely on it.
func checkRequest(ctx context.Context, in found, x Exchange) error {
	req := x.Request.Clone(ctx)
	req.Body = io.NopCloser(bytes.NewReader(x.Sent))
	req.ContentLength = int64(len(x.Sent))
	if body := in.route.Operation.RequestBody; body != nil && body.Value.Content["application/json"] != nil {
		// The document says that the request's media type does not matter.
		req.Header.Set("Content-Type", "application/json")
	}
	err := openapi3filter.ValidateRequest(ctx, &openapi3filter.RequestValidationInput{
		Request: req, PathParams: in.params, Route: in.route,
		Options: &openapi3filter.Options{
			MultiError: true, SkipSettingDefaults: true, AuthenticationFunc: authenticated,
		},
	})
	if err != nil {
		return fmt.Errorf("the request was accepted, and is not allowed: %w", err)
	}
	return nil
}
