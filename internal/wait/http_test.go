package wait_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/openqueue/waitingroom/internal/check/room"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/wait"
	"github.com/openqueue/waitingroom/internal/zone"
)

func TestJoinStraightIn(t *testing.T) {
	t.Parallel()
	r := newServer(t)
	w := r.Send("POST", "/traffic/wait",
		`{"zoneId":"TEST_ZONE","clientIp":"203.0.113.9","clientAgent":"WEB","clientId":"c-1"}`)
	d := room.Read(t, w)
	if w.Code != http.StatusOK || !d.CanEnter || d.Waiting != nil || d.Admission == nil || d.ZoneID != zoneID {
		t.Fatalf("got %d %s", w.Code, w.Body)
	}
	if got := w.Header().Get("Retry-After"); got != "" {
		t.Errorf("Retry-After %q with an admission", got)
	}
	now := r.Now().UnixMilli()
	if d.Admission.AdmittedAt != now || d.Admission.ExpiresAt != now+300_000 {
		t.Errorf("got %s", w.Body)
	}
	grant, err := r.Passes.Verify(d.Admission.Pass, r.Now())
	if err != nil || grant.ZoneID != zoneID || grant.ID != r.Tokens.VisitorID(zoneID, "c-1") {
		t.Errorf("pass: got %+v, %v", grant, err)
	}
	if place, err := r.Tokens.Verify(zoneID, d.Token); err != nil || place.ID != grant.ID {
		t.Errorf("token: got %+v, %v", place, err)
	}
	if again := r.Join("c-1"); again.Body.String() != w.Body.String() {
		t.Errorf("a repeated join got %s, the first %s", again.Body, w.Body)
	}
	want := []string{"join TEST_ZONE admitted", "admit TEST_ZONE 0s", "join TEST_ZONE admitted_before"}
	if got := r.Meter.Seen(); !slices.Equal(got, want) {
		t.Errorf("metered %q, want %q", got, want)
	}
}

func TestJoinTheLine(t *testing.T) {
	t.Parallel()
	r := newServer(t)
	r.Join("first")
	r.Meter.Seen()
	w := r.Join("second")
	d := room.Read(t, w)
	if w.Code != http.StatusOK || d.CanEnter || d.Waiting == nil || d.Admission != nil {
		t.Fatalf("got %d %s", w.Code, w.Body)
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
	again := room.Read(t, r.Join("second"))
	if r.Place(t, again.Token) != r.Place(t, d.Token) || again.Waiting.Position != 1 || again.Waiting.Total != 1 {
		t.Errorf("a repeated join got %+v, the first %+v", again, d)
	}
	if other := room.Read(t, r.Join("")); other.Waiting.Position != 2 || r.Place(t, other.Token) == r.Place(t, d.Token) {
		t.Errorf("a join without clientId got %+v", other)
	}
	if other := room.Read(t, r.Join("")); other.Waiting.Position != 3 {
		t.Errorf("another join without clientId got %+v", other)
	}
	if got, want := r.Meter.Seen(), slices.Repeat([]string{"join TEST_ZONE waiting"}, 4); !slices.Equal(got, want) {
		t.Errorf("metered %q, want %q", got, want)
	}
}

// seconds are all whole numbers from least to most, as Retry-After has them.
func seconds(least, most int) (all []string) {
	for n := least; n <= most; n++ {
		all = append(all, strconv.Itoa(n))
	}
	return all
}

func TestJoinIsTurnedAway(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change  func(*zone.Settings)
		want    int
		code    string
		outcome string
		retry   []string
	}{
		"closed": {
			func(s *zone.Settings) { s.Mode = zone.ModeClosed }, 423, "zone_closed", "closed", []string{""},
		},
		"full": {
			func(s *zone.Settings) { s.MaxWaiting = 1 }, 429, "line_full", "full",
			seconds(5, 10),
		},
		"too long": {
			// A newcomer would wait for 2 minutes behind the one who waits.
			func(s *zone.Settings) { s.MaxWaitMinutes, s.PerMinute = 1, 1 }, 429, "wait_too_long", "too_long", seconds(60, 75),
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newServer(t)
			r.Join("admitted")
			present := room.Read(t, r.Join("present"))
			r.Set(t, tt.change)
			r.Meter.Seen()
			before := r.Stats(t)
			w := r.Join("newcomer")
			if w.Code != tt.want || room.Read(t, w).Code != tt.code {
				t.Errorf("got %d %s", w.Code, w.Body)
			}
			if got := w.Header().Get("Retry-After"); !slices.Contains(tt.retry, got) {
				t.Errorf("Retry-After %q", got)
			}
			if after := r.Stats(t); !reflect.DeepEqual(after, before) {
				t.Errorf("the zone changed from %+v to %+v", before, after)
			}
			want := []string{"join TEST_ZONE " + tt.outcome, "refuse TEST_ZONE " + tt.code}
			if got := r.Meter.Seen(); !slices.Equal(got, want) {
				t.Errorf("metered %q, want %q", got, want)
			}
			if again := room.Read(t, r.Join("present")); r.Place(t, again.Token) != r.Place(t, present.Token) || again.Status != 0 {
				t.Errorf("one who has a place got %+v", again)
			}
		})
	}
}

