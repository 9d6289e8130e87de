package checkapi_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/check/openapitest"
	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/limits/address"
	"github.com/openqueue/waitingroom/internal/limits/checkapi"
	"github.com/openqueue/waitingroom/internal/limits/identity"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/limits/ratelimit"
	"github.com/openqueue/waitingroom/internal/problem"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/serve/route"
)

type noMeter struct{}

func (noMeter) Refuse(string, string) {}

// routes adds the room's routes as the server does.
func routes(h *checkapi.HTTP) *echo.Echo {
	e := echo.New()
	e.HTTPErrorHandler = problem.Handler(slog.New(slog.DiscardHandler), noMeter{})
	route.Mount(e, h.Routes(nil))
	return e
}

// fields returns the values of ratelimit.Fields, in order, - for none.
func fields(w *httptest.ResponseRecorder) string {
	var all []string
	for _, name := range ratelimit.Fields {
		value := w.Header().Get(name)
		if value == "" {
			value = "-"
		}
		all = append(all, value)
	}
	return fmt.Sprint(w.Code, " ", strings.Join(all, "|"))
}

// TestTheSixthOfFive: the sixth request is refused, with the fields and the exact time, and is
// not counted. The next ones are refused from memory.
func TestTheSixthOfFive(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	check := func() *httptest.ResponseRecorder {
		return r.send("POST", "/limits/api/check", `{"key":"ip:203.0.113.9"}`)
	}
	for i := range 5 {
		want := fmt.Sprintf(`200 "api";q=5;w=1|"api";r=%d;t=1|5|%d|1|-`, 4-i, 4-i)
		if w := check(); fields(w) != want || value(t, w, "source") != "store" || value(t, w, "allowed") != true {
			t.Errorf("%d: %s %s, want %s", i+1, fields(w), w.Body, want)
		}
		r.clock.Forward(100 * time.Millisecond)
	}
	for i := range 3 { // the second and third from memory
		w := check()
		if want := `429 "api";q=5;w=1|"api";r=0;t=1|5|0|1|1`; fields(w) != want || value(t, w, "code") != "rate_limited" ||
			value(t, w, "retryAfterMillis") != 500.0 || value(t, w, "policy") != "api" {
			t.Errorf("refused, %d: %s %s, want %s", i, fields(w), w.Body, want)
		}
	}
	r.clock.Forward(500 * time.Millisecond)
	if w := check(); w.Code != 200 {
		t.Errorf("at the moment that was told: %s", fields(w))
	}
}

func TestCheckCountsByKeyTierAndCost(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	for i, tt := range []struct {
		body      string
		status    int
		remaining string
	}{
		{`{"key":"a","cost":5}`, 200, "0"},
		{`{"key":"a"}`, 429, "0"},
		{`{"key":"b","cost":3}`, 200, "2"},
		{`{"key":"b","cost":3}`, 429, "2"},
		{`{"key":"b","cost":2}`, 200, "0"},
		{`{"key":"a","tier":"pro"}`, 200, "49"},
		{`{"key":"c","tier":"nobody's"}`, 400, ""},
		{`{"key":"c","tier":"unheard-of","cost":null,"more":[1]}`, 200, "4"},
		{`{"key":"c","tier":null}`, 200, "3"},
	} {
		w := r.send("POST", "/limits/api/check", tt.body)
		if w.Code != tt.status || w.Header().Get("X-RateLimit-Remaining") != tt.remaining {
			t.Errorf("%d: %s: %s %s", i, tt.body, fields(w), w.Body)
		}
	}
}

