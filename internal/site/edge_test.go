package site_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	fixture "github.com/openqueue/waitingroom/internal/check/room"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/pass"
	"github.com/openqueue/waitingroom/internal/site"
	"github.com/openqueue/waitingroom/internal/zone"
)

// post sends a gate's request to the public listener; fields is name, value, name, value.
func (r *room) post(path string, fields ...string) (status int, session, code string) {
	r.t.Helper()
	body := map[string]string{}
	for i := 0; i+1 < len(fields); i += 2 {
		body[fields[i]] = fields[i+1]
	}
	text, err := json.Marshal(body)
	fixture.Must(r.t, err)
	w := httptest.NewRecorder()
	r.public.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(string(text))))
	var got struct {
		Session string `json:"session"`
		Code    string `json:"code"`
	}
	if w.Body.Len() > 0 {
		fixture.Must(r.t, json.Unmarshal(w.Body.Bytes(), &got))
	}
	return w.Code, got.Session, got.Code
}

// TestSessionsForTheEdge: a gate elsewhere gets one session for a pass, however it was shown, and the same browser or app may ask again.
func TestSessionsForTheEdge(t *testing.T) {
	t.Parallel()
	r := newRoom(t, 0)
	exchange := func(shown string, more ...string) (int, string) {
		t.Helper()
		status, session, code := r.post("/traffic/session", with([]string{"zoneId", zoneID, "pass", shown}, more...)...)
		if want := map[int]string{200: "", 401: "token_invalid", 410: "token_expired", 429: "too_many_requests", 503: "store_unavailable"}[status]; code != want {
			t.Fatalf("%d %q", status, code)
		}
		return status, session
	}
	shown := r.pass(zoneID, time.Minute)
	for range 2 {
		status, session := exchange(shown, "key", "mine")
		if w := r.ask("caddy", "GET", "/", site.SessionHeader, session); status != 200 || w.Code != 200 {
			t.Fatalf("by the browser's key: %d, at the gate %d", status, w.Code)
		}
	}
	for name, more := range map[string][]string{"another browser": {"key", "theirs"}, "a header": nil} {
		if status, _ := exchange(shown, more...); status != 410 {
			t.Errorf("%s: %d", name, status)
		}
	}
	if w := r.shows(shown); cookie(w) != "" {
		t.Error("a pass that was used at the edge is good at the gate")
	}
	inHeader := r.pass(zoneID, time.Minute)
	if one, _ := exchange(inHeader); one != 200 {
		t.Errorf("in a header: %d", one)
	}
	if two, _ := exchange(inHeader); two != 410 {
		t.Errorf("in a header, twice: %d", two)
	}
	for name, bad := range map[string]string{"another zone's": r.pass("OTHER", time.Minute), "none": "x"} {
		if status, _ := exchange(bad, "key", "k"); status != 401 {
			t.Errorf("%s: %d", name, status)
		}
	}
	if r.counted("exchanged") != 2 || r.counted("pass") != 1 || r.counted("pass_refused") != 6 { // one of them at the gate
		t.Errorf("counted: %v", r.counts)
	}
	r.Limiter.Refuses = true
	if status, _ := exchange(r.pass(zoneID, time.Minute), "key", "k"); status != 429 {
		t.Errorf("shown too often: %d", status)
	}
	r.Limiter.Refuses = false
	r.away = line.ErrStoreUnavailable
	if status, _ := exchange(r.pass(zoneID, time.Minute), "key", "k"); status != 503 {
		t.Errorf("while the store is away: %d", status)
	}
}

