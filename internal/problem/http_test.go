package problem_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/check/openapitest"
	"github.com/openqueue/waitingroom/internal/entry"
	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/problem"
	"github.com/openqueue/waitingroom/internal/refusal"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/serve/cors"
	"github.com/openqueue/waitingroom/internal/ticket"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/wait"
	"github.com/openqueue/waitingroom/internal/zone"
)

// cases are all problems, each with an error that causes it.
var cases = []struct {
	name               string
	err                error
	status             int
	code               string
	retryMin, retryMax int
	detail             string // the exact text, if it is the error's own
}{
	{"field", fmt.Errorf("room: %w", &serve.FieldError{Field: "token", Reason: "is missing"}), 400, "invalid_request", 0, 0, "token is missing"},
	{"settings", &serve.InvalidError{Faults: []string{"a is b", "c is d"}}, 400, "invalid_request", 0, 0, "a is b; c is d"},
	{"invalid", serve.ErrInvalid, 400, "invalid_request", 0, 0, ""},
	{"echo 400", echo.NewHTTPError(400, "secret"), 400, "invalid_request", 0, 0, ""},
	{"token", token.ErrInvalid, 401, "token_invalid", 0, 0, ""},
	{"operator", operator.ErrUnauthorized, 401, "unauthorized", 0, 0, ""},
	{"guessing", operator.ErrGuessing, 429, "too_many_wrong_tokens", 2, 4, ""},
	{"another host", operator.ErrHost, 421, "host_unknown", 0, 0, ""},
	{"cross-origin", operator.ErrCrossOrigin, 403, "cross_origin", 0, 0, ""},
	{"cross-origin, of a visitor", cors.ErrCrossOrigin, 403, "cross_origin", 0, 0, ""},
	{"zone unknown", line.ErrZoneUnknown, 404, "zone_unknown", 0, 0, ""},
	{"zone deleted", line.ErrZoneDeleted, 404, "zone_unknown", 0, 0, ""},
	{"echo 404", echo.ErrNotFound, 404, "not_found", 0, 0, ""},
	{"echo 405", echo.ErrMethodNotAllowed, 405, "method_not_allowed", 0, 0, ""},
	{"conflict", operator.ErrConflict, 409, "conflict", 1, 3, ""},
	{"zone changed", line.ErrZoneChanged, 409, "conflict", 1, 3, ""},
	{"an event is fixed", &operator.FixedError{Sentence: "it is fixed"}, 409, "event_fixed", 0, 0, ""},
	{"not as it was seen", operator.ErrPrecondition, 412, "precondition_failed", 0, 0, ""},
	{"gone", entry.ErrGone, 410, "token_expired", 0, 0, ""},
	{"too slow", serve.ErrTooSlow, 408, "request_timeout", 1, 3, ""},
	{"too large", serve.ErrTooLarge, 413, "body_too_large", 0, 0, ""},
	{"echo 413", echo.ErrStatusRequestEntityTooLarge, 413, "body_too_large", 0, 0, ""},
	{"ticket missing", ticket.ErrMissing, 403, "ticket_missing", 0, 0, ""},
	{"ticket invalid", &ticket.InvalidError{Reason: "It has expired."}, 403, "ticket_invalid", 0, 0, "It has expired."},
	{"ticket used", ticket.ErrUsed, 403, "ticket_used", 0, 0, ""},
	{"sold out", &answer.SoldOutError{Reason: zone.Texts{"default": "No seats are left."}}, 410, "sold_out", 0, 0, "No seats are left."},
	{"closed", wait.ErrClosed, 423, "zone_closed", 0, 0, ""},
	{"full", wait.ErrFull, 429, "line_full", 5, 10, ""},
	{"too often", fmt.Errorf("room: %w", &guard.RefusedError{RetryMillis: 6_001}), 429, "too_many_requests", 7, 7, ""},
	{"echo 429", echo.ErrTooManyRequests, 429, "too_many_requests", 5, 10, ""},
	{"unknown", errors.New("secret"), 500, "internal_error", 0, 0, ""},
	{"echo 500", echo.NewHTTPError(500, "secret"), 500, "internal_error", 0, 0, ""},
	{"echo odd", echo.NewHTTPError(299, "secret"), 500, "internal_error", 0, 0, ""},
	{"echo unnamed", echo.NewHTTPError(599, "secret"), 500, "internal_error", 0, 0, ""},
	{"store", fmt.Errorf("secret: %w", line.ErrStoreUnavailable), 503, "store_unavailable", 1, 3, ""},
	{"deadline", context.DeadlineExceeded, 503, "store_unavailable", 1, 3, ""},
	{"echo 503", echo.ErrServiceUnavailable, 503, "service_unavailable", 1, 3, ""},
	// A status without a row stays as it is, with a code made from its name.
	{"echo 415", echo.ErrUnsupportedMediaType, 415, "unsupported_media_type", 0, 0, ""},
	// An error of ours that one of echo wraps counts as ours.
	{"wrapped by echo", echo.NewHTTPError(400, "secret").SetInternal(wait.ErrClosed), 423, "zone_closed", 0, 0, ""},
	{"in a zone", answer.InZone("Z", wait.ErrClosed), 423, "zone_closed", 0, 0, ""},
}

