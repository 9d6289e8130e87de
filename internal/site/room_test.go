package site_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/openqueue/waitingroom/internal/check/openapitest"
	fixture "github.com/openqueue/waitingroom/internal/check/room"
	"github.com/openqueue/waitingroom/internal/observed"
	"github.com/openqueue/waitingroom/internal/pass"
	"github.com/openqueue/waitingroom/internal/site"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/zone"
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

// room is the gate before a server's rooms.
type room struct {
	*fixture.Server
	t        testing.TB
	mu       sync.Mutex
	away     error // what the store answers instead
	hangs    bool  // the store answers joins only when their caller has gone
	joins    int
	counts   map[string]int
	observed observed.Log
	// gate is the one that http asks.
	gate *site.Service
	// http is bare, with each answer checked against the description of the site's listener; public, of the public one.
	http, public, bare http.Handler
}

func newRoom(tb testing.TB, perMinute int64) *room {
	tb.Helper()
	r := &room{Server: fixture.New(tb, zoneID, perMinute), t: tb, counts: map[string]int{}}
	r.Store.Do(r.before)
	r.bare = r.server(roomURL)
	r.http, r.public = openapitest.Site.Handler(tb, r.bare), openapitest.Public.Handler(tb, r.bare)
	return r
}

// before is called before the store answers.
func (r *room) before(ctx context.Context, call string) error {
	r.mu.Lock()
	away, hangs := r.away, r.hangs
	if call == "join" {
		r.joins++
	}
	r.mu.Unlock()
	switch call {
	case "join":
		if hangs {
			<-ctx.Done()
			return ctx.Err()
		}
		return away
	case "spend", "zone":
		return away
	default:
		return nil
	}
}

// Site counts the outcomes of the gate.
func (r *room) Site(_, outcome string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[outcome]++
}

func (r *room) counted(what string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts[what]
}

func (r *room) set(change func(*zone.Settings)) {
	r.t.Helper()
	r.Set(r.t, change)
	r.Forward(2 * time.Second) // what State remembers is older now
}

// pass returns the pass of an admission at this moment.
func (r *room) pass(zone string, life time.Duration) string {
	r.t.Helper()
	now := r.Now().UnixMilli()
	return r.passOf(pass.Grant{ZoneID: zone, ID: token.NewID(), AdmittedAtMillis: now, ExpiresAtMillis: now + life.Milliseconds()})
}

func (r *room) passOf(g pass.Grant) string {
	r.t.Helper()
	p, err := r.Passes.Issue(g)
	fixture.Must(r.t, err)
	return p
}

// session returns a session that begins now.
func (r *room) session(zone string, length time.Duration) string {
	now := r.Now()
	return r.Tokens.SignSession(zone, token.Session{Admission: [16]byte{1}, Begun: now, Issued: now, Length: length})
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
	if gateway == "queue-server" {
		return r.front(method, uri, header)
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