// TestSessionsOfTheEdgeCount: in a zone with a cap the room is told of a renewal and of the end.
func TestSessionsOfTheEdgeCount(t *testing.T) {
	t.Parallel()
	r := newRoom(t, 600)
	r.set(func(s *zone.Settings) { s.MaxInside, s.SessionSeconds, s.PassTTLSeconds = 1, 120, 60 })
	r.Zones.RunOnce(t.Context())
	inside := func(want int64) {
		t.Helper()
		r.Zones.ReportInsideOnce(t.Context())
		if stats, err := r.Store.Observe(t.Context(), zoneID, 0); err != nil || stats.State.Inside != want {
			t.Fatalf("%d are inside, want %d: %v", stats.State.Inside, want, err)
		}
	}
	r.Forward(2 * time.Second)
	a, err := r.Store.Join(t.Context(), zoneID, line.ID{7})
	fixture.Must(t, err)
	now := r.Now().UnixMilli()
	shown := r.passOf(pass.Grant{ZoneID: zoneID, ID: line.ID{7}, AdmittedAtMillis: a.AdmittedAtMillis, ExpiresAtMillis: now + 60_000})
	_, first, _ := r.post("/traffic/session", "zoneId", zoneID, "pass", shown, "key", "k")
	for range 61 {
		r.Forward(time.Second)
		inside(1)
	}
	_, second, _ := r.post("/traffic/session", "zoneId", zoneID, "session", first)
	if second == first || second == "" {
		t.Fatalf("half of it is over: %q, then %q", first, second)
	}
	if _, third, _ := r.post("/traffic/session", "zoneId", zoneID, "session", second); third != second {
		t.Errorf("not half of it is over: %q, then %q", second, third)
	}
	if r.counted("renewed") != 1 || r.counted("session") != 1 {
		t.Errorf("counted: %v", r.counts)
	}
	for range 90 {
		r.Forward(time.Second)
		inside(1)
	}
	for range 2 {
		if status, _, _ := r.post("/traffic/session/end", "zoneId", zoneID, "session", second); status != 204 {
			t.Errorf("done: %d", status)
		}
	}
	inside(0)
	if status, _, code := r.post("/traffic/session", "zoneId", zoneID, "session", second); status != 410 || code != "token_expired" {
		t.Errorf("after it was done: %d %s", status, code)
	}
}

// TestQuestionsOfTheEdgeThatAreWrong get the problems of the public listener.
func TestQuestionsOfTheEdgeThatAreWrong(t *testing.T) {
	t.Parallel()
	r := newRoom(t, 0)
	good := r.session(zoneID, time.Hour)
	for _, tt := range []struct {
		path string
		want int
		body []string
	}{
		{"", 400, []string{"zoneId", zoneID}},
		{"", 400, []string{"zoneId", zoneID, "pass", "x", "session", good}},
		{"", 400, []string{"zoneId", "{x}", "pass", "x"}},
		{"", 400, []string{"zoneId", zoneID, "pass", "x", "key", strings.Repeat("k", 65)}},
		{"", 404, []string{"zoneId", "NONE", "pass", "x"}},
		{"", 401, []string{"zoneId", zoneID, "session", "x"}},
		{"/end", 400, []string{"zoneId", "{x}"}},
		{"/end", 401, []string{"zoneId", zoneID, "session", "x"}},
		{"/end", 404, []string{"zoneId", "NONE", "session", r.session("NONE", time.Hour)}},
		{"/end", 413, []string{"zoneId", zoneID, "session", strings.Repeat("x", 9000)}},
		{"", 413, []string{"zoneId", zoneID, "session", strings.Repeat("x", 9000)}},
	} {
		if status, _, code := r.post("/traffic/session"+tt.path, tt.body...); status != tt.want || code == "" {
			t.Errorf("%s %v: %d %s", tt.path, tt.body, status, code)
		}
	}
	for _, path := range []string{"/traffic/session", "/traffic/session/end"} {
		w := httptest.NewRecorder()
		r.public.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, iotest.ErrReader(os.ErrDeadlineExceeded)))
		if w.Code != 408 {
			t.Errorf("%s, a body that does not come: %d", path, w.Code)
		}
	}
	r.away = errors.New("broken")
	if status, _, code := r.post("/traffic/session", "zoneId", "OTHER", "pass", "x"); status != 500 || code != "internal_error" {
		t.Errorf("a fault: %d %s", status, code)
	}
}
