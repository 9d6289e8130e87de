package wait_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

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
	"github.com/openqueue/waitingroom/internal/ticket"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/wait"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

const zoneID = "TEST_ZONE"

var (
	newSecret = bytes.Repeat([]byte{'n'}, 32)
	oldSecret = bytes.Repeat([]byte{'o'}, 32)
)

// room is the whole of the room: over the embedded store, behind echo.
type room struct {
	clock   *clock
	store   *store
	zones   *zones.Zones
	tokens  *token.Keys
	passes  *pass.Signer
	meter   *meter
	logs    *bytes.Buffer
	service *wait.Service
	http    http.Handler
	// limited are the questions to the limiter, refuses whether it says no, and named whether joins come from a backend.
	limited []string
	refuses bool
	named   bool

	log        *slog.Logger
	tickets    *ticket.Desk
	challenges *challenge.Desk
	shares     *network.Shares
}

// backend is the address of a backend of the shop.
const backend = "198.51.100.200"

// newRoom has one zone that admits one in 6 s.
func newRoom(tb testing.TB) *room {
	tb.Helper()
	r := &room{clock: &clock{now: time.UnixMilli(1_795_223_373_123)}, meter: &meter{}, logs: &bytes.Buffer{}}
	log := slog.New(slog.NewTextHandler(r.logs, nil))
	lines, err := embedded.Open(embedded.Options{Now: r.clock.Now, Logger: log})
	must(tb, err)
	tb.Cleanup(func() { must(tb, lines.Close()) })
	r.store = &store{Store: lines}
	r.set(tb, func(s *zone.Settings) { s.PerMinute = 10 })
	r.tokens, err = token.NewKeys(newSecret, oldSecret)
	must(tb, err)
	r.passes, err = pass.NewSigner(pass.DefaultIssuer, newSecret)
	must(tb, err)
	r.log = log
	r.zones = zones.New(zones.Options{Store: r.store, Now: r.clock.Now})
	tb.Cleanup(r.zones.Stop)
	r.zones.RunOnce(tb.Context())
	r.tickets = ticket.New(nil, r.store, log)
	r.challenges = challenge.New(challenge.Options{Keys: r.tokens, Spends: r.store, Provider: &challenge.Provider{}, Meter: r.meter, Now: r.clock.Now})
	r.shares = network.New(nil, log, r.clock.Now)
	r.serve(tb)
	return r
}

// serve makes the room of its parts.
func (r *room) serve(tb testing.TB) {
	tb.Helper()
	g := guard.New(guard.Options{Limiter: r, Backends: []netip.Prefix{netip.MustParsePrefix(backend + "/32")}})
	r.service = wait.New(wait.Dependencies{
		Guard: g, Tokens: r.tokens, Issuer: answer.NewIssuer(r.tokens, r.passes), Tickets: r.tickets, Challenges: r.challenges,
		Shares: r.shares, Meter: r.meter, Now: r.clock.Now,
	})
	r.http = openapitest.Public.Handler(tb, routes(r, r.log))
}

// Check and CheckAll are the limiter's.

func (r *room) Check(ctx context.Context, q limiter.Question) (limiter.Answer, error) {
	return r.CheckAll(ctx, q)
}

func (r *room) CheckAll(_ context.Context, questions ...limiter.Question) (limiter.Answer, error) {
	for _, q := range questions {
		if q.Policy == guard.Challenges {
			return limiter.Answer{Verdict: limit.Verdict{Allowed: true}}, nil
		}
		r.limited = append(r.limited, q.Policy+" "+q.Key)
	}
	return limiter.Answer{Verdict: limit.Verdict{Allowed: !r.refuses, RetryMillis: 12_345}}, nil
}

// lined has the server believe that there is a line, or none.
func (r *room) lined(t *testing.T, is bool) {
	t.Helper()
	r.store.mu.Lock()
	r.store.line = &is
	r.store.mu.Unlock()
	_, err := r.zones.Observe(t.Context(), zoneID)
	must(t, err)
}

// set changes the zone's settings, from the defaults if there is none.
func (r *room) set(tb testing.TB, change func(*zone.Settings)) {
	tb.Helper()
	settings, err := r.store.Zone(context.Background(), zoneID)
	if err != nil {
		settings = zone.Defaults(zoneID)
	}
	change(&settings)
	_, err = r.store.PutZone(context.Background(), settings, nil, "")
	must(tb, err)
	if r.zones != nil {
		r.zones.RunOnce(tb.Context())
	}
}

func (r *room) send(method, path, body string) *httptest.ResponseRecorder {
	w, q := httptest.NewRecorder(), httptest.NewRequest(method, path, strings.NewReader(body))
	if r.named {
		q.RemoteAddr = backend + ":1234"
	}
	r.http.ServeHTTP(w, q)
	return w
}

// place is the one that a token names, whenever that was signed.
func (r *room) place(t *testing.T, tok string) line.Place {
	t.Helper()
	p, err := r.tokens.Verify(zoneID, tok)
	must(t, err)
	return line.Place{ID: p.ID, ArrivedAtMicros: p.ArrivedAtMicros}
}