// refusals is a meter that writes down its calls.
type refusals []string

func (r *refusals) Refuse(zoneID, code string) { *r = append(*r, zoneID+" "+code) }

// answerTo makes a handler fail with err, and returns what the client gets.
func answerTo(method string, err error) (w *httptest.ResponseRecorder, logs string, metered refusals) {
	var buf bytes.Buffer
	e := echo.New()
	e.HTTPErrorHandler = problem.Handler(slog.New(slog.NewTextHandler(&buf, nil)), &metered)
	e.Add(method, "/fails/:how", func(echo.Context) error { return err })
	w = httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequest(method, "/fails/secretly", nil))
	return w, buf.String(), metered
}

func TestHandler(t *testing.T) {
	t.Parallel()
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, logs, metered := answerTo(http.MethodPost, tt.err)
			var d map[string]any
			if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil {
				t.Fatal(err)
			}
			if w.Code != tt.status || d["status"] != float64(tt.status) || d["code"] != tt.code {
				t.Errorf("got %d %s, want %d %s", w.Code, w.Body, tt.status, tt.code)
			}
			for _, member := range []string{"type", "title", "detail"} {
				if text, ok := d[member].(string); !ok || text == "" || strings.Contains(text, "secret") {
					t.Errorf("%s is %q", member, d[member])
				}
			}
			if tt.detail != "" && d["detail"] != tt.detail {
				t.Errorf("detail is %q, want %q", d["detail"], tt.detail)
			}
			want := map[string]string{
				"Content-Type": "application/problem+json", "Cache-Control": "no-store",
				"Content-Length": fmt.Sprint(w.Body.Len()),
			}
			for name, value := range want {
				if got := w.Header().Get(name); got != value {
					t.Errorf("%s is %q, want %q", name, got, value)
				}
			}
			if got := w.Header().Get("WWW-Authenticate"); strings.HasPrefix(got, "Bearer ") != (tt.status == 401) {
				t.Errorf("WWW-Authenticate is %q", got)
			}
			checkDescribed(t, tt.code, w)
			lines := 0
			if tt.status == 500 {
				lines = 1
			}
			if strings.Count(logs, "\n") != lines {
				t.Errorf("logged %q, want %d lines", logs, lines)
			}
			if strings.Contains(logs, "secretly") {
				t.Errorf("the log has the raw path: %s", logs)
			}
			if want := answer.ZoneOf(tt.err) + " " + tt.code; !slices.Equal(metered, []string{want}) {
				t.Errorf("metered %q, want %q", metered, want)
			}
		})
	}
}

