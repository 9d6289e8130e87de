package entry_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/entry"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limit/local"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/pass"
	"github.com/openqueue/waitingroom/internal/problem"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

// capped is a zone in which an operator has revoked two passes.
var capped = func() zone.Settings {
	s := zone.Defaults("CAPPED")
	s.MaxInside, s.InsideState = 10, zone.InsideState{RevokedUpToMillis: 7, Revoked: []string{revokedOne, revokedTwo}}
	return s
}()

const (
	revokedOne = "00000000-0000-8000-8000-00000000000a"
	revokedTwo = "00000000-0000-8000-8000-00000000000b"
)

// routes is the room behind echo.
func routes(s *entry.Service, zones *zones.Zones, passes *pass.Signer, log *slog.Logger, meter problem.Meter) http.Handler {
	h := entry.NewHTTP(s, zones, passes)
	e := echo.New()
	e.HTTPErrorHandler = problem.Handler(log, meter)
	e.POST("/traffic/entry", h.Poll)
	e.GET("/.well-known/jwks.json", h.Keys)
	e.GET("/.well-known/openid-configuration", h.Discovery)
	e.GET("/.well-known/revoked", h.Revoked)
	return e
}

func TestPollWhileWaiting(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.join(t)
	place, tok := r.join(t)

	w := r.poll(tok)
	d := read(t, w)
	if w.Code != http.StatusOK || d.CanEnter || d.Waiting == nil || d.Admission != nil {
		t.Fatalf("got %d %s", w.Code, w.Body)
	}
	if got := r.holds(t, d.Token); d.ZoneID != zoneID || d.Token == tok || got.ID != place.ID || got.ArrivedAtMicros != place.ArrivedAtMicros ||
		got.DueMillis != (r.clock.Now().UnixMilli()+d.Waiting.PollingPeriod)/1000*1000 {
		t.Errorf("zone %q, token of %+v; want one of %+v that says when the next poll is due", d.ZoneID, got, place)
	}
	if d.Waiting.Position != 1 || d.Waiting.Total != 1 || d.Waiting.ArrivedAtMicros != place.ArrivedAtMicros {
		t.Errorf("got %+v", *d.Waiting)
	}
	want := map[string]string{
		"Content-Type":  "application/json",
		"Cache-Control": "no-store",
		"Retry-After":   strconv.FormatInt((d.Waiting.PollingPeriod+999)/1000, 10),
	}
	for name, value := range want {
		if got := w.Header().Get(name); got != value {
			t.Errorf("%s: got %q, want %q", name, got, value)
		}
	}
	if want := []string{"poll TEST_ZONE waiting"}; !slices.Equal(r.meter.seen, want) {
		t.Errorf("metered %q, want %q", r.meter.seen, want)
	}
}

func TestPollIsAdmittedOnceAndToldAgain(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.join(t)
	place, tok := r.join(t)
	r.clock.forward(6001 * time.Millisecond)

	first := r.poll(tok)
	d := read(t, first)
	if first.Code != http.StatusOK || !d.CanEnter || d.Waiting != nil || d.Admission == nil {
		t.Fatalf("got %d %s", first.Code, first.Body)
	}
	if got := first.Header().Get("Retry-After"); got != "" {
		t.Errorf("Retry-After %q with an admission", got)
	}
	// The token that comes with an admission vouches for nothing that a loss could restore.
	if got := r.holds(t, d.Token); got.ID != place.ID || got.DueMillis != 0 || d.Admission.AdmittedAt != r.clock.Now().UnixMilli() ||
		d.Admission.ExpiresAt != d.Admission.AdmittedAt+300_000 {
		t.Errorf("got %s", first.Body)
	}
	grant, err := r.passes.Verify(d.Admission.Pass, r.clock.Now())
	if err != nil || grant.ZoneID != zoneID || grant.ID != place.ID {
		t.Errorf("pass: got %+v, %v", grant, err)
	}

	r.clock.forward(time.Minute)
	if again := r.poll(tok); again.Code != http.StatusOK || again.Body.String() != first.Body.String() {
		t.Errorf("a repeated poll got %d %s, the first %s", again.Code, again.Body, first.Body)
	}

	r.clock.forward(5 * time.Minute)
	if late := r.poll(tok); late.Code != http.StatusGone || read(t, late).Code != "token_expired" {
		t.Errorf("after it expired: got %d %s", late.Code, late.Body)
	}
	want := []string{
		// The arrival was a microsecond after that of the visitor before.
		"poll TEST_ZONE admitted", "admit TEST_ZONE 6.000999s", "poll TEST_ZONE admitted_before",
		"poll TEST_ZONE gone", "refuse TEST_ZONE token_expired",
	}
	if !slices.Equal(r.meter.seen, want) {
		t.Errorf("metered %q, want %q", r.meter.seen, want)
	}
}

