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

// Exchange is a request and its answer.
type Exchange struct {
	Request *http.Request
	// Sent is the body of the request, whole, or up to where it broke off.
	Sent   []byte
	Status int
	Header http.Header
	Body   []byte
}

// Check returns all that is wrong with an exchange, or nil: with its answer and, if it was accepted, with the request,
// for the server must not take what is not described, and lead clients to rely on it. Where the document has no such
// operation, the answer must be one of its problems, or have no body.
func (d *Document) Check(ctx context.Context, x Exchange) error {
	doc, err := d.load()
	if err == nil {
		err = doc.check(ctx, x)
	}
	if err != nil {
		return fmt.Errorf("openapitest: %s %s: %d %s: %w", x.Request.Method, x.Request.URL.Path, x.Status, x.Body[:min(len(x.Body), maxShown)], err)
	}
	d.note(doc, x)
	return nil
}

func (d *described) check(ctx context.Context, x Exchange) error {
	route, params, err := d.router.FindRoute(x.Request)
	if err != nil || route.Operation.Responses.Value(strconv.Itoa(x.Status)) == nil && x.Status == http.StatusMisdirectedRequest {
		if len(x.Body) == 0 {
			return nil
		}
		return d.checkProblem(ctx, x)
	}
	ask := openapi3filter.RequestValidationInput{Request: x.Request, PathParams: params, Route: route, Options: &openapi3filter.Options{
		MultiError: true, SkipSettingDefaults: true, IncludeResponseStatus: true, AuthenticationFunc: authenticated,
	}}
	errs := []error{checkAnswer(ctx, ask, x)}
	if answer := route.Operation.Responses.Value(strconv.Itoa(x.Status)); answer != nil {
		errs = append(errs, checkCode(answer.Value, x))
	}
	if x.Status < http.StatusMultipleChoices {
		ask.Request = x.Request.Clone(ctx)
		ask.Request.Body, ask.Request.ContentLength = io.NopCloser(bytes.NewReader(x.Sent)), int64(len(x.Sent))
		if body := route.Operation.RequestBody; body != nil && body.Value.Content["application/json"] != nil {
			// The document says that the request's media type does not matter.
			ask.Request.Header.Set("Content-Type", "application/json")
		}
		if err := openapi3filter.ValidateRequest(ctx, &ask); err != nil {
			errs = append(errs, fmt.Errorf("the request was accepted, and is not allowed: %w", err))
		}
	}
	return errors.Join(errs...)
}

// checkAnswer has kin-openapi's filter look at the answer, and looks itself for a body that should not be there.
func checkAnswer(ctx context.Context, ask openapi3filter.RequestValidationInput, x Exchange) error {
	answer := ask.Route.Operation.Responses.Value(strconv.Itoa(x.Status))
	options := *ask.Options
	// HTTP lets some answers have no body, whatever is described.
	options.ExcludeResponseBody = answer == nil || len(answer.Value.Content) == 0 || x.Request.Method == http.MethodHead || x.Status == http.StatusNotModified
	if options.ExcludeResponseBody && answer != nil && len(x.Body) > 0 {
		return errors.New("there is a body, and none is described")
	}
	body, err := unpacked(x)
	if err != nil {
		return err
	}
	return openapi3filter.ValidateResponse(ctx, &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &ask, Status: x.Status, Header: x.Header, Options: &options, Body: io.NopCloser(bytes.NewReader(body)),
	})
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

// checkCode wants a refusal to be one of the problems that are described for it, by code: the examples are named by
// theirs.
func checkCode(answer *openapi3.Response, x Exchange) error {
	media := answer.Content[problemType]
	if media == nil || len(x.Body) == 0 {
		return nil
	}
	var got problem
	err := json.Unmarshal(x.Body, &got)
	switch {
	case err != nil:
		return err
	case got.Status != x.Status:
		return fmt.Errorf("the document says %d", got.Status)
	case media.Examples[got.Code] == nil:
		return fmt.Errorf("the code %s is not described here", got.Code)
	case !strings.HasSuffix(got.Type, "#"+got.Code):
		return fmt.Errorf("the type %s is not that of the code %s", got.Type, got.Code)
	}
	return nil
}

// checkProblem returns all that is wrong with a problem, whichever operation answered it: with its status, its headers and
// its document, as the problem of that code is described.
func (d *described) checkProblem(ctx context.Context, x Exchange) error {
	var got problem
	if err := json.Unmarshal(x.Body, &got); err != nil || got.Code == "" {
		return errors.New("the operation is not described, and this is no problem")
	}
	for _, ref := range d.Components.Responses {
		if media := ref.Value.Content[problemType]; media == nil || media.Examples[got.Code] == nil {
			continue
		}
		only := &openapi3.Operation{Responses: openapi3.NewResponses(openapi3.WithStatus(x.Status, ref))}
		ask := openapi3filter.RequestValidationInput{
			Request: x.Request, Route: &routers.Route{Spec: d.T, Operation: only},
			Options: &openapi3filter.Options{MultiError: true, IncludeResponseStatus: true},
		}
		return errors.Join(checkAnswer(ctx, ask, x), checkCode(ref.Value, x))
	}
	return fmt.Errorf("the code %s is not described", got.Code)
}

// authenticated wants a request to carry what its security scheme asks for; whether it is the right one, the server judges.
func authenticated(_ context.Context, in *openapi3filter.AuthenticationInput) error {
	scheme, shown, _ := strings.Cut(in.RequestValidationInput.Request.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, in.SecurityScheme.Scheme) || shown == "" {
		return in.NewError(nil)
	}
	return nil
}