// checkDescribed checks that a document describes the problem, just as it is.
func checkDescribed(t *testing.T, code string, w *httptest.ResponseRecorder) {
	t.Helper()
	if !slices.Contains(refusal.Codes(), code) || code == "method_not_allowed" {
		return // made from a status that no route answers; or the router adds Allow: see TestHandlerOfRoutes
	}
	x := openapitest.Exchange{
		Request: httptest.NewRequest(http.MethodPost, "/described/nowhere", nil),
		Status:  w.Code, Header: w.Header(), Body: w.Body.Bytes(),
	}
	public, operators := openapitest.Public.Check(t.Context(), x), openapitest.Operators.Check(t.Context(), x)
	if public != nil && operators != nil {
		t.Error(public, operators)
	}
}

// Retry-After is in its range, and takes more than one value of it.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for _, tt := range cases {
		seen := make(map[string]bool)
		for range 100 {
			w, _, _ := answerTo(http.MethodPost, tt.err)
			seen[w.Header().Get("Retry-After")] = true
		}
		allowed := map[string]bool{"": tt.retryMax == 0}
		for s := tt.retryMin; s <= tt.retryMax && s > 0; s++ {
			allowed[fmt.Sprint(s)] = true
		}
		for value := range seen {
			if !allowed[value] {
				t.Errorf("%s: Retry-After %q, want %d to %d", tt.name, value, tt.retryMin, tt.retryMax)
			}
		}
		if tt.retryMax > tt.retryMin && len(seen) < 2 {
			t.Errorf("%s: Retry-After is always %v", tt.name, seen)
		}
	}
}

func TestHandlerOfRoutes(t *testing.T) {
	t.Parallel()
	e := echo.New()
	e.HTTPErrorHandler = problem.Handler(slog.New(slog.DiscardHandler), &refusals{})
	e.POST("/traffic/wait", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
	for _, tt := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"GET", "/nowhere", 404, ""}, {"POST", "/traffic", 404, ""}, {"GET", "/traffic/wait", 405, "OPTIONS, POST"},
	} {
		w := httptest.NewRecorder()
		openapitest.Public.Handler(t, e).ServeHTTP(w, httptest.NewRequest(tt.method, tt.path, nil))
		if w.Code != tt.status || w.Header().Get("Allow") != tt.allow ||
			w.Header().Get("Content-Type") != refusal.ContentType {
			t.Errorf("%s %s: got %d %v %s", tt.method, tt.path, w.Code, w.Header(), w.Body)
		}
	}
}

func TestHandlerOfHead(t *testing.T) {
	t.Parallel()
	w, _, _ := answerTo(http.MethodHead, line.ErrZoneUnknown)
	if w.Code != 404 || w.Body.Len() != 0 || w.Header().Get("Content-Length") == "0" {
		t.Errorf("got %d %v %s", w.Code, w.Header(), w.Body)
	}
}

// A client that went away is no failure: it is neither logged nor counted. A client
// that is still there while the server stops is told to come back.
func TestHandlerOfCancellation(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		context.Canceled, fmt.Errorf("zones: %w: %w", line.ErrStoreUnavailable, context.Canceled),
	} {
		w, logs, metered := answerTo(http.MethodPost, err)
		if w.Code != 503 || w.Header().Get("Retry-After") == "" || logs != "" || len(metered) != 0 {
			t.Errorf("got %d, logged %q, metered %q", w.Code, logs, metered)
		}
	}
}

func TestHandlerAfterTheAnswerHasBegun(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	var metered refusals
	e := echo.New()
	e.HTTPErrorHandler = problem.Handler(slog.New(slog.NewTextHandler(&buf, nil)), &metered)
	e.GET("/", func(c echo.Context) error {
		if err := c.String(http.StatusOK, "answer"); err != nil {
			return err
		}
		return errors.New("broken pipe")
	})
	w := httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Body.String() != "answer" || buf.Len() != 0 || len(metered) != 0 {
		t.Errorf("got %s, logged %q, metered %q", w.Body, &buf, metered)
	}
}