// TestPollUsesTheTicket: who is let into a zone by invitation has used the ticket, also where
// the answer that let in was lost; who waits has not.
func TestPollUsesTheTicket(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	s := *r.zones.Known(zoneID).Settings()
	s.Invitation = "spring"
	r.put(t, s)
	first, before := r.join(t) // let in, past the room
	second, waits := r.join(t)
	for _, tok := range []string{before, waits} {
		r.poll(tok)
	}
	if !r.used(t, first.ID) || r.used(t, second.ID) {
		t.Error("used by who waits, or not by who was let in")
	}
	r.clock.forward(6001 * time.Millisecond)
	r.spends.away = true
	if w := r.poll(waits); w.Code != http.StatusServiceUnavailable {
		t.Errorf("let in, though the use is not noted: %d %s", w.Code, w.Body)
	}
	r.spends.away = false
	if d := read(t, r.poll(waits)); !d.CanEnter || !r.used(t, second.ID) {
		t.Errorf("%+v", d)
	}
}

// TestPollUsesTheTicketBeforeTheStep: who joined by a ticket in the last seconds before an event sets the invitation, or
// while no server has made the step, and is admitted then, has used it, too.
func TestPollUsesTheTicketBeforeTheStep(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	s := *r.zones.Known(zoneID).Settings()
	s.Events = []event.Event{{
		Name: "sale", OpensAt: r.clock.Now().Add(8 * time.Second).Format(time.RFC3339Nano), Settings: event.Values{"invitation": "spring"},
	}}
	s, _, ok := s.Due(r.clock.Now(), nil)
	r.put(t, s)
	early, in := r.join(t)
	late, waits := r.join(t)
	if r.poll(in); !ok || r.used(t, early.ID) {
		t.Error("no event, or used before a ticket was needed")
	}
	r.clock.forward(6001 * time.Millisecond)
	if d := read(t, r.poll(waits)); !d.CanEnter || !r.used(t, late.ID) {
		t.Errorf("%+v", d)
	}
}

// TestPollWhenSoldOut: who waits is told why, whoever was swept meanwhile, too; who was admitted has the pass.
func TestPollWhenSoldOut(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	_, in := r.join(t)
	_, present := r.join(t)
	place, swept := r.join(t)
	must(t, r.store.Leave(t.Context(), zoneID, place))
	s := *r.zones.Known(zoneID).Settings()
	s.SoldOut = zone.Texts{"default": "No seats are left."}
	r.put(t, s)
	r.clock.forward(7 * time.Second) // whose turn it would be
	for _, tok := range []string{present, swept, present} {
		if w := r.poll(tok); w.Code != http.StatusGone || read(t, w).Code != "sold_out" || !strings.Contains(w.Body.String(), "No seats are left.") {
			t.Errorf("got %d %s", w.Code, w.Body)
		}
	}
	if want := slices.Repeat([]string{"poll TEST_ZONE sold_out", "refuse TEST_ZONE sold_out"}, 3); !slices.Equal(r.meter.seen, want) {
		t.Errorf("metered %q", r.meter.seen)
	}
	if d := read(t, r.poll(in)); !d.CanEnter {
		t.Errorf("one who was let in got %+v", d)
	}
	s.SoldOut = nil
	r.put(t, s)
	if d := read(t, r.poll(present)); !d.CanEnter {
		t.Errorf("afterwards: %+v", d)
	}
}