// TestJoinWhenSoldOut: everybody is told why, in their language, but who was admitted; and it can be taken back.
func TestJoinWhenSoldOut(t *testing.T) {
	t.Parallel()
	r := newServer(t)
	r.Join("admitted")
	present := room.Read(t, r.Join("present"))
	r.Set(t, func(s *zone.Settings) { s.SoldOut = zone.Texts{"default": "No seats are left.", "de": "Ausverkauft."} })
	r.Meter.Seen()
	for _, who := range []string{"newcomer", "present", "newcomer"} {
		for accept, want := range map[string]string{"": "No seats are left.", "de-DE,en;q=0.5": "Ausverkauft."} {
			w := r.Send("POST", "/traffic/wait", fmt.Sprintf(`{"zoneId":%q,"clientId":%q}`, zoneID, who), "Accept-Language", accept)
			if d := room.Read(t, w); w.Code != http.StatusGone || d.Code != "sold_out" || d.Detail != want || w.Header().Get("Retry-After") != "" {
				t.Errorf("%s: got %d %s", who, w.Code, w.Body)
			}
		}
	}
	if got := r.Meter.Seen(); len(got) != 12 || got[0] != "join TEST_ZONE sold_out" || got[1] != "refuse TEST_ZONE sold_out" {
		t.Errorf("metered %q", got)
	}
	if d := room.Read(t, r.Join("admitted")); !d.CanEnter || r.Stats(t).State.Waiting != 1 {
		t.Errorf("one who was let in got %+v", d)
	}
	if w := r.Send("GET", "/traffic/zones/TEST_ZONE", ""); !strings.Contains(w.Body.String(), `"soldOut":"No seats are left."`) {
		t.Errorf("the state is %s", w.Body)
	}
	r.Set(t, func(s *zone.Settings) { s.SoldOut = nil })
	if again := room.Read(t, r.Join("present")); r.Place(t, again.Token) != r.Place(t, present.Token) || again.Waiting.Position != 1 {
		t.Errorf("afterwards: %+v", again)
	}
}

// TestJoinIsGuarded: the guard hears who asks, and its word counts.
func TestJoinIsGuarded(t *testing.T) {
	t.Parallel()
	r := newServer(t)
	send := func(header string) *httptest.ResponseRecorder {
		return r.Send("POST", "/traffic/wait", `{"zoneId":"TEST_ZONE","clientId":"c","clientIp":"203.0.113.9"}`, "From", "198.51.100.7", header, "192.0.2.1")
	}
	if w, want := send(""), []string{"joins-client client:TEST_ZONE/c", "joins-zone zone:TEST_ZONE/ip:198.51.100.7", "joins-address ip:198.51.100.7"}; w.Code != 200 ||
		!slices.Equal(r.Limiter.Asked, want) {
		t.Errorf("%d, the limiter was asked %q, want %q", w.Code, r.Limiter.Asked, want)
	}
	for header, want := range map[string]bool{"X-Forwarded-For": true, "Forwarded": true, "X-Real-IP": true, "Via": false} {
		if n := (wait.Newcomer{}).From("198.51.100.7", http.Header{http.CanonicalHeaderKey(header): {"192.0.2.1"}}); n.Forwarded != want {
			t.Errorf("%s: %+v", header, n)
		}
	}
	r.Limiter.Refuses = true
	r.Meter.Seen()
	before := r.Stats(t)
	w := send("Via")
	if w.Code != 429 || room.Read(t, w).Code != "too_many_requests" || w.Header().Get("Retry-After") != "13" {
		t.Errorf("got %d %v %s", w.Code, w.Header(), w.Body)
	}
	if after := r.Stats(t); !reflect.DeepEqual(after, before) {
		t.Errorf("the zone changed from %+v to %+v", before, after)
	}
	want := []string{"join TEST_ZONE refused", "refuse TEST_ZONE too_many_requests"}
	if got := r.Meter.Seen(); !slices.Equal(got, want) {
		t.Errorf("metered %q, want %q", got, want)
	}
}

