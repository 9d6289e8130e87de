package operator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/openapitest"
	"github.com/openqueue/waitingroom/internal/embedded"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/network"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/watch"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

const secret = "a token for operators"

// room is the whole of the room: over the embedded store, behind echo.
type room struct {
	store   *store
	watch   *watch.Watch
	shares  *network.Shares
	service *operator.Service
	logs    *bytes.Buffer
	http    http.Handler
}

// clock stands still.
func clock() time.Time { return time.UnixMilli(1_795_223_373_123) }

func newRoom(tb testing.TB) *room {
	tb.Helper()
	r := &room{logs: &bytes.Buffer{}}
	log := slog.New(slog.NewTextHandler(r.logs, nil))
	lines, err := embedded.Open(embedded.Options{Now: clock, Logger: log})
	must(tb, err)
	tb.Cleanup(func() { must(tb, lines.Close()) })
	r.store = &store{Store: lines}
	r.watch = watch.New(watch.Options{Zones: zones.New(zones.Options{Store: lines, Now: clock})})
	r.shares = network.New(nil, log, clock)
	r.service = r.serve(r.store, log)
	r.http = openapitest.Operators.Handler(tb, routes(tb, r.service, log))
	return r
}

// serve is the service over zones.
func (r *room) serve(zones operator.Store, log *slog.Logger) *operator.Service {
	return operator.New(operator.Options{Zones: zones, Watch: r.watch, Networks: r.shares, Logger: log})
}

// send is a request with the operators' token, and other headers if given as
// name, value, name, value.
func (r *room) send(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	return r.sendIn(context.Background(), method, path, body, headers...)
}

// sendIn is send from a client that goes away when ctx ends.
func (r *room) sendIn(ctx context.Context, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	req := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+secret)
	req.Header.Set("X-Operator", "Olga")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	r.http.ServeHTTP(w, req)
	return w
}

// sendBy is a request with these values of the header X-Operator.
func (r *room) sendBy(method, path, body string, names []string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+secret)
	req.Header["X-Operator"] = names
	w := httptest.NewRecorder()
	r.http.ServeHTTP(w, req)
	return w
}

// put makes a zone with the default settings, past the room.
func (r *room) put(tb testing.TB, zoneID string) zone.Settings {
	tb.Helper()
	settings := zone.Defaults(zoneID)
	_, err := r.store.Store.PutZone(tb.Context(), settings, nil, audit.By{})
	must(tb, err)
	return settings
}

// zone is the zone as the store has it.
func (r *room) zone(tb testing.TB, zoneID string) zone.Settings {
	tb.Helper()
	settings, err := r.store.Zone(tb.Context(), zoneID)
	must(tb, err)
	return settings
}

// store counts the puts and deletions. It fails if told to, and has somebody
// else change the zone before each of the next few puts.
type store struct {
	*embedded.Store
	writes    int
	err       error
	meddle    func(*zone.Settings)
	meddlings int
	// onStats is called before Stats answers.
	onStats func()
	// low and high are the range that a registry adds to it.
	low, high int64
	// sessions are those that asked this server.
	sessions []line.Session
}

func (s *store) Sessions(_ string, most int) []line.Session {
	return s.sessions[:min(most, len(s.sessions))]
}

func (s *store) Idle(string, time.Duration) (sessions, idle int64) { return int64(len(s.sessions)), 1 }

func (s *store) KnownInside(string) line.State { return line.State{NowMillis: 1_000, Inside: 7} }

func (s *store) PutZone(ctx context.Context, settings zone.Settings, was *zone.Settings, by audit.By) (bool, error) {
	s.writes++
	if s.meddlings > 0 {
		s.meddlings--
		other, err := s.Zone(ctx, settings.ZoneID)
		if err != nil {
			return false, err
		}
		s.meddle(&other)
		if _, err := s.Store.PutZone(ctx, other, nil, audit.By{}); err != nil {
			return false, err
		}
	}
	if s.err != nil {
		return false, s.err
	}
	return s.Store.PutZone(ctx, settings, was, by)
}

func (s *store) DeleteZone(ctx context.Context, zoneID string, by audit.By) error {
	s.writes++
	if s.err != nil {
		return s.err
	}
	return s.Store.DeleteZone(ctx, zoneID, by)
}

func (s *store) Zones(ctx context.Context) ([]zone.Settings, error) {
	if s.err != nil {
		return nil, s.err
	}
	return s.Store.Zones(ctx)
}

func (s *store) Changes(ctx context.Context, zoneID string) ([]zone.Change, error) {
	if s.err != nil {
		return nil, s.err
	}
	return s.Store.Changes(ctx, zoneID)
}

func (s *store) Stats(ctx context.Context, zoneID string) (line.Stats, error) {
	if s.err != nil {
		return line.Stats{}, s.err
	}
	if s.onStats != nil {
		s.onStats()
	}
	o, err := s.Observe(ctx, zoneID, 0)
	o.LowMillis, o.HighMillis = s.low, s.high
	return o.Stats, err
}

// deaf is a meter that does nothing.
type deaf struct{}

func (deaf) Refuse(string, string) {}

// refusal is a problem, as a client reads it.
type refusal struct {
	Status       int
	Code, Detail string
	Errors       []string
}

func read[T any](tb testing.TB, w *httptest.ResponseRecorder) T {
	tb.Helper()
	var v T
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		tb.Fatalf("%s: %v", w.Body, err)
	}
	return v
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
