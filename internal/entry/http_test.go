package entry_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

	"github.com/openqueue/waitingroom/internal/check/room"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limit/local"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/line"
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

func TestPollWhileWaiting(t *testing.T) {
	t.Parallel()
	r := newServer(t)
	r.place(t)
	place, tok := r.place(t)

	w := r.Poll(tok)
	d := room.Read(t, w)
	if w.Code != http.StatusOK || d.CanEnter || d.Waiting == nil || d.Admission != nil {
		t.Fatalf("got %d %s", w.Code, w.Body)
	}
	if got := r.Held(t, d.Token); d.ZoneID != zoneID || d.Token == tok || got.ID != place.ID || got.ArrivedAtMicros != place.ArrivedAtMicros ||
		got.DueMillis != (r.Now().UnixMilli()+d.Waiting.PollingPeriod)/1000*1000 {
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
	if got, want := r.Meter.Seen(), []string{"poll TEST_ZONE waiting"}; !slices.Equal(got, want) {
		t.Errorf("metered %q, want %q", got, want)
	}
}

func TestPollIsAdmittedOnceAndToldAgain(t *testing.T) {
	t.Parallel()
	r := newServer(t)
	r.place(t)
	place, tok := r.place(t)
	r.Forward(6001 * time.Millisecond)

	first := r.Poll(tok)
	d := room.Read(t, first)
	if first.Code != http.StatusOK || !d.CanEnter || d.Waiting != nil || d.Admission == nil {
		t.Fatalf("got %d %s", first.Code, first.Body)
	}
	if got := first.Header().Get("Retry-After"); got != "" {
		t.Errorf("Retry-After %q with an admission", got)
	}
	// The token that comes with an admission vouches for nothing that a loss could restore.
	if got := r.Held(t, d.Token); got.ID != place.ID || got.DueMillis != 0 || d.Admission.AdmittedAt != r.Now().UnixMilli() ||
		d.Admission.ExpiresAt != d.Admission.AdmittedAt+300_000 {
		t.Errorf("got %s", first.Body)
	}
	grant, err := r.Passes.Verify(d.Admission.Pass, r.Now())
	if err != nil || grant.ZoneID != zoneID || grant.ID != place.ID {
		t.Errorf("pass: got %+v, %v", grant, err)
	}

	r.Forward(time.Minute)
	if again := r.Poll(tok); again.Code != http.StatusOK || again.Body.String() != first.Body.String() {
		t.Errorf("a repeated poll got %d %s, the first %s", again.Code, again.Body, first.Body)
	}

	r.Forward(5 * time.Minute)
	if late := r.Poll(tok); late.Code != http.StatusGone || room.Read(t, late).Code != "token_expired" {
		t.Errorf("after it expired: got %d %s", late.Code, late.Body)
	}
	want := []string{
		// The arrival was a microsecond after that of the visitor before.
		"poll TEST_ZONE admitted", "admit TEST_ZONE 6.000999s", "poll TEST_ZONE admitted_before",
		"poll TEST_ZONE gone", "refuse TEST_ZONE token_expired",
	}
	if got := r.Meter.Seen(); !slices.Equal(got, want) {
		t.Errorf("metered %q, want %q", got, want)
	}
}

// TestPollUsesTheTicket: who is let into a zone by invitation has used the ticket, also where
// the answer that let in was lost; who waits has not.
func TestPollUsesTheTicket(t *testing.T) {
	t.Parallel()
	r := newServer(t)
	r.Set(t, func(s *zone.Settings) { s.Invitation = "spring" })
	first, before := r.place(t) // let in, past the room
	second, waits := r.place(t)
	for _, tok := range []string{before, waits} {
		r.Poll(tok)
	}
	if !r.used(t, first.ID) || r.used(t, second.ID) {
		t.Error("used by who waits, or not by who was let in")
	}
	r.Forward(6001 * time.Millisecond)
	r.Store.Fail(line.ErrStoreUnavailable, "visit")
	if w := r.Poll(waits); w.Code != http.StatusServiceUnavailable {
		t.Errorf("let in, though the use is not noted: %d %s", w.Code, w.Body)
	}
	r.Store.Fail(nil)
	if d := room.Read(t, r.Poll(waits)); !d.CanEnter || !r.used(t, second.ID) {
		t.Errorf("%+v", d)
	}
}

// TestPollUsesTheTicketBeforeTheStep: who joined by a ticket in the last seconds before an event sets the invitation, or
// while no server has made the step, and is admitted then, has used it, too.
func TestPollUsesTheTicketBeforeTheStep(t *testing.T) {
	t.Parallel()
	r := newServer(t)
	s := *r.Zones.Known(zoneID).Settings()
	s.Events = []event.Event{{
		Name: "sale", OpensAt: r.Now().Add(8 * time.Second).Format(time.RFC3339Nano), Settings: event.Values{"invitation": "spring"},
	}}
	s, _, ok := s.Due(r.Now(), nil)
	r.Set(t, func(was *zone.Settings) { *was = s })
	early, in := r.place(t)
	late, waits := r.place(t)
	if r.Poll(in); !ok || r.used(t, early.ID) {
		t.Error("no event, or used before a ticket was needed")
	}
	r.Forward(6001 * time.Millisecond)
	if d := room.Read(t, r.Poll(waits)); !d.CanEnter || !r.used(t, late.ID) {
		t.Errorf("%+v", d)
	}
}

// TestPollWhenSoldOut: who waits is told why, whoever was swept meanwhile, too; who was admitted has the pass.
func TestPollWhenSoldOut(t *testing.T) {
	t.Parallel()
	r := newServer(t)
	_, in := r.place(t)
	_, present := r.place(t)
	place, swept := r.place(t)
	room.Must(t, r.Store.Store.Leave(t.Context(), zoneID, place))
	r.Set(t, func(s *zone.Settings) { s.SoldOut = zone.Texts{"default": "No seats are left."} })
	r.Forward(7 * time.Second) // whose turn it would be
	for _, tok := range []string{present, swept, present} {
		if w := r.Poll(tok); w.Code != http.StatusGone || room.Read(t, w).Code != "sold_out" || !strings.Contains(w.Body.String(), "No seats are left.") {
			t.Errorf("got %d %s", w.Code, w.Body)
		}
	}
	if got, want := r.Meter.Seen(), slices.Repeat([]string{"poll TEST_ZONE sold_out", "refuse TEST_ZONE sold_out"}, 3); !slices.Equal(got, want) {
		t.Errorf("metered %q, want %q", got, want)
	}
	if d := room.Read(t, r.Poll(in)); !d.CanEnter {
		t.Errorf("one who was let in got %+v", d)
	}
	r.Set(t, func(s *zone.Settings) { s.SoldOut = nil })
	if d := room.Read(t, r.Poll(present)); !d.CanEnter {
		t.Errorf("afterwards: %+v", d)
	}
}

// TestPassesAfterTheClockWasWrong: it was an hour fast when somebody joined, and was set
// right. Until the zone's clock has caught up, ten hours later, no pass begins in the
// future or outlives its admission, and a repeated poll gets the same answer.
func TestPassesAfterTheClockWasWrong(t *testing.T) {
	t.Parallel()
	r := newServer(t)
	r.Forward(time.Hour)
	r.place(t)
	_, early := r.place(t)
	r.Forward(6001 * time.Millisecond)
	before := room.Read(t, r.Poll(early))
	r.Forward(-time.Hour)

	again := room.Read(t, r.Poll(early))
	if old, now := claimsOf(t, before.Admission.Pass), claimsOf(t, again.Admission.Pass); old.ID != now.ID || now.IssuedAt.After(r.Now()) {
		t.Errorf("let in when the clock was wrong: %+v, and set right %+v", old, now)
	}
	for at := time.Duration(0); at < 11*time.Hour; at += 100 * time.Minute {
		r.Forward(100 * time.Minute)
		_, tok := r.place(t) // straight in
		first := r.Poll(tok)
		d, c := room.Read(t, first), claimsOf(t, room.Read(t, first).Admission.Pass)
		if begins := r.Now().Sub(c.IssuedAt.Time); begins < 10*time.Second || begins > 11100*time.Millisecond {
			t.Errorf("after %v: the pass begins %v ago", at, begins)
		}
		if ago := r.Now().UnixMilli() - d.Admission.AdmittedAt; ago < 0 || ago > 2 {
			t.Errorf("after %v: let in %d ms ago", at, ago)
		}
		if c.ExpiresAt.Sub(r.Now()) > 5*time.Minute || d.Admission.ExpiresAt/1000 != c.ExpiresAt.Unix() {
			t.Errorf("after %v: it ends at %v, the admission at %d", at, c.ExpiresAt, d.Admission.ExpiresAt)
		}
		r.Forward(4 * time.Minute)
		if second := r.Poll(tok); second.Body.String() != first.Body.String() {
			t.Errorf("after %v: a repeated poll got %s, the first %s", at, second.Body, first.Body)
		}
		r.Forward(2 * time.Minute)
		if late := r.Poll(tok); late.Code != http.StatusGone {
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
	r := newServer(t)
	place, tok := r.place(t)
	foreign, err := token.NewKeys(bytes.Repeat([]byte{'x'}, 32))
	room.Must(t, err)
	body := func(zoneID, tok string) string { return fmt.Sprintf(`{"zoneId":%q,"token":%q}`, zoneID, tok) }
	before, err := r.Store.Store.Observe(t.Context(), zoneID, 0)
	room.Must(t, err)

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
		w := r.send(strings.NewReader(tt.body))
		if d := room.Read(t, w); w.Code != tt.status || d.Code != tt.code || !strings.HasPrefix(d.Detail, tt.detail) {
			t.Errorf("%s: got %d %s", name, w.Code, w.Body)
		}
		if got, want := r.Meter.Seen(), []string{"refuse " + tt.zone + " " + tt.code}; !slices.Equal(got, want) {
			t.Errorf("%s: metered %q, want %q", name, got, want)
		}
	}
	if calls := r.Store.Asked(); len(calls) > 0 {
		t.Errorf("the store was asked %q", calls)
	}
	after, err := r.Store.Store.Observe(t.Context(), zoneID, 0)
	room.Must(t, err)
	if !reflect.DeepEqual(after, before) {
		t.Errorf("the zone changed from %+v to %+v", before, after)
	}
	if r.Logs.Len() != 0 {
		t.Errorf("logged %s", r.Logs)
	}
}

// 8192 bytes are read, 8193 are not, whether or not the length is announced.
func TestPollReadsBodiesUpToTheBound(t *testing.T) {
	t.Parallel()
	r := newServer(t)
	_, tok := r.place(t)
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
	r := newServer(t)
	broken := io.MultiReader(strings.NewReader(`{"zoneId":`), iotest.ErrReader(io.ErrUnexpectedEOF))
	if w := r.send(broken); w.Code != 400 || room.Read(t, w).Detail != "body could not be read to its end" {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if w := r.send(iotest.ErrReader(os.ErrDeadlineExceeded)); w.Code != 408 || w.Header().Get("Retry-After") == "" {
		t.Errorf("a body that stalls: got %d %s", w.Code, w.Body)
	}
	limited := httptest.NewRequest(http.MethodPost, "/traffic/entry", io.MultiReader(strings.NewReader(`{"zoneId":"Z"}`)))
	w := httptest.NewRecorder()
	limited.Body = http.MaxBytesReader(w, limited.Body, 3)
	if r.HTTP.ServeHTTP(w, limited); w.Code != 413 {
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
			r := newServer(t)
			_, tok := r.place(t)
			r.Store.Fail(tt.err)
			r.Store.Status = tt.status
			w := r.Poll(tok)
			if w.Code != tt.want || room.Read(t, w).Code != tt.code {
				t.Errorf("got %d %s", w.Code, w.Body)
			}
			if strings.Contains(w.Body.String(), "hunter2") {
				t.Errorf("tells the client %s", w.Body)
			}
			if logs := strings.Count(r.Logs.String(), "\n"); (logs == 1) != tt.logged || logs > 1 {
				t.Errorf("logged %q", r.Logs)
			}
			if strings.Contains(r.Logs.String(), tok) {
				t.Errorf("the log has the token: %s", r.Logs)
			}
			want := []string{"poll TEST_ZONE error", "refuse TEST_ZONE " + tt.code}
			if got := r.Meter.Seen(); !slices.Equal(got, want) {
				t.Errorf("metered %q, want %q", got, want)
			}
		})
	}
}

// TestPollBeforeItsTime: it is answered from memory, and refused after too many.
func TestPollBeforeItsTime(t *testing.T) {
	t.Parallel()
	r := newServer(t)
	r.place(t)
	_, tok := r.place(t)
	limits := limiter.New(limiter.Dependencies{Local: local.New(local.CountersOptions{Now: r.Now}), Now: r.Now})
	var policies limit.PolicySet
	limits.Use(policies.Put(limit.Policy{Name: guard.PollsToken, Rules: []limit.Rule{{Algorithm: limit.FixedWindow, Limit: 1, WindowSeconds: 60}}}))
	r.Guard = guard.New(guard.Options{Limiter: limits})
	r.Open(t, zones.Options{AnswerEarly: true})
	r.Serve(t)
	r.Store.Asked()
	told := room.Read(t, r.Poll(tok))
	r.Forward(time.Second / 2)
	again := room.Read(t, r.Poll(told.Token))
	if again.Token != told.Token || again.Waiting.PollingPeriod != told.Waiting.PollingPeriod-500 || !slices.Equal(r.Store.Asked(), []string{"poll"}) {
		t.Errorf("first %+v, then %+v", told.Waiting, again.Waiting)
	}
	w := r.Poll(tok)
	if w.Code != 429 || room.Read(t, w).Code != "too_many_requests" || w.Header().Get("Retry-After") == "" {
		t.Errorf("got %d %v %s", w.Code, w.Header(), w.Body)
	}
	want := []string{"poll TEST_ZONE waiting", "poll TEST_ZONE early", "poll TEST_ZONE refused", "refuse TEST_ZONE too_many_requests"}
	if got := r.Meter.Seen(); !slices.Equal(got, want) {
		t.Errorf("metered %q, want %q", got, want)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	r := newServer(t)
	w := httptest.NewRecorder()
	r.HTTP.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/.well-known/jwks.json", nil))
	var set struct {
		Keys []struct {
			Curve string `json:"crv"`
			ID    string `json:"kid"`
		} `json:"keys"`
	}
	room.Must(t, json.Unmarshal(w.Body.Bytes(), &set))
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
	r := newServer(t)
	for path, status := range map[string]int{"?zone=CAPPED": 200, "?zone=NONE": 404, "": 404} {
		w := httptest.NewRecorder()
		r.HTTP.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/.well-known/revoked"+path, nil))
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
		room.Must(t, err)
		if !strings.Contains(string(text), `"revokedUpTo":7,"revoked":["`+revokedOne+`","`+revokedTwo+`"]`) {
			t.Errorf("%s", text)
		}
	}
}

// FuzzPoll sends any body: the answer is one of the contract's, and the store
// hears of it only when the token is genuine.
func FuzzPoll(f *testing.F) {
	r := newServer(f)
	_, tok := r.place(f)
	for _, body := range []string{
		`{"zoneId":"TEST_ZONE","token":"` + tok + `"}`, `{"zoneId":"TEST_ZONE","token":"` + tok[1:] + `"}`,
		`{"zoneId":"OTHER","token":"` + tok + `"}`, `{"zoneId":"","token":""}`, `{`, `[]`, "\xff", ``,
	} {
		f.Add([]byte(body))
	}
	allowed := map[int]string{400: "invalid_request", 401: "token_invalid", 413: "body_too_large"}
	f.Fuzz(func(t *testing.T, body []byte) {
		r.Store.Asked()
		w := r.send(bytes.NewReader(body))
		d := room.Read(t, w)
		if w.Code == http.StatusOK {
			if d.Token != tok || !slices.Equal(r.Store.Asked(), []string{"poll"}) {
				t.Fatalf("%q was answered %s", body, w.Body)
			}
			return
		}
		if code, ok := allowed[w.Code]; !ok || d.Code != code {
			t.Fatalf("%q was answered %d %s", body, w.Code, w.Body)
		}
		if len(r.Store.Asked()) > 0 {
			t.Fatalf("%q reached the store", body)
		}
	})
}