// TestPassesAfterTheClockWasWrong: it was an hour fast when somebody joined, and was set
// right. Until the zone's clock has caught up, ten hours later, no pass begins in the
// future or outlives its admission, and a repeated poll gets the same answer.
func TestPassesAfterTheClockWasWrong(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.clock.forward(time.Hour)
	r.join(t)
	_, early := r.join(t)
	r.clock.forward(6001 * time.Millisecond)
	before := read(t, r.poll(early))
	r.clock.forward(-time.Hour)

	again := read(t, r.poll(early))
	if old, now := claimsOf(t, before.Admission.Pass), claimsOf(t, again.Admission.Pass); old.ID != now.ID || now.IssuedAt.After(r.clock.Now()) {
		t.Errorf("let in when the clock was wrong: %+v, and set right %+v", old, now)
	}
	for at := time.Duration(0); at < 11*time.Hour; at += 100 * time.Minute {
		r.clock.forward(100 * time.Minute)
		_, tok := r.join(t) // straight in
		first := r.poll(tok)
		d, c := read(t, first), claimsOf(t, read(t, first).Admission.Pass)
		if begins := r.clock.Now().Sub(c.IssuedAt.Time); begins < 10*time.Second || begins > 11100*time.Millisecond {
			t.Errorf("after %v: the pass begins %v ago", at, begins)
		}
		if ago := r.clock.Now().UnixMilli() - d.Admission.AdmittedAt; ago < 0 || ago > 2 {
			t.Errorf("after %v: let in %d ms ago", at, ago)
		}
		if c.ExpiresAt.Sub(r.clock.Now()) > 5*time.Minute || d.Admission.ExpiresAt/1000 != c.ExpiresAt.Unix() {
			t.Errorf("after %v: it ends at %v, the admission at %d", at, c.ExpiresAt, d.Admission.ExpiresAt)
		}
		r.clock.forward(4 * time.Minute)
		if second := r.poll(tok); second.Body.String() != first.Body.String() {
			t.Errorf("after %v: a repeated poll got %s, the first %s", at, second.Body, first.Body)
		}
		r.clock.forward(2 * time.Minute)
		if late := r.poll(tok); late.Code != http.StatusGone {
			t.Errorf("after %v: the admission outlives the pass: %d %s", at, late.Code, late.Body)
		}
	}
}

