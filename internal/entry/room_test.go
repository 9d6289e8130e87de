package entry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/check/openapitest"
	"github.com/openqueue/waitingroom/internal/embedded"
	"github.com/openqueue/waitingroom/internal/entry"
	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/network"
	"github.com/openqueue/waitingroom/internal/pass"
	"github.com/openqueue/waitingroom/internal/ticket"
	"github.com/openqueue/waitingroom/internal/token"
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
	clock  *clock
	store  *recorded
	zones  *zones.Zones
	tokens *token.Keys
	passes *pass.Signer
	meter  *meter
	logs   *bytes.Buffer
	desk   *ticket.Desk
	spends *spends
	// http is bare, with each answer checked against the description.
	http, bare http.Handler
	joined     byte
}

// newRoom has one zone that admits one in 6 s.
func newRoom(tb testing.TB) *room {
	tb.Helper()
	r := &room{clock: &clock{now: time.UnixMilli(1_795_223_373_123)}, meter: &meter{}, logs: &bytes.Buffer{}}
	log := slog.New(slog.NewTextHandler(r.logs, nil))
	lines, err := embedded.Open(embedded.Options{Now: r.clock.Now, Logger: log})
	must(tb, err)
	tb.Cleanup(func() { must(tb, lines.Close()) })
	settings := zone.Defaults(zoneID)
	settings.PerMinute = 10
	_, err = lines.PutZone(tb.Context(), settings, nil, "")
	must(tb, err)
	_, err = lines.PutZone(tb.Context(), capped, nil, "")
	must(tb, err)
	r.store = &recorded{Store: lines}
	r.tokens, err = token.NewKeys(newSecret, oldSecret)
	must(tb, err)
	r.passes, err = pass.NewSigner(pass.DefaultIssuer, newSecret)
	must(tb, err)
	r.spends = &spends{Store: lines}
	r.desk = ticket.New(nil, r.spends, log)
	r.serve(tb, log, zones.Options{}, guard.New(guard.Options{Limiter: guard.Unlimited{}}))
	return r
}

// serve begins the server.
func (r *room) serve(tb testing.TB, log *slog.Logger, o zones.Options, g *guard.Guard) {
	tb.Helper()
	o.Store, o.Now = r.store, r.clock.Now
	r.zones = zones.New(o)
	r.zones.RunOnce(tb.Context())
	tb.Cleanup(r.zones.Stop)
	service := entry.New(entry.Dependencies{
		Issuer: answer.NewIssuer(r.tokens, r.passes), Tickets: r.desk, Shares: network.New(nil, log, r.clock.Now), Guard: g, Meter: r.meter,
	})
	r.bare = routes(service, r.zones, r.passes, log, r.meter)
	r.http = openapitest.Public.Handler(tb, r.bare)
}

// put has an operator change the zone.
func (r *room) put(t *testing.T, s zone.Settings) {
	t.Helper()
	_, err := r.zones.PutZone(t.Context(), s, nil, "")
	must(t, err)
}

// spends is the store as tickets see it; or one that is away.
type spends struct {
	*embedded.Store
	away bool
}

func (s *spends) Spend(ctx context.Context, key, by string, life time.Duration) (bool, error) {
	if s.away {
		return false, line.ErrStoreUnavailable
	}
	return s.Store.Spend(ctx, key, by, life)
}

// used reports whether the visitor has used a ticket of the spring sale.
func (r *room) used(t *testing.T, id line.ID) bool {
	t.Helper()
	used, err := r.desk.Used(t.Context(), zoneID, "spring", id)
	must(t, err)
	return used
}

// join takes a place past the room, and returns it and its token. They are the
// same in every run, as the processes of a fuzz test need.
func (r *room) join(tb testing.TB) (line.Place, string) {
	tb.Helper()
	r.joined++
	a, err := r.store.Join(tb.Context(), zoneID, line.ID{r.joined})
	must(tb, err)
	return a.Place, r.tokens.Sign(zoneID, a.Place)
}

// holds is the place that a token carries.
func (r *room) holds(tb testing.TB, tok string) line.Place {
	tb.Helper()
	p, err := r.tokens.Verify(zoneID, tok)
	must(tb, err)
	return p
}

func (r *room) send(body io.Reader) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r.http.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/traffic/entry", body))
	return w
}

func (r *room) poll(tok string) *httptest.ResponseRecorder {
	return r.send(strings.NewReader(fmt.Sprintf(`{"zoneId":%q,"token":%q}`, zoneID, tok)))
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

// recorded counts the polls, and answers err or status instead of polling if told to.
type recorded struct {
	*embedded.Store
	polls  int
	err    error
	status line.Status
}

func (s *recorded) Poll(ctx context.Context, zoneID string, p line.Place) (line.Answer, error) {
	s.polls++
	switch {
	case s.err != nil:
		return line.Answer{}, s.err
	case s.status != line.Waiting:
		return line.Answer{Status: s.status, Place: p}, nil
	}
	return s.Store.Poll(ctx, zoneID, p)
}

// meter writes down what it is told.
type meter struct{ seen []string }

func (m *meter) Poll(zoneID, outcome string) { m.seen = append(m.seen, "poll "+zoneID+" "+outcome) }
func (m *meter) Refuse(zoneID, code string)  { m.seen = append(m.seen, "refuse "+zoneID+" "+code) }
func (m *meter) Admit(zoneID string, waited time.Duration) {
	m.seen = append(m.seen, fmt.Sprint("admit ", zoneID, " ", waited))
}

// document is an answer or a problem, as a client reads it.
type document struct {
	ZoneID    string     `json:"zoneId"`
	Token     string     `json:"token"`
	CanEnter  bool       `json:"canEnter"`
	Waiting   *waiting   `json:"waiting"`
	Admission *admission `json:"admission"`
	Status    int        `json:"status"`
	Code      string     `json:"code"`
	Detail    string     `json:"detail"`
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