func TestQuestionsThatAreWrong(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	for _, tt := range []struct {
		path, body, code, detail string
	}{
		{"/limits/api/check", ``, "invalid_request", "body is not valid JSON"},
		{"/limits/api/check", `[]`, "invalid_request", "body must be a JSON object"},
		{"/limits/api/check", `null`, "invalid_request", "key is missing"},
		{"/limits/api/check", `{}`, "invalid_request", "key is missing"},
		{"/limits/api/check", "{\"key\":\"\xff\"}", "invalid_request", "body is not valid JSON"},
		{"/limits/api/check", "\ufeff{\"key\":\"a\"}", "invalid_request", "body is not valid JSON"},
		{"/limits/api/check", `{"key":"\ud83d"}`, "invalid_request", "body is not valid JSON"},
		{"/limits/api/check", `{"key":"a","key":"b"}`, "invalid_request", "body has a member twice"},
		{"/limits/api/check", `{"KEY":"a"}`, "invalid_request", "key is missing"},
		{"/limits/api/check", `{"key":1}`, "invalid_request", "key must be a string"},
		{"/limits/api/check", `{"key":"` + strings.Repeat("k", 257) + `"}`, "invalid_request", "key must have 1 to 256 bytes"},
		{"/limits/api/check", `{"key":"a","tier":1}`, "invalid_request", "tier must be a string"},
		{"/limits/api/check", `{"key":"a","tier":"a b"}`, "invalid_request", "tier must be 1 to 64"},
		{"/limits/api/check", `{"key":"a","cost":0}`, "invalid_request", "cost must be 1 or more"},
		{"/limits/api/check", `{"key":"a","cost":-1}`, "invalid_request", "cost must be 1 or more"},
		{"/limits/api/check", `{"key":"a","cost":NaN}`, "invalid_request", "body is not valid JSON"},
		{"/limits/api/check", `{"key":"a","cost":1e400}`, "invalid_request", "cost must be a whole number"},
		{"/limits/api/check", `{"key":"a","cost":99999999999999999999}`, "invalid_request", "cost must be a whole number"},
		{"/limits/api/check", `{"key":"a","cost":9223372036854775807}`, "invalid_request", "cost must be between 1 and"},
		{"/limits/api/check", `{"key":"a","cost":1.5}`, "invalid_request", "cost must be a whole number"},
		{"/limits/api/check", `{"key":"a","cost":"1"}`, "invalid_request", "cost must be a whole number"},
		{"/limits/api/check", `{"key":"a","cost":6}`, "invalid_request", "cost must be between 1 and"},
		{"/limits/api/check", `{"key":"` + strings.Repeat("k", serve.MaxBody) + `"}`, "body_too_large", ""},
		{"/limits/none/check", `{"key":"a"}`, "policy_unknown", ""},
		{"/limits/none/auth", "", "policy_unknown", ""},
		{"/limits/none/auth/x", "", "policy_unknown", ""},
		{"/limits/api", "", "not_found", ""},
		{"/limits//auth", "", "policy_unknown", ""},
	} {
		method := http.MethodGet
		if tt.body != "" || strings.HasSuffix(tt.path, "/check") {
			method = http.MethodPost
		}
		h := r.http
		if strings.Contains(tt.path, "//") { // which no description has
			h = r.bare
		}
		w := r.sendTo(h, method, tt.path, tt.body)
		detail, _ := value(t, w, "detail").(string)
		if value(t, w, "code") != tt.code || !strings.HasPrefix(detail, tt.detail) {
			t.Errorf("%s %.40s: %s", tt.path, tt.body, w.Body)
		}
	}
	if w := r.send("GET", "/limits/api/check", ""); w.Code != 405 || w.Header().Get("Allow") == "" {
		t.Errorf("another method: %d", w.Code)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req := httptest.NewRequestWithContext(ctx, "POST", "/limits/closed/check", strings.NewReader(`{"key":"a"}`))
	w := httptest.NewRecorder()
	r.store.fail(context.Canceled)
	r.bare.ServeHTTP(w, req) // a client that hung up does not read the answer
	if w.Code != 503 {
		t.Errorf("hung up: %d", w.Code)
	}
}

// TestAuthIsAsGatewaysAsk: each gateway asks in its own way, and all share one count.
func TestAuthIsAsGatewaysAsk(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	const who = "X-Forwarded-For"
	for i, ask := range []func() *httptest.ResponseRecorder{
		func() *httptest.ResponseRecorder { // nginx: a GET, whatever the client's method
			return r.send("GET", "/limits/api/auth", "", who, "203.0.113.9", "X-Original-URI", "/orders")
		},
		func() *httptest.ResponseRecorder { // Traefik: a GET
			return r.send("GET", "/limits/api/auth", "", who, "203.0.113.9", "X-Forwarded-Method", "POST", "X-Forwarded-Uri", "/")
		},
		func() *httptest.ResponseRecorder { // Envoy: the client's method, path and query
			return r.send("GET", "/limits/api/auth/orders?cost=0&policy=two", "", who, "203.0.113.9")
		},
		func() *httptest.ResponseRecorder {
			return r.sendTo(r.bare, "POST", "/limits/api/auth/orders/7/../../../two/auth", "", who, "203.0.113.9")
		},
		func() *httptest.ResponseRecorder {
			return r.sendTo(r.bare, "PURGE", "/limits/api/auth/%2e%2e/%2e%2e/two/check", "not looked at", who, "203.0.113.9")
		},
	} {
		if w := ask(); w.Code != 200 || w.Header().Get("X-RateLimit-Remaining") != fmt.Sprint(4-i) || w.Body.Len() != 0 {
			t.Errorf("%d: %s %q", i, fields(w), w.Body)
		}
	}
	for _, method := range []string{"GET", "HEAD"} {
		for _, path := range []string{"/limits/api/auth", "/limits/api/auth/orders"} {
			if w := r.send(method, path, "", who, "203.0.113.9"); w.Code != 429 || w.Header().Get("Retry-After") != "1" {
				t.Errorf("%s %s: %s", method, path, fields(w))
			}
		}
	}
	// A check that names the same key has the same count.
	if w := r.send("POST", "/limits/api/check", `{"key":"ip:203.0.113.9"}`); w.Code != 429 {
		t.Errorf("check: %s", fields(w))
	}
}

// TestAuthByKey: a known key counts for itself, with its tier.
func TestAuthByKey(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	for i := range 50 {
		if w := r.send("GET", "/limits/api/auth", "", "X-API-Key", "abc"); w.Code != 200 {
			t.Fatalf("%d: %s", i+1, fields(w))
		}
	}
	if w := r.send("GET", "/limits/api/auth", "", "X-API-Key", "abc"); w.Code != 429 {
		t.Errorf("the 51st of 50: %s", fields(w))
	}
	if w := r.send("GET", "/limits/api/auth", "", "X-API-Key", "abd"); w.Header().Get("X-RateLimit-Limit") != "5" {
		t.Errorf("an unknown key: %s", fields(w))
	}
}

// TestSeveralRules: the answer has all rules. A permit has its delay.
func TestSeveralRules(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	var last *httptest.ResponseRecorder
	for range 3 {
		last = r.send("POST", "/limits/two/check", `{"key":"a"}`)
	}
	want := `200 "two.1";q=5;w=1, "two.2";q=20;w=60|"two.1";r=2;t=1, "two.2";r=17;t=3|5|2|1|-`
	if fields(last) != want || value(t, last, "delayMillis") != 2000.0 {
		t.Errorf("%s %s, want %s", fields(last), last.Body, want)
	}
}

// TestWithoutTheStore: each policy answers in its own way, and the answer says which.
func TestWithoutTheStore(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.store.fail(errors.New("away"))
	for _, path := range []string{"/limits/closed/auth", "/limits/closed/auth/x"} {
		if w := r.send("GET", path, ""); fields(w) != `429 "closed";q=5;w=1|-|-|-|-|1` || value(t, w, "code") != "limits_unavailable" {
			t.Errorf("closed: %s %s", fields(w), w.Body)
		}
	}
	if w := r.send("POST", "/limits/closed/check", `{"key":"a"}`); value(t, w, "code") != "limits_unavailable" {
		t.Errorf("closed: %s", fields(w))
	}
	for range 9 {
		w := r.send("POST", "/limits/two/check", `{"key":"a"}`)
		if fields(w) != `200 "two.1";q=5;w=1, "two.2";q=20;w=60|-|-|-|-|-` || value(t, w, "source") != "open" {
			t.Errorf("open: %s %s", fields(w), w.Body)
		}
	}
	for i := range 6 { // local, which is the default: the whole of it, for there is one server
		if w := r.send("POST", "/limits/api/check", `{"key":"a"}`); (w.Code == 200) != (i < 5) {
			t.Errorf("local: %s %s", fields(w), w.Body)
		}
	}
}

// broken is a limiter that has a bug.
type broken struct{}

func (broken) Check(context.Context, limiter.Question) (limiter.Answer, error) {
	return limiter.Answer{}, errors.New("bug")
}
func (broken) Sources(string) ([]limit.Source, bool) { return nil, true }

func TestWhatShouldNotHappen(t *testing.T) {
	t.Parallel()
	identities, err := identity.New(identity.FinderOptions{Address: address.Finder(nil)})
	parts.Must(t, err)
	h := openapitest.Limits.Handler(t, routes(checkapi.NewHTTP(broken{}, identities)))
	r := &room{http: h}
	for _, w := range []*httptest.ResponseRecorder{
		r.send("POST", "/limits/api/check", `{"key":"a"}`), r.send("GET", "/limits/api/auth", ""), r.send("GET", "/limits/api/auth/x", ""),
	} {
		if w.Code != 500 || strings.Contains(w.Body.String(), "bug") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
}
