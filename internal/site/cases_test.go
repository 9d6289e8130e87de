package site_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	fixture "github.com/openqueue/waitingroom/internal/check/room"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/page"
	"github.com/openqueue/waitingroom/internal/pass"
	"github.com/openqueue/waitingroom/internal/site"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/zone"
)

// casesFile has the cases that the gate at a CDN's edge (clients/edge) is held to as well.
const casesFile = "../../clients/edge/test/cases.json"

// gateCase is a request in a zone, and what becomes of it.
type gateCase struct {
	Name string `json:"name"`
	// Zone are settings that are not the default. A minute has 600 admissions unless it says so.
	Zone map[string]any `json:"zone"`
	// State is what the room tells the edge of that zone.
	State map[string]any `json:"state"`
	// Room is what the room does with a join or a pass. "": it lets newcomers in, and passes are good.
	Room    string `json:"room"`
	Request struct {
		Method  string            `json:"method"`
		Path    string            `json:"path"`
		Headers map[string]string `json:"headers"`
	} `json:"request"`
	// Plain: the visitor came without TLS.
	Plain bool     `json:"plain"`
	Want  gateWant `json:"want"`
}

// gateWant is an answer. What a random value is, is a *.
type gateWant struct {
	Status        int    `json:"status"` // 200: the request goes on
	Location      string `json:"location"`
	SetCookie     string `json:"setCookie"`
	SessionHeader bool   `json:"sessionHeader"`
	CacheControl  string `json:"cacheControl"`
	RetryAfter    string `json:"retryAfter"`
	Code          string `json:"code"`
	CORS          string `json:"cors"`
	Expose        string `json:"expose"`
}

// random matches the value of a cookie that is there.
var random = regexp.MustCompile(`=[^;]+`)

// TestCases holds the gate, and what the room tells the edge, to the table that the edge's own test reads.
func TestCases(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(casesFile)
	fixture.Must(t, err)
	var cases []gateCase
	fixture.Must(t, json.Unmarshal(text, &cases))
	for _, c := range cases {
		_, err := url.ParseRequestURI(c.Request.Path) // net/http answers 400 where it is none
		for _, gateway := range []string{"caddy", "queue-server"} {
			t.Run(c.Name+" ("+gateway+")", func(t *testing.T) {
				t.Parallel()
				if gateway == "caddy" || err == nil {
					c.play(t, gateway)
				}
			})
		}
	}
}

func (c *gateCase) play(t *testing.T, gateway string) {
	t.Helper()
	r := newRoom(t, 600)
	r.set(func(s *zone.Settings) {
		changed := map[string]any{}
		is, err := s.MarshalJSON()
		fixture.Must(t, err)
		fixture.Must(t, json.Unmarshal(is, &changed))
		maps.Copy(changed, c.Zone)
		is, err = json.Marshal(changed)
		fixture.Must(t, err)
		fixture.Must(t, s.UnmarshalJSON(is))
		if c.Room == "waits" {
			s.PerMinute = 10
		}
	})
	if c.Room == "waits" {
		r.ask("caddy", "GET", "/", with(opens, "User-Agent", "the first")...)
	}
	if c.Zone["challenge"] != nil { // there is a line, of visitors who may enter at once
		r.Store.Lined(true)
		_, err := r.Zones.Observe(t.Context(), zoneID)
		fixture.Must(t, err)
	}
	if state := r.siteState(); !reflect.DeepEqual(state, c.State) {
		t.Errorf("the room tells the edge %v, want %v", state, c.State)
	}
	fill := r.placeholders()
	switch c.Room {
	case "used":
		shown := fill.Replace("{pass}")
		r.shows(shown)
	case "away":
		r.away = line.ErrStoreUnavailable
	case "unknown":
		fixture.Must(t, r.Zones.DeleteZone(t.Context(), zoneID, audit.By{}))
	}
	header := []string{"X-Forwarded-Proto", "https"}
	if c.Plain {
		header[1] = "http"
	}
	for name, value := range c.Request.Headers {
		header = append(header, name, fill.Replace(value))
	}
	w := r.ask(gateway, c.Request.Method, fill.Replace(c.Request.Path), header...)
	want := c.Want
	want.Location = fill.Replace(want.Location)
	if c.Request.Method == http.MethodHead && gateway == "queue-server" {
		want.Code = "" // there is no body
	}
	if got := seen(w, c.Want); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// siteState is what the public listener says of the zone, for gates.
func (r *room) siteState() map[string]any {
	r.t.Helper()
	w := httptest.NewRecorder()
	r.public.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/traffic/zones/"+zoneID, http.NoBody))
	var state struct {
		Site map[string]any `json:"site"`
	}
	fixture.Must(r.t, json.Unmarshal(w.Body.Bytes(), &state))
	return state.Site
}

// placeholders are what cases have in braces.
func (r *room) placeholders() *strings.Replacer {
	now := r.Now()
	held := func(zoneID string, before time.Duration) string {
		began := now.Add(-before)
		return r.Tokens.SignSession(zoneID, token.Session{Admission: [16]byte{1}, Begun: began, Issued: began, Length: 30 * time.Minute})
	}
	good, other := r.pass(zoneID, time.Minute), r.pass("OTHER", time.Minute)
	over := r.passOf(pass.Grant{ZoneID: zoneID, ID: line.ID{3}, AdmittedAtMillis: now.UnixMilli() - 120_000, ExpiresAtMillis: now.UnixMilli() - 60_000})
	_, key, _ := strings.Cut(newKey(), "=")
	return strings.NewReplacer(
		"{session}", held(zoneID, 0), "{sessionOfOther}", held("OTHER", 0), "{sessionOver}", held(zoneID, time.Hour),
		"{sessionHalfOver}", held(zoneID, 16*time.Minute),
		"{pass}", good, "{passOfOther}", other, "{passOver}", over, "{key}", key,
		"{refused}", page.Refused(good), "{refusedOther}", page.Refused(other), "{refusedOver}", page.Refused(over),
	)
}

// seen is an answer of the gate, in the words of a case. What the gate tells the gateway beside "go on" the edge does by itself.
func seen(w *httptest.ResponseRecorder, want gateWant) gateWant {
	h := w.Header()
	var document struct {
		Code string `json:"code"`
	}
	_ = json.Unmarshal(w.Body.Bytes(), &document) // there is none where the request goes on
	got := gateWant{
		Status: w.Code, Location: h.Get("Location"), SetCookie: h.Get("Set-Cookie"), SessionHeader: h.Get(site.SessionHeader) != "",
		CacheControl: h.Get("Cache-Control"), RetryAfter: h.Get("Retry-After"), Code: document.Code, CORS: h.Get("Access-Control-Allow-Origin"),
		Expose: h.Get("Access-Control-Expose-Headers"),
	}
	if got.SetCookie != "" && !strings.Contains(got.SetCookie, "=;") {
		got.SetCookie = strings.Replace(got.SetCookie, random.FindString(got.SetCookie), "=*", 1)
	}
	switch {
	case got.Status == 200 && got.SetCookie == "" && !got.SessionHeader:
		got.CacheControl = "" // of the answer to the gateway
	case got.Status == 503 && got.Code != "admission_required":
		return gateWant{Status: 503} // the edge says it in its own words
	case got.CORS != "":
		got.Expose = want.Expose // always Retry-After: TestOtherOrigins
	}
	return got
}
