package checkapi_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/openqueue/waitingroom/internal/check/openapitest"
	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/limits/address"
	"github.com/openqueue/waitingroom/internal/limits/checkapi"
	"github.com/openqueue/waitingroom/internal/limits/identity"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limit/local"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
)

// excused are answers of the description that these tests cannot get.
var excused = map[string]string{
	"POST /limits/{policy}/check 408 request_timeout": "for a body that does not come; held by package answer",
}

// TestMain fails if the tests did not get every answer of the API's description.
func TestMain(m *testing.M) {
	status := openapitest.Limits.Main(m, excused,
		"/limits/{policy}/check", "/limits/{policy}/auth", "/limits/{policy}/auth/{path}")
	if err := goleak.Find(); status == 0 && err != nil {
		slog.New(slog.NewTextHandler(os.Stderr, nil)).Error("goroutines are left", "error", err)
		status = 1
	}
	os.Exit(status)
}

// room is the listener with real limits and real identities, behind echo.
type room struct {
	clock *parts.Clock
	store *store
	local *local.Counters
	http  http.Handler
	// bare is http without the check against the document.
	bare http.Handler
}

const fiveASecond = "api"

// policies are the policies of the tests' room.
var policies = limit.PolicySet{}.
	Put(limit.Policy{
		Name: fiveASecond, Key: []limit.Source{limit.SourceJWT, limit.SourceAPIKey, limit.SourceIP},
		Rules: []limit.Rule{{Algorithm: limit.SlidingLog, Limit: 5, WindowSeconds: 1}},
		Tiers: map[string][]limit.Rule{"pro": {{Algorithm: limit.SlidingLog, Limit: 50, WindowSeconds: 1}}},
	}).
	Put(limit.Policy{Name: "two", OnStoreFailure: limit.FailureOpen, Rules: []limit.Rule{
		{Algorithm: limit.SlidingLog, Limit: 5, WindowSeconds: 1},
		{Algorithm: limit.LeakyBucket, Limit: 60, WindowSeconds: 60, Burst: 19},
	}}).
	Put(limit.Policy{Name: "closed", OnStoreFailure: limit.FailureClosed, Rules: []limit.Rule{
		{Algorithm: limit.FixedWindow, Limit: 5, WindowSeconds: 1},
	}})

// newRoom is a room for one test.
func newRoom(tb testing.TB) *room {
	tb.Helper()
	r := &room{clock: parts.NewClock()}
	r.store = &store{Counters: local.New(local.CountersOptions{Now: r.clock.Now})}
	r.local = local.New(local.CountersOptions{Now: r.clock.Now})
	tb.Cleanup(r.store.Close)
	tb.Cleanup(r.local.Close)
	limits := limiter.New(limiter.Dependencies{Store: r.store, Local: r.local, Now: r.clock.Now})
	limits.Use(policies)
	identities, err := identity.New(identity.FinderOptions{
		Address: address.Finder([]netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}), APIKeys: keyFile(tb),
	})
	parts.Must(tb, err)
	r.bare = routes(checkapi.NewHTTP(limits, identities))
	r.http = openapitest.Limits.Handler(tb, r.bare)
	return r
}

// keyFile has the SHA-256 of abc, of the tier pro.
func keyFile(tb testing.TB) string {
	tb.Helper()
	name := tb.TempDir() + "/keys"
	parts.Must(tb, os.WriteFile(name, []byte("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad pro\n"), 0o600))
	return name
}

// send sends a request from 192.0.2.1, which is a trusted proxy. header is name, value,
// name, value.
func (r *room) send(method, path, body string, header ...string) *httptest.ResponseRecorder {
	return r.sendTo(r.http, method, path, body, header...)
}

func (*room) sendTo(h http.Handler, method, path, body string, header ...string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w
}

// store fails if the test says so.
type store struct {
	*local.Counters
	mu  sync.Mutex
	err error
}

func (s *store) Allow(ctx context.Context, r limit.Request) (limit.Verdict, error) {
	s.mu.Lock()
	err := s.err
	s.mu.Unlock()
	if err != nil {
		return limit.Verdict{}, err
	}
	return s.Counters.Allow(ctx, r)
}

func (s *store) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// value returns a member of a JSON body.
func value(tb testing.TB, w *httptest.ResponseRecorder, name string) any {
	tb.Helper()
	var body map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		tb.Fatalf("%q: %v", w.Body, err)
	}
	return body[name]
}
