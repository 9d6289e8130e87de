package site_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"go.uber.org/goleak"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/challenge"
	"github.com/openqueue/waitingroom/internal/check/openapitest"
	"github.com/openqueue/waitingroom/internal/embedded"
	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/network"
	"github.com/openqueue/waitingroom/internal/pass"
	"github.com/openqueue/waitingroom/internal/problem"
	"github.com/openqueue/waitingroom/internal/site"
	"github.com/openqueue/waitingroom/internal/ticket"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/wait"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

const (
	zoneID  = "SHOP"
	roomURL = "https://queue.shop.example"
)

// excused are answers of the description that these tests cannot get.
var excused = map[string]string{
	"POST /site/{zoneId}/done 404 not_found":          "for a zone that there is not; it is the answer of every other path, too",
	"POST /site/{zoneId}/done 503 admission_required": "for a request without a body, which is a gateway's question",
	"POST /site/{zoneId}/done 503 store_unavailable":  "for a jti while the store is away; held by package registry",
	"GET /site/{zoneId}/{path} 503 store_unavailable": "only Envoy asks there; the other gateways' answer is the same",
	"GET /site/{zoneId}/{path} 400 invalid_request":   "for a name that the description does not know; held by TestQuestionsThatAreWrong",
}

// excusedPublic are those of the public listener.
var excusedPublic = map[string]string{
	"POST /traffic/session 403 cross_origin":          "for the server's routes, which refuse it before the room",
	"POST /traffic/session/end 403 cross_origin":      "for the server's routes, which refuse it before the room",
	"POST /traffic/session/end 500 internal_error":    "for a fault of the store; the other operation gets it",
	"POST /traffic/session/end 503 store_unavailable": "for a zone that this server has not read; held by package registry",
}

// TestMain fails if the tests did not get every answer of the API's description.
func TestMain(m *testing.M) {
	status := openapitest.Site.Main(m, excused, "/site/{zoneId}", "/site/{zoneId}/{path}", "/site/{zoneId}/done")
	status = openapitest.Public.After(status, excusedPublic, "/traffic/session", "/traffic/session/end")
	if err := goleak.Find(); status == 0 && err != nil {
		slog.New(slog.NewTextHandler(os.Stderr, nil)).Error("goroutines are left", "error", err)
		status = 1
	}
	os.Exit(status)
}

// room is the gate over a real line and real limits, whose clock the test moves.
type room struct {
	*embedded.Store
	t      testing.TB
	mu     sync.Mutex
	now    time.Time
	away   error // what the store answers instead
	hangs  bool  // the store answers only when its caller has gone
	floods bool  // each pass is shown too often
	lined  bool  // one waits who may enter
	joins  int
	counts map[string]int
	keys   *token.Keys
	passes *pass.Signer
	wait   *wait.Service
	guard  *guard.Guard
	zones  *zones.Zones
	// http is bare, with each answer checked against the description of the site's listener; public, of the public one.
	http, public, bare http.Handler
	// decides is the gate in this process.
	decides *site.Service
}

func (r *room) clock() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

func (r *room) forward(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.now.Add(d)
}

func newRoom(tb testing.TB, perMinute int64) *room {
	tb.Helper()
	r := &room{t: tb, now: time.UnixMilli(1_795_223_373_123), counts: map[string]int{}}
	var err error
	r.Store, err = embedded.Open(embedded.Options{Now: r.clock, Logger: slog.New(slog.DiscardHandler)})
	must(tb, err)
	tb.Cleanup(func() { must(tb, r.Close()) })
	r.set(func(s *zone.Settings) { s.PerMinute = perMinute })
	secret := bytes.Repeat([]byte{'n'}, 32)
	r.keys, err = token.NewKeys(secret)
	must(tb, err)
	r.passes, err = pass.NewSigner(pass.DefaultIssuer, secret)
	must(tb, err)
	log := slog.New(slog.DiscardHandler)
	r.guard = guard.New(guard.Options{Limiter: r})
	r.wait = wait.New(wait.Dependencies{
		Guard: r.guard, Tokens: r.keys, Issuer: answer.NewIssuer(r.keys, r.passes), Tickets: ticket.New(nil, r, log),
		Challenges: challenge.New(challenge.Options{Keys: r.keys, Spends: r, Provider: &challenge.Provider{}, Meter: meter{r}, Now: r.clock}),
		Shares:     network.New(nil, log, r.clock), Meter: meter{r}, Now: r.clock,
	})
	r.zones = zones.New(zones.Options{Store: r, Now: r.clock})
	tb.Cleanup(r.zones.Stop)
	r.zones.RunOnce(tb.Context())
	r.bare = r.server(roomURL)
	r.http, r.public = openapitest.Site.Handler(tb, r.bare), openapitest.Public.Handler(tb, r.bare)
	return r
}

