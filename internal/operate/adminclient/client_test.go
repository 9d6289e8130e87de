package adminclient_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/openqueue/waitingroom/internal/operate/adminclient"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/zone"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client is one of a server that answers so.
func client(t *testing.T, answer http.HandlerFunc) *adminclient.Client {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return clientOf(t, adminclient.Options{URL: server.URL + "/", Token: "the token", Operator: "anna"})
}

func clientOf(t *testing.T, o adminclient.Options) *adminclient.Client {
	t.Helper()
	c, err := adminclient.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func zones(ctx context.Context, c *adminclient.Client) (adminclient.Reply[operator.Zones], error) {
	return adminclient.Call[operator.Zones](ctx, c, adminclient.Request{ID: "listZones"})
}

func problem(status int, code string, more ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(more); i += 2 {
			w.Header().Set(more[i], more[i+1])
		}
		w.Header().Set("Content-Type", "application/problem+json; charset=utf-8")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"title":"T","detail":"Do this.","code":"`+code+`","errors":["a","b"],"status":`+"1"+`}`)
	}
}

func text(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestKindsOfFailure(t *testing.T) {
	t.Parallel()
	kinds := []error{
		adminclient.ErrInvalid, adminclient.ErrUnauthorized, adminclient.ErrNotFound, adminclient.ErrConflict,
		adminclient.ErrUnavailable, adminclient.ErrUnreachable,
	}
	elsewhere := http.RedirectHandler("https://evil.example/", http.StatusTemporaryRedirect)
	tests := []struct {
		name   string
		answer http.HandlerFunc
		want   error
	}{
		{"bad request", problem(400, "invalid_request"), adminclient.ErrInvalid},
		{"body too large", problem(413, "body_too_large"), adminclient.ErrInvalid},
		{"method", problem(405, "method_not_allowed"), adminclient.ErrInvalid},
		{"token", problem(401, "unauthorized"), adminclient.ErrUnauthorized},
		{"token, again", problem(429, "too_many_wrong_tokens"), adminclient.ErrUnauthorized},
		{"origin", problem(403, "cross_origin"), adminclient.ErrUnauthorized},
		{"no zone", problem(404, "zone_unknown"), adminclient.ErrNotFound},
		{"no path", problem(404, "not_found"), adminclient.ErrUnreachable},
		{"conflict", problem(409, "conflict"), adminclient.ErrConflict},
		{"precondition", problem(412, "precondition_failed"), adminclient.ErrConflict},
		{"too many", problem(429, "too_many_requests"), adminclient.ErrUnavailable},
		{"internal", problem(500, "internal_error"), adminclient.ErrUnavailable},
		{"store", problem(503, "store_unavailable"), adminclient.ErrUnavailable},
		{"somebody's 404", text(404, "text/html", "<h1>"), adminclient.ErrUnreachable},
		{"a proxy's 502", text(502, "text/html", "<h1>"), adminclient.ErrUnreachable},
		{"a problem without a code", text(404, "application/problem+json", `{"status":404}`), adminclient.ErrUnreachable},
		{"somebody's page", text(200, "text/html", "<h1>"), adminclient.ErrUnreachable},
		{"half an answer", text(200, "application/json", `{"zones":[`), adminclient.ErrUnreachable},
		{"another shape", text(200, "application/json", `[]`), adminclient.ErrUnreachable},
		{"another server", elsewhere.ServeHTTP, adminclient.ErrUnreachable},
		{"a cut connection", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, adminclient.ErrUnreachable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := zones(t.Context(), client(t, tt.answer))
			for _, kind := range kinds {
				if errors.Is(err, kind) != errors.Is(kind, tt.want) {
					t.Errorf("%v: is %v: %v", err, kind, errors.Is(err, kind))
				}
			}
		})
	}
}

func TestProblem(t *testing.T) {
	t.Parallel()
	_, err := zones(t.Context(), client(t, problem(503, "store_unavailable", "Retry-After", "3")))
	p, ok := errors.AsType[*adminclient.ProblemError](err)
	if !ok || p.Status != 503 || p.Code != "store_unavailable" || p.Detail != "Do this." || p.Title != "T" ||
		p.RetryAfterSeconds != 3 || err.Error() != "a; b (503 store_unavailable)" {
		t.Errorf("got %+v: %v", p, err)
	}
}

func TestWhatIsSent(t *testing.T) {
	t.Parallel()
	type sent struct{ method, uri, body, match, none string }
	var got sent
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = sent{r.Method, r.RequestURI, string(body), r.Header.Get("If-Match"), r.Header.Get("If-None-Match")}
		if r.Header.Get("Authorization") != "Bearer the token" || r.Header.Get("X-Operator") != "anna" {
			t.Errorf("headers %v", r.Header)
		}
		w.Header().Set("ETag", `"v2"`)
		if r.Method == http.MethodDelete {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPut {
			w.WriteHeader(http.StatusCreated)
		}
		_, _ = io.WriteString(w, `{"zoneId":"Z","perMinute":7,"ofTomorrow":{}}`+"\n")
	})
	settings := map[string]any{"perMinute": int64(7)}
	steps := []struct {
		call adminclient.Request
		want sent
	}{
		{adminclient.Request{ID: "listZones"}, sent{"GET", "/admin/zones", "", "", ""}},
		{adminclient.Request{ID: "getZone", Parts: []string{"a/b"}}, sent{"GET", "/admin/zones/a%2Fb", "", "", ""}},
		{adminclient.Request{ID: "changeEvent", Parts: []string{"Z", "noon", "hold"}, Body: settings},
			sent{"POST", "/admin/zones/Z/events/noon/hold", `{"perMinute":7}`, "", ""}},
		{adminclient.Request{ID: "putZone", Parts: []string{"Z"}, Only: serve.Condition{IfNoneMatch: "*"}, Body: settings},
			sent{"PUT", "/admin/zones/Z", `{"perMinute":7}`, "", "*"}},
		{adminclient.Request{ID: "deleteZone", Parts: []string{"Z"}, Only: serve.Condition{IfMatch: `"v1"`}}, sent{"DELETE", "/admin/zones/Z", "", `"v1"`, ""}},
		{adminclient.Request{ID: "listChanges", Query: map[string]string{"limit": "5", "zoneId": "", "policy": "a b"}},
			sent{"GET", "/admin/audit?limit=5&policy=a+b", "", "", ""}},
	}
	for _, step := range steps {
		r, err := adminclient.Call[zone.Settings](t.Context(), c, step.call)
		if err != nil || got != step.want || r.Version != `"v2"` {
			t.Errorf("sent %+v, %v, version %s\nwant %+v", got, err, r.Version, step.want)
		}
		if got.method != http.MethodDelete && (r.Value.PerMinute != 7 || string(r.JSON) != `{"zoneId":"Z","perMinute":7,"ofTomorrow":{}}`) {
			t.Errorf("%s %s: read %+v", got.method, got.uri, r)
		}
	}
}

// A call is made once, also when its connection is cut.
func TestNothingIsRepeated(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"refused": problem(503, "store_unavailable", "Retry-After", "1"),
		"cut":     func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		var calls atomic.Int64
		c := client(t, func(w http.ResponseWriter, r *http.Request) {
			if calls.Add(1); r.Method == http.MethodGet {
				text(200, "application/json", "{}")(w, r)
				return
			}
			answer(w, r)
		})
		if _, err := zones(t.Context(), c); err != nil { // the next call has a connection that was used
			t.Fatal(err)
		}
		if _, err := adminclient.Call[zone.Settings](t.Context(), c, adminclient.Request{ID: "patchZone", Parts: []string{"Z"}, Body: map[string]any{"perMinute": 1}}); err == nil || calls.Load() != 2 {
			t.Errorf("%s: %v after %d calls, want an error after one each", name, err, calls.Load())
		}
	}
}

func TestNoAnswer(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	c := clientOf(t, adminclient.Options{URL: "http://" + silent.Addr().String(), Timeout: 50 * time.Millisecond})
	if _, err := zones(t.Context(), c); !errors.Is(err, adminclient.ErrUnreachable) || !strings.Contains(err.Error(), "no answer within 50ms") {
		t.Errorf("a silent server: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := zones(ctx, c); !errors.Is(err, context.Canceled) || errors.Is(err, adminclient.ErrUnreachable) {
		t.Errorf("ended by the caller: %v", err)
	}
	c = clientOf(t, adminclient.Options{URL: "http://127.0.0.1:1"})
	_, err = zones(t.Context(), c)
	if !errors.Is(err, adminclient.ErrUnreachable) || !strings.HasPrefix(err.Error(), "http://127.0.0.1:1: ") || strings.Contains(err.Error(), "Get \"") {
		t.Errorf("nobody there: %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, o := range []adminclient.Options{
		{URL: ""}, {URL: "127.0.0.1:8081"}, {URL: "ftp://x"}, {URL: "http://"}, {URL: "http://x/?token=y"},
		{URL: "http://me:pass@x"}, {URL: "http://x", Operator: "a\nb"}, {URL: "http://x", Operator: "\xff"},
		{URL: "http://x", Operator: strings.Repeat("x", zone.MaxByLength+1)},
	} {
		if _, err := adminclient.New(o); err == nil || strings.Contains(err.Error(), "pass@") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