func TestJoinRefuses(t *testing.T) {
	r := newServer(t)
	before := r.Stats(t)
	with := func(field, value string) string { return fmt.Sprintf(`{"zoneId":"TEST_ZONE",%q:%q}`, field, value) }
	tests := map[string]struct{ body, detail string }{
		"no body":              {``, "body must be a JSON object"},
		"no zoneId":            {`{}`, "zoneId is missing"},
		"zoneId with a brace":  {`{"zoneId":"{x}"}`, "zoneId must be 1 to 64 of A-Z a-z 0-9 . _ -"},
		"zoneId too long":      {`{"zoneId":"` + strings.Repeat("z", 65) + `"}`, "zoneId must be 1 to 64 of A-Z a-z 0-9 . _ -"},
		"clientIp malformed":   {with("clientIp", "256.1.1.1"), "clientIp must be an IPv4 or IPv6 address"},
		"clientIp a list":      {with("clientIp", "203.0.113.9, 203.0.113.10"), "clientIp must be an IPv4 or IPv6 address"},
		"clientAgent too long": {with("clientAgent", strings.Repeat("é", 129)), "clientAgent must not be longer than 256 bytes"},
		"clientId too long":    {with("clientId", strings.Repeat("é", 128)+"x"), "clientId must not be longer than 256 bytes"},
	}
	for name, tt := range tests {
		w := r.Send("POST", "/traffic/wait", tt.body)
		if d := room.Read(t, w); w.Code != 400 || d.Code != "invalid_request" || d.Detail != tt.detail {
			t.Errorf("%s: got %d %s", name, w.Code, w.Body)
		}
		if got, want := r.Meter.Seen(), []string{"refuse  invalid_request"}; !slices.Equal(got, want) {
			t.Errorf("%s: metered %q, want %q", name, got, want)
		}
	}
	large := r.Send("POST", "/traffic/wait", with("clientAgent", strings.Repeat("x", 8192)))
	if large.Code != 413 || room.Read(t, large).Code != "body_too_large" {
		t.Errorf("a large body got %d %s", large.Code, large.Body)
	}
	if got := r.Store.Asked(); len(got) > 0 {
		t.Errorf("the store was asked %q", got)
	}
	if after := r.Stats(t); !reflect.DeepEqual(after, before) {
		t.Errorf("the zone changed from %+v to %+v", before, after)
	}
	if r.Logs.Len() != 0 {
		t.Errorf("logged %s", r.Logs)
	}
}

func TestJoinAcceptsWhatMobileClientsSend(t *testing.T) {
	t.Parallel()
	r := newServer(t)
	for name, body := range map[string]string{
		"IPv6":              `{"zoneId":"TEST_ZONE","clientIp":"2001:db8::1"}`,
		"empty strings":     `{"zoneId":"TEST_ZONE","clientIp":"","clientAgent":"","clientId":""}`,
		"nulls":             `{"zoneId":"TEST_ZONE","clientIp":null,"clientAgent":null,"clientId":null}`,
		"fields of its own": `{"zoneId":"TEST_ZONE","app":{"version":[1,2]},"token":5}`,
		"at the bounds": `{"zoneId":"TEST_ZONE","clientAgent":"` + strings.Repeat("é", 128) +
			`","clientId":"` + strings.Repeat("x", 256) + `"}`,
	} {
		for _, contentType := range []string{"application/json", "text/plain", ""} {
			if w := r.Send("POST", "/traffic/wait", body, "Content-Type", contentType); w.Code != 200 {
				t.Errorf("%s as %q: got %d %s", name, contentType, w.Code, w.Body)
			}
		}
	}
}

func TestLeave(t *testing.T) {
	t.Parallel()
	r := newServer(t)
	r.Join("admitted")
	tok := room.Read(t, r.Join("leaving")).Token
	for _, when := range []string{"first", "again"} {
		w := r.Leave(tok)
		if w.Code != http.StatusNoContent || w.Body.Len() != 0 {
			t.Errorf("%s: got %d %s", when, w.Code, w.Body)
		}
	}
	if got := r.Stats(t).State.Waiting; got != 0 {
		t.Errorf("%d wait", got)
	}
}

