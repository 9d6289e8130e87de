package operator_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/openapitest"
	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/policyset"
	"github.com/openqueue/waitingroom/internal/network"
	"github.com/openqueue/waitingroom/internal/observed"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/operate/people"
	"github.com/openqueue/waitingroom/internal/steer"
	"github.com/openqueue/waitingroom/internal/watch"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

const secret = "a token for operators"

// room is the operators' service over the zones of a store, behind echo.
type room struct {
	*parts.Clock
	store    *parts.Store
	zones    *zones.Zones
	watch    *watch.Watch
	shares   *network.Shares
	observed observed.Log
	people   *people.Registry
	service  *operator.Service
	logs     *bytes.Buffer
	http     http.Handler
}

func newRoom(tb testing.TB) *room {
	tb.Helper()
	r := &room{Clock: parts.NewClock(), logs: &bytes.Buffer{}}
	log := slog.New(slog.NewTextHandler(r.logs, nil))
	r.store = parts.OpenStore(tb, r.Now, log)
	r.zones = zones.New(zones.Options{Store: r.store, Now: r.Now})
	tb.Cleanup(r.zones.Stop)
	r.watch = watch.New(watch.Options{Zones: r.zones})
	r.shares = network.New(nil, log, r.Now)
	r.people = people.New(people.Options{Store: r.store, Secrets: parts.Secrets(), Root: []string{secret}, Logger: log, Now: r.Now})
	r.service = operator.New(operator.Options{Zones: r.zones, Watch: r.watch, Networks: r.shares, Observed: &r.observed, Pilots: steer.New(steer.Options{Zones: r.zones, Keep: time.Hour}), Keep: time.Hour, Policies: policyset.New(policyset.SetOptions{Store: r.store, Use: func(limit.PolicySet) {}}), People: r.people, Logger: log})
	r.http = openapitest.Operators.Handler(tb, r.routes(log))
	return r
}

// send sends a request with the operators' token, and other headers if given as name, value, name, value. A value of two
// lines is sent as two.
func (r *room) send(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	return r.ask(method, path, strings.NewReader(body), headers...)
}

func (r *room) ask(method, path string, body io.Reader, headers ...string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(method, path, body)
	req.Header.Set("Authorization", "Bearer "+secret)
	req.Header.Set("X-Operator", "Olga")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header[http.CanonicalHeaderKey(headers[i])] = strings.Split(headers[i+1], "\n")
	}
	w := httptest.NewRecorder()
	r.http.ServeHTTP(w, req)
	return w
}

// put makes a zone with the default settings.
func (r *room) put(tb testing.TB, zoneID string) zone.Settings {
	tb.Helper()
	return r.set(tb, zone.Defaults(zoneID))
}

// set makes or changes a zone, past the room.
func (r *room) set(tb testing.TB, s zone.Settings) zone.Settings {
	tb.Helper()
	_, err := r.zones.PutZone(tb.Context(), s, nil, audit.By{})
	parts.Must(tb, err)
	r.writes()
	return s
}

// writes counts the changes of zones that the store was asked for since the last time.
func (r *room) writes() (n int) {
	for _, call := range r.store.Asked() {
		if call == "put_zone" || call == "delete_zone" {
			n++
		}
	}
	return n
}

// zone is the zone as the store has it.
func (r *room) zone(tb testing.TB, zoneID string) zone.Settings {
	tb.Helper()
	settings, err := r.store.Store.Zone(tb.Context(), zoneID)
	parts.Must(tb, err)
	return settings
}

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