// claimsOf reads a pass as a service does that does not check it.
func claimsOf(t *testing.T, pass string) jwt.RegisteredClaims {
	t.Helper()
	var c jwt.RegisteredClaims
	if _, _, err := jwt.NewParser().ParseUnverified(pass, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPollRefuses(t *testing.T) {
	r := newRoom(t)
	place, tok := r.join(t)
	foreign, err := token.NewKeys(bytes.Repeat([]byte{'x'}, 32))
	must(t, err)
	body := func(zoneID, tok string) string { return fmt.Sprintf(`{"zoneId":%q,"token":%q}`, zoneID, tok) }
	before, err := r.store.Observe(t.Context(), zoneID, 0)
	must(t, err)

	tests := map[string]struct {
		body   string
		status int
		code   string
		detail string // how it begins
		zone   string // under which it is counted
	}{
		"trailing garbage":   {body(zoneID, tok) + "x", 400, "invalid_request", "body must end after", ""},
		"not UTF-8":          {body(zoneID, "\xff"), 400, "invalid_request", "body is not valid JSON", ""},
		"no zoneId":          {`{"token":"x"}`, 400, "invalid_request", "zoneId is missing", ""},
		"zoneId a number":    {`{"zoneId":5,"token":"x"}`, 400, "invalid_request", "zoneId must be a string", ""},
		"zoneId malformed":   {body("a{b}", "x"), 400, "invalid_request", "zoneId must be 1 to 64", ""},
		"no token":           {body(zoneID, ""), 400, "invalid_request", "token is missing", ""},
		"token an object":    {`{"zoneId":"Z","token":{}}`, 400, "invalid_request", "token must be a string", ""},
		"token too long":     {body(zoneID, strings.Repeat("A", 257)), 400, "invalid_request", "token must not be longer", ""},
		"token altered":      {body(zoneID, "B"+tok[1:]), 401, "token_invalid", "The token was not made", zoneID},
		"token of other key": {body(zoneID, foreign.Sign(zoneID, place)), 401, "token_invalid", "The token was not made", zoneID},
		"token of other zone": {
			body("OTHER", tok), 401, "token_invalid", "The token was not made", "OTHER",
		},
		"body too large": {
			`{"zoneId":"` + strings.Repeat("z", 8192) + `"}`, 413, "body_too_large", "A body may have 8192", "",
		},
	}
	for name, tt := range tests {
		r.meter.seen = nil
		w := r.send(strings.NewReader(tt.body))
		if d := read(t, w); w.Code != tt.status || d.Code != tt.code || !strings.HasPrefix(d.Detail, tt.detail) {
			t.Errorf("%s: got %d %s", name, w.Code, w.Body)
		}
		if want := []string{"refuse " + tt.zone + " " + tt.code}; !slices.Equal(r.meter.seen, want) {
			t.Errorf("%s: metered %q, want %q", name, r.meter.seen, want)
		}
	}
	if r.store.polls != 0 {
		t.Errorf("the store was asked %d times", r.store.polls)
	}
	after, err := r.store.Observe(t.Context(), zoneID, 0)
	must(t, err)
	if !reflect.DeepEqual(after, before) {
		t.Errorf("the zone changed from %+v to %+v", before, after)
	}
	if r.logs.Len() != 0 {
		t.Errorf("logged %s", r.logs)
	}
}

// 8192 bytes are read, 8193 are not, whether or not the length is announced.
func TestPollReadsBodiesUpToTheBound(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	_, tok := r.join(t)
	body := fmt.Sprintf(`{"zoneId":%q,"token":%q}`, zoneID, tok)
	body += strings.Repeat(" ", 8192-len(body))
	for name, announced := range map[string]bool{"announced": true, "chunked": false} {
		send := func(body string) int {
			if announced {
				return r.send(strings.NewReader(body)).Code
			}
			return r.send(io.MultiReader(strings.NewReader(body))).Code
		}
		if got := send(body); got != http.StatusOK {
			t.Errorf("%s, 8192 bytes: got %d", name, got)
		}
		if got := send(body + " "); got != http.StatusRequestEntityTooLarge {
			t.Errorf("%s, 8193 bytes: got %d", name, got)
		}
	}
}

func TestPollBodyThatBreaksOff(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	broken := io.MultiReader(strings.NewReader(`{"zoneId":`), iotest.ErrReader(io.ErrUnexpectedEOF))
	if w := r.send(broken); w.Code != 400 || read(t, w).Detail != "body could not be read to its end" {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if w := r.send(iotest.ErrReader(os.ErrDeadlineExceeded)); w.Code != 408 || w.Header().Get("Retry-After") == "" {
		t.Errorf("a body that stalls: got %d %s", w.Code, w.Body)
	}
	limited := httptest.NewRequest(http.MethodPost, "/traffic/entry", io.MultiReader(strings.NewReader(`{"zoneId":"Z"}`)))
	w := httptest.NewRecorder()
	limited.Body = http.MaxBytesReader(w, limited.Body, 3)
	if r.http.ServeHTTP(w, limited); w.Code != 413 {
		t.Errorf("beyond the server's own bound: got %d %s", w.Code, w.Body)
	}
}

func TestPollWhenTheStoreFails(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		err    error
		status line.Status
		want   int
		code   string
		logged bool
	}{
		"lost again":   {err: line.ErrZoneUnknown, want: 503, code: "store_unavailable"},
		"zone deleted": {err: fmt.Errorf("store: %w", line.ErrZoneDeleted), want: 404, code: "zone_unknown"},
		"unavailable":  {err: fmt.Errorf("store: %w: i/o timeout", line.ErrStoreUnavailable), want: 503, code: "store_unavailable"},
		"too slow":     {err: context.DeadlineExceeded, want: 503, code: "store_unavailable"},
		"anything":     {err: errors.New("the secret is hunter2"), want: 500, code: "internal_error", logged: true},
		"no status":    {status: line.Status(len(line.Statuses())), want: 500, code: "internal_error", logged: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRoom(t)
			_, tok := r.join(t)
			r.store.err, r.store.status = tt.err, tt.status
			w := r.poll(tok)
			if w.Code != tt.want || read(t, w).Code != tt.code {
				t.Errorf("got %d %s", w.Code, w.Body)
			}
			if strings.Contains(w.Body.String(), "hunter2") {
				t.Errorf("tells the client %s", w.Body)
			}
			if logs := strings.Count(r.logs.String(), "\n"); (logs == 1) != tt.logged || logs > 1 {
				t.Errorf("logged %q", r.logs)
			}
			if strings.Contains(r.logs.String(), tok) {
				t.Errorf("the log has the token: %s", r.logs)
			}
			want := []string{"poll TEST_ZONE error", "refuse TEST_ZONE " + tt.code}
			if !slices.Equal(r.meter.seen, want) {
				t.Errorf("metered %q, want %q", r.meter.seen, want)
			}
		})
	}
}

// TestPollBeforeItsTime: it is answered from memory, and refused after too many.
func TestPollBeforeItsTime(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.join(t)
	_, tok := r.join(t)
	limits := limiter.New(limiter.Dependencies{Local: local.New(local.CountersOptions{Now: r.clock.Now}), Now: r.clock.Now})
	var policies limit.PolicySet
	limits.Use(policies.Put(limit.Policy{Name: guard.PollsToken, Rules: []limit.Rule{{Algorithm: limit.FixedWindow, Limit: 1, WindowSeconds: 60}}}))
	g := guard.New(guard.Options{Limiter: limits})
	r.serve(t, slog.New(slog.DiscardHandler), zones.Options{AnswerEarly: true, Guard: g}, g)
	told := read(t, r.poll(tok))
	r.clock.forward(time.Second / 2)
	again := read(t, r.poll(told.Token))
	if again.Token != told.Token || again.Waiting.PollingPeriod != told.Waiting.PollingPeriod-500 || r.store.polls != 1 {
		t.Errorf("first %+v, then %+v", told.Waiting, again.Waiting)
	}
	w := r.poll(tok)
	if w.Code != 429 || read(t, w).Code != "too_many_requests" || w.Header().Get("Retry-After") == "" {
		t.Errorf("got %d %v %s", w.Code, w.Header(), w.Body)
	}
	want := []string{"poll TEST_ZONE waiting", "poll TEST_ZONE early", "poll TEST_ZONE refused", "refuse TEST_ZONE too_many_requests"}
	if !slices.Equal(r.meter.seen, want) {
		t.Errorf("metered %q, want %q", r.meter.seen, want)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	w := httptest.NewRecorder()
	r.http.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/.well-known/jwks.json", nil))
	var set struct {
		Keys []struct {
			Curve string `json:"crv"`
			ID    string `json:"kid"`
		} `json:"keys"`
	}
	must(t, json.Unmarshal(w.Body.Bytes(), &set))
	if w.Code != 200 || len(set.Keys) != 1 || set.Keys[0].Curve != "Ed25519" || set.Keys[0].ID == "" {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if got := w.Header().Get("Content-Type"); got != "application/jwk-set+json" {
		t.Errorf("Content-Type %q", got)
	}
	if got := w.Header().Get("Cache-Control"); got != "public, max-age=300" {
		t.Errorf("Cache-Control %q", got)
	}
}

// TestRevoked: what was revoked is a signed list that caches keep for five seconds, and that is no pass.
func TestRevoked(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	for path, status := range map[string]int{"?zone=CAPPED": 200, "?zone=NONE": 404, "": 404} {
		w := httptest.NewRecorder()
		r.http.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/.well-known/revoked"+path, nil))
		if w.Code != status {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
		if status != 200 {
			continue
		}
		parts := strings.Split(w.Body.String(), ".")
		if len(parts) != 3 || w.Header().Get("Cache-Control") != "public, max-age=5" {
			t.Fatalf("%s %v", w.Body, w.Header())
		}
		text, err := base64.RawURLEncoding.DecodeString(parts[1])
		must(t, err)
		if !strings.Contains(string(text), `"revokedUpTo":7,"revoked":["`+revokedOne+`","`+revokedTwo+`"]`) {
			t.Errorf("%s", text)
		}
	}
}

// FuzzPoll sends any body: the answer is one of the contract's, and the store
// hears of it only when the token is genuine.
func FuzzPoll(f *testing.F) {
	r := newRoom(f)
	_, tok := r.join(f)
	for _, body := range []string{
		`{"zoneId":"TEST_ZONE","token":"` + tok + `"}`, `{"zoneId":"TEST_ZONE","token":"` + tok[1:] + `"}`,
		`{"zoneId":"OTHER","token":"` + tok + `"}`, `{"zoneId":"","token":""}`, `{`, `[]`, "\xff", ``,
	} {
		f.Add([]byte(body))
	}
	allowed := map[int]string{400: "invalid_request", 401: "token_invalid", 413: "body_too_large"}
	f.Fuzz(func(t *testing.T, body []byte) {
		r.store.polls, r.meter.seen = 0, nil
		w := r.send(bytes.NewReader(body))
		d := read(t, w)
		if w.Code == http.StatusOK {
			if d.Token != tok || r.store.polls != 1 {
				t.Fatalf("%q was answered %s", body, w.Body)
			}
			return
		}
		if code, ok := allowed[w.Code]; !ok || d.Code != code {
			t.Fatalf("%q was answered %d %s", body, w.Code, w.Body)
		}
		if r.store.polls != 0 {
			t.Fatalf("%q reached the store", body)
		}
	})
}