func (r *room) join(clientID string) *httptest.ResponseRecorder {
	return r.send("POST", "/traffic/wait", fmt.Sprintf(`{"zoneId":%q,"clientId":%q}`, zoneID, clientID))
}

func (r *room) leave(tok string) *httptest.ResponseRecorder {
	return r.send("POST", "/traffic/leave", fmt.Sprintf(`{"zoneId":%q,"token":%q}`, zoneID, tok))
}

// stats is the zone as it is now.
func (r *room) stats(tb testing.TB) line.Stats {
	tb.Helper()
	stats, err := r.store.Store.Observe(context.Background(), zoneID, 0)
	must(tb, err)
	return stats.Stats
}

// clock stands still until it is moved.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) forward(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// store writes down what the room asks, and fails, waits or answers a status
// of its own if told to.
type store struct {
	*embedded.Store
	mu     sync.Mutex
	calls  []string
	err    error
	status line.Status
	gate   chan struct{}
	// line, when not nil, is whether the store says that people wait.
	line *bool
}

// says is what the store's state says.
func (s *store) says(is line.State) line.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.line == nil:
	case *s.line:
		is.Waiting = max(1, is.Waiting)
	default:
		is.Waiting = 0
	}
	return is
}

func (s *store) called(name string) error {
	s.mu.Lock()
	s.calls = append(s.calls, name)
	err, gate := s.err, s.gate
	s.mu.Unlock()
	if gate != nil {
		<-gate
	}
	return err
}

// asked returns what was asked since the last time, and forgets it.
func (s *store) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = nil
	return calls
}

func (s *store) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *store) Join(ctx context.Context, zoneID string, id line.ID) (line.Answer, error) {
	if err := s.called("join"); err != nil {
		return line.Answer{}, err
	}
	if s.status != line.Waiting {
		return line.Answer{Status: s.status}, nil
	}
	a, err := s.Store.Join(ctx, zoneID, id)
	a.State = s.says(a.State)
	return a, err
}

func (s *store) Poll(ctx context.Context, zoneID string, p line.Place) (line.Answer, error) {
	if err := s.called("poll"); err != nil {
		return line.Answer{}, err
	}
	a, err := s.Store.Poll(ctx, zoneID, p)
	a.State = s.says(a.State)
	return a, err
}

func (s *store) Spend(ctx context.Context, key, by string, life time.Duration) (bool, error) {
	if err := s.called("spend"); err != nil {
		return false, err
	}
	return s.Store.Spend(ctx, key, by, life)
}

func (s *store) Leave(ctx context.Context, zoneID string, p line.Place) error {
	if err := s.called("leave"); err != nil {
		return err
	}
	return s.Store.Leave(ctx, zoneID, p)
}

func (s *store) Observe(ctx context.Context, zoneID string, most int) (line.Observation, error) {
	if err := s.called("observe"); err != nil {
		return line.Observation{}, err
	}
	o, err := s.Store.Observe(ctx, zoneID, most)
	o.State = s.says(o.State)
	return o, err
}

// meter writes down what it is told.
type meter struct {
	mu   sync.Mutex
	seen []string
}

func (m *meter) note(what ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen = append(m.seen, strings.TrimSuffix(fmt.Sprintln(what...), "\n"))
}

func (m *meter) Join(zoneID, outcome string)               { m.note("join", zoneID, outcome) }
func (m *meter) Challenge(zoneID, outcome string)          { m.note("challenge", zoneID, outcome) }
func (m *meter) Refuse(zoneID, code string)                { m.note("refuse", zoneID, code) }
func (m *meter) Admit(zoneID string, waited time.Duration) { m.note("admit", zoneID, waited) }

// told returns what was metered since the last time, and forgets it.
func (m *meter) told() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := m.seen
	m.seen = nil
	return seen
}

// document is an answer or a problem, as a client reads it.
type document struct {
	ZoneID    string                   `json:"zoneId"`
	Token     string                   `json:"token"`
	CanEnter  bool                     `json:"canEnter"`
	Waiting   *waiting                 `json:"waiting"`
	Admission *admission               `json:"admission"`
	Status    int                      `json:"status"`
	Code      string                   `json:"code"`
	Detail    string                   `json:"detail"`
	Challenge *challenge.RequiredError `json:"challenge"`
}

type waiting struct {
	Position        int64 `json:"position"`
	Total           int64 `json:"total"`
	EstimatedWait   int64 `json:"estimatedWait"`
	PollingPeriod   int64 `json:"pollingPeriod"`
	ArrivedAtMicros int64 `json:"arrivedAtMicros"`
}

type admission struct {
	AdmittedAt int64  `json:"admittedAt"`
	ExpiresAt  int64  `json:"expiresAt"`
	Pass       string `json:"pass"`
}

func read(tb testing.TB, w *httptest.ResponseRecorder) document {
	tb.Helper()
	var d document
	if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil {
		tb.Fatalf("%s: %v", w.Body, err)
	}
	return d
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