// Check and CheckAll are the limiter's, which refuses all while the room says so.

func (r *room) Check(ctx context.Context, q limiter.Question) (limiter.Answer, error) {
	return r.CheckAll(ctx, q)
}

func (r *room) CheckAll(context.Context, ...limiter.Question) (limiter.Answer, error) {
	return limiter.Answer{Verdict: limit.Verdict{Allowed: !r.floods, RetryMillis: 1_000}}, nil
}

func (r *room) Join(ctx context.Context, zoneID string, id line.ID) (line.Answer, error) {
	r.mu.Lock()
	r.joins++
	away, hangs := r.away, r.hangs
	r.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return line.Answer{}, ctx.Err()
	}
	if away != nil {
		return line.Answer{}, away
	}
	return r.Store.Join(ctx, zoneID, id)
}

func (r *room) Observe(ctx context.Context, zoneID string, most int) (line.Observation, error) {
	o, err := r.Store.Observe(ctx, zoneID, most)
	if r.lined {
		o.State.Waiting = 1
	}
	return o, err
}

func (r *room) Zone(ctx context.Context, zoneID string) (zone.Settings, error) {
	r.mu.Lock()
	away := r.away
	r.mu.Unlock()
	if away != nil {
		return zone.Settings{}, away
	}
	return r.Store.Zone(ctx, zoneID)
}

// Spend is the store's, which all servers share.
func (r *room) Spend(ctx context.Context, key, by string, life time.Duration) (bool, error) {
	r.mu.Lock()
	away := r.away
	r.mu.Unlock()
	if away != nil {
		return false, away
	}
	return r.Store.Spend(ctx, key, by, life)
}

// meter is the room as the meter of package wait, whose Join is not the store's.
type meter struct{ *room }

func (meter) Join(string, string)      {}
func (meter) Challenge(string, string) {}

func (*room) Refuse(string, string)       {}
func (*room) Admit(string, time.Duration) {}
func (r *room) Site(_, outcome string)    { r.count(outcome) }

func (r *room) count(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[what]++
}