func TestLeaveRefuses(t *testing.T) {
	r := newServer(t)
	r.Join("admitted")
	tok := room.Read(t, r.Join("waiting")).Token
	r.Store.Asked()
	before := r.Stats(t)
	body := func(zoneID, tok string) string { return fmt.Sprintf(`{"zoneId":%q,"token":%q}`, zoneID, tok) }
	tests := map[string]struct {
		body   string
		status int
		code   string
	}{
		"no body":        {``, 400, "invalid_request"},
		"no token":       {`{"zoneId":"TEST_ZONE"}`, 400, "invalid_request"},
		"token too long": {body(zoneID, strings.Repeat("A", 257)), 400, "invalid_request"},
		"token garbage":  {body(zoneID, "AAAA"), 401, "token_invalid"},
		"another zone's": {body("OTHER", tok), 401, "token_invalid"},
		"body too large": {body(zoneID, strings.Repeat("A", 8193)), 413, "body_too_large"},
	}
	for name, tt := range tests {
		w := r.Send("POST", "/traffic/leave", tt.body)
		if w.Code != tt.status || room.Read(t, w).Code != tt.code {
			t.Errorf("%s: got %d %s", name, w.Code, w.Body)
		}
	}
	if got := r.Store.Asked(); len(got) > 0 {
		t.Errorf("the store was asked %q", got)
	}
	if after := r.Stats(t); !reflect.DeepEqual(after, before) {
		t.Errorf("the zone changed from %+v to %+v", before, after)
	}
}

// TestBodyThatStalls: nothing of it came until the listener's time was over.
func TestBodyThatStalls(t *testing.T) {
	t.Parallel()
	r := newServer(t)
	for _, path := range []string{"/traffic/wait", "/traffic/leave"} {
		w := httptest.NewRecorder()
		r.HTTP.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, iotest.ErrReader(os.ErrDeadlineExceeded)))
		if w.Code != 408 || room.Read(t, w).Code != "request_timeout" || w.Header().Get("Retry-After") == "" {
			t.Errorf("%s: got %d %s", path, w.Code, w.Body)
		}
	}
}

func TestWhenTheStoreFails(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		err    error
		want   int
		code   string
		logged bool
	}{
		"zone deleted": {line.ErrZoneDeleted, 404, "zone_unknown", false},
		"unavailable":  {fmt.Errorf("store: %w", line.ErrStoreUnavailable), 503, "store_unavailable", false},
		"anything":     {errors.New("the secret is hunter2"), 500, "internal_error", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newServer(t)
			tok := room.Read(t, r.Join("c")).Token
			r.Meter.Seen()
			r.Store.Fail(tt.err)
			for call, w := range map[string]*httptest.ResponseRecorder{
				"join": r.Join("c"), "leave": r.Leave(tok), "state": r.Send("GET", "/traffic/zones/TEST_ZONE", ""),
			} {
				if w.Code != tt.want || room.Read(t, w).Code != tt.code {
					t.Errorf("%s: got %d %s", call, w.Code, w.Body)
				}
				if strings.Contains(w.Body.String(), "hunter2") {
					t.Errorf("%s: tells the client %s", call, w.Body)
				}
			}
			if logs := strings.Count(r.Logs.String(), "\n"); (logs == 3) != tt.logged || logs%3 != 0 {
				t.Errorf("logged %q", r.Logs)
			}
			want := append([]string{"join TEST_ZONE error"}, slices.Repeat([]string{"refuse TEST_ZONE " + tt.code}, 3)...)
			got := r.Meter.Seen()
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("metered %q, want %q", got, want)
			}
		})
	}
}

func TestJoinWithAStatusThatIsNone(t *testing.T) {
	t.Parallel()
	r := newServer(t)
	r.Store.Status = line.Gone
	if w := r.Join("c"); w.Code != 500 || strings.Count(r.Logs.String(), "\n") != 1 {
		t.Errorf("got %d %s, logged %s", w.Code, w.Body, r.Logs)
	}
}

// A client that hung up is neither logged nor counted as refused.
func TestJoinOfAClientThatIsGone(t *testing.T) {
	t.Parallel()
	r := newServer(t)
	r.Store.Fail(fmt.Errorf("store: %w", context.Canceled))
	r.Join("c")
	if want := []string{"join TEST_ZONE error"}; !slices.Equal(r.Meter.Seen(), want) || r.Logs.Len() != 0 {
		t.Errorf("metered otherwise than %q, or logged %s", want, r.Logs)
	}
}