func (r *room) counted(what string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts[what]
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func (r *room) set(change func(*zone.Settings)) {
	r.t.Helper()
	settings, err := r.Store.Zone(r.t.Context(), zoneID)
	if err != nil {
		settings = zone.Defaults(zoneID)
	}
	change(&settings)
	_, err = r.PutZone(r.t.Context(), settings, nil, "")
	must(r.t, err)
	if r.zones != nil {
		r.zones.RunOnce(r.t.Context())
	}
	r.forward(2 * time.Second) // what State remembers is older now
}

// pass returns the pass of an admission at this moment.
func (r *room) pass(zone string, life time.Duration) string {
	r.t.Helper()
	now := r.clock().UnixMilli()
	return r.passOf(pass.Grant{ZoneID: zone, ID: token.NewID(), AdmittedAtMillis: now, ExpiresAtMillis: now + life.Milliseconds()})
}

func (r *room) passOf(g pass.Grant) string {
	r.t.Helper()
	p, err := r.passes.Issue(g)
	must(r.t, err)
	return p
}

// session returns a session that begins now.
func (r *room) session(zone string, length time.Duration) string {
	now := r.clock()
	return r.keys.SignSession(zone, token.Session{Admission: [16]byte{1}, Begun: now, Issued: now, Length: length})
}

// gatewayNames are the four gateways, each of which asks in its own way.
var gatewayNames = []string{"nginx", "traefik", "caddy", "envoy"}

// ask asks about a visitor's request as the gateway does. header is name, value, name, value.
func (r *room) ask(gateway, method, uri string, header ...string) *httptest.ResponseRecorder {
	r.t.Helper()
	h := r.http
	if path, _, _ := strings.Cut(uri, "?"); gateway == "envoy" && (strings.Count(path, "/") > 1 || path == "/") {
		h = r.bare // a parameter in a path of OpenAPI is neither empty nor has slashes
	}
	return r.askAt(h, gateway, method, uri, header...)
}

func (r *room) askAt(h http.Handler, gateway, method, uri string, header ...string) *httptest.ResponseRecorder {
	r.t.Helper()
	if gateway == "process" {
		return r.decide(method, uri, header)
	}
	path, asks := "/site/"+zoneID, http.MethodGet
	var tells []string
	switch gateway {
	case "nginx":
		tells = []string{"X-Original-URI", uri, "X-Original-Method", method, "X-Original-Host", "shop.example", "X-Original-Proto", "https"}
	case "traefik", "caddy":
		tells = []string{"X-Forwarded-Uri", uri, "X-Forwarded-Method", method, "X-Forwarded-Host", "shop.example", "X-Forwarded-Proto", "https"}
	case "envoy":
		path, asks, tells = path+uri, method, []string{"X-Forwarded-Proto", "https"}
	}
	req := httptest.NewRequest(asks, path, http.NoBody)
	req.Host = "shop.example"
	req.Header.Set("X-Forwarded-For", "203.0.113.9")
	for _, all := range [][]string{tells, header} {
		for i := 0; i+1 < len(all); i += 2 {
			req.Header.Set(all[i], all[i+1])
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w
}

// decide asks in this process, and answers as its gateway does. The forged headers are not read.
func (r *room) decide(method, uri string, header []string) *httptest.ResponseRecorder {
	r.t.Helper()
	req := httptest.NewRequest(method, "/", http.NoBody)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	v := site.Visit{Method: method, URI: uri, Host: "shop.example", Secure: req.Header.Get("X-Forwarded-Proto") == "https", From: direct{}, Header: req.Header}
	for _, name := range []string{"X-Original-URI", "X-Original-URL", "X-Forwarded-Uri"} {
		req.Header.Set(name, "/assets/forged")
	}
	req.Header.Set("X-Forwarded-Method", http.MethodOptions)
	d := r.decides.Decide(r.t.Context(), zoneID, &v)
	w := httptest.NewRecorder()
	maps.Copy(w.Header(), d.Header)
	if d.Err != nil {
		problem.Handler(slog.New(slog.DiscardHandler), r)(d.Err, echo.New().NewContext(req, w))
		return w
	}
	w.WriteHeader(d.Status)
	_, err := w.Write(d.Document)
	must(r.t, err)
	return w
}

// direct is a visitor without a gateway.
type direct struct{}

func (direct) RealIP() string           { return "203.0.113.9" }
func (direct) Told() (netip.Addr, bool) { return netip.MustParseAddr("203.0.113.9"), true }

// opens are the headers that a browser sends when it opens a page.
var opens = []string{"Sec-Fetch-Mode", "navigate"}

func with(header []string, more ...string) []string {
	return append(append([]string{}, header...), more...)
}

// cookie returns the session that a browser keeps after this answer, and key the gate's key; "" for none.
func cookie(w *httptest.ResponseRecorder) string { return kept(w, false) }
func key(w *httptest.ResponseRecorder) string    { return kept(w, true) }

func kept(w *httptest.ResponseRecorder, key bool) string {
	set, _, _ := strings.Cut(w.Header().Get("Set-Cookie"), ";")
	if strings.Contains(set, "_key-") != key {
		return ""
	}
	return set
}

// shows has a browser that the gate sent to wait open an address with the pass.
func (r *room) shows(pass string) *httptest.ResponseRecorder {
	r.t.Helper()
	return r.ask("caddy", "GET", "/?waiting_room_pass="+pass, with(opens, "Cookie", newKey())...)
}

// newKey returns the cookie with the key of a browser.
func newKey() string { return fmt.Sprintf("__Host-waitingroom_key-%s=%032x", zoneID, rand.Uint64()) }
