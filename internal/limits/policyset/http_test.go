package policyset_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/openapitest"
	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limit/local"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/limits/policyset"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/operate/people"
	"github.com/openqueue/waitingroom/internal/problem"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/serve/route"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

const secret = "a token for operators"

// room has all handlers, over the embedded store and behind echo.
type room struct {
	*testing.T
	store    *parts.Store
	policies *policyset.Set
	limiter  *limiter.Limiter
	http     http.Handler
	people   *people.Registry
}

func newRoom(t *testing.T) *room {
	t.Helper()
	r := &room{T: t, store: parts.OpenStore(t, parts.NewClock().Now, slog.New(slog.DiscardHandler))}
	r.limiter = limiter.New(limiter.Dependencies{Local: local.New(local.CountersOptions{})})
	r.policies = policyset.New(policyset.SetOptions{Store: r.store, Use: r.limiter.Use})
	r.route(r.limiter)
	return r
}

func (r *room) route(seen policyset.Seen) {
	log := slog.New(slog.DiscardHandler)
	r.people = people.New(people.Options{Store: r.store, Secrets: [][]byte{[]byte("one secret, of 32 bytes or more!")}, Root: []string{secret}, Logger: log})
	desk := operator.NewHTTP(operator.New(operator.Options{Zones: zones.New(zones.Options{Store: r.store}), Policies: r.policies, People: r.people, Logger: log}), nil)
	access := operator.NewAccess(operator.AccessOptions{People: r.people, Logger: log})
	h := policyset.NewHTTP(r.policies, seen)
	e := echo.New()
	e.HTTPErrorHandler = problem.Handler(slog.New(slog.DiscardHandler), &parts.Meter{})
	e.Use(access.Guard)
	route.Mount(e, slices.Concat(desk.Routes(), h.Routes()), people.NewHTTP(r.people).Permit)
	r.http = openapitest.Operators.Handler(r.T, e)
}

// send checks that the answer has this status; headers are name, value, name, value.
func (r *room) send(status int, method, path string, body io.Reader, headers ...string) *httptest.ResponseRecorder {
	r.Helper()
	req := httptest.NewRequest(method, path, body)
	req.Header.Set("Authorization", "Bearer "+secret)
	req.Header.Set("X-Operator", "Olga")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	r.http.ServeHTTP(w, req)
	if w.Code != status {
		r.Errorf("%s %s: got %d %s, want %d", method, path, w.Code, w.Body, status)
	}
	return w
}

func text(s string) io.Reader { return strings.NewReader(s) }

const usual = `{"key": ["apiKey", "ip"], "rules": [{"algorithm": "sliding_log", "limit": 2, "windowSeconds": 60}],
	"tiers": {"pro": [{"algorithm": "token_bucket", "limit": 10, "windowSeconds": 1, "burst": 20}]}}`

func TestAPolicyIsMadeReadChangedAndDeleted(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.send(404, "GET", "/admin/limits/api", nil)
	made := r.send(201, "PUT", "/admin/limits/api", text(usual), "If-None-Match", "*", "X-Operator", "Ada")
	if made.Header().Get("Location") != "/admin/limits/api" {
		t.Errorf("made at %q", made.Header().Get("Location"))
	}
	got := r.send(200, "GET", "/admin/limits/api", nil)
	if got.Body.String() != made.Body.String() || got.Header().Get("ETag") != made.Header().Get("ETag") {
		t.Errorf("made %s, read %s", made.Body, got.Body)
	}
	if !strings.Contains(got.Body.String(), `"onStoreFailure":"local"`) {
		t.Errorf("no defaults: %s", got.Body)
	}
	seen := got.Header().Get("ETag")
	r.send(412, "PUT", "/admin/limits/api", text(usual), "If-None-Match", "*")
	operator, _, err := r.people.Create(t.Context(), people.Wanted{Name: "anna", Role: route.Operator}, audit.By{Name: "root", Proof: audit.Root})
	parts.Must(t, err)
	r.send(403, "PUT", "/admin/limits/api", text(usual), "Authorization", "Bearer "+operator)
	r.send(403, "DELETE", "/admin/limits/api", nil, "Authorization", "Bearer "+operator)
	r.send(200, "PUT", "/admin/limits/api", text(strings.Replace(usual, "60", "61", 1)), "If-Match", seen)
	r.send(412, "PUT", "/admin/limits/api", text(usual), "If-Match", seen)
	r.send(412, "DELETE", "/admin/limits/api", nil, "If-Match", seen)
	if list := r.send(200, "GET", "/admin/limits", nil); !strings.HasPrefix(list.Body.String(), `{"limits":[{"name":"api"`) {
		t.Errorf("list: %s", list.Body)
	}
	r.send(204, "DELETE", "/admin/limits/api", nil, "X-Operator", "Bob")
	r.send(404, "DELETE", "/admin/limits/api", nil)
	if list := r.send(200, "GET", "/admin/limits", nil); strings.TrimSpace(list.Body.String()) != `{"limits":[]}` {
		t.Errorf("list: %s", list.Body)
	}
	r.send(201, "PUT", "/admin/limits/other", text(usual))
	if _, err := r.store.PutZone(t.Context(), zone.Defaults("Z"), nil, audit.By{}); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"":                    "1 zones, other Olga, api Bob, api Olga, api Ada",
		"?policy=api":         "0 zones, api Bob, api Olga, api Ada",
		"?policy=api&limit=1": "0 zones, api Bob",
		"?policy=none":        "0 zones",
		"?zoneId=Z":           "1 zones",
	} {
		var all struct {
			Zones    []zone.Change  `json:"changes"`
			Policies []limit.Change `json:"policyChanges"`
		}
		parts.Must(t, json.Unmarshal(r.send(200, "GET", "/admin/audit"+query, nil).Body.Bytes(), &all))
		got := fmt.Sprint(len(all.Zones), " zones")
		for _, c := range all.Policies {
			got += ", " + c.Policy + " " + c.Name
		}
		if got != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
}

func TestBadPoliciesChangeNothing(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	for body, want := range map[string]string{
		"":                          "body is not valid JSON",
		"rules: 7":                  "body is not valid JSON",
		"[]":                        "body must be a JSON object",
		"{}":                        "tier default: 0 rules",
		`{"rules": [], "rules": 1}`: "rules is in line 1 already",
		`{"Rules": []}`:             `"Rules" is not a setting of a policy`,
		`{"rules": [{"burst": 1e1, "limit": 0.5}]}`:         "limit must be a whole number",
		strings.Replace(usual, "{", `{"name": "b", `, 1):    "name must be that of the path, or left out",
		strings.Replace(usual, "sliding_log", "sliding", 1): "algorithm",
	} {
		w := r.send(400, "PUT", "/admin/limits/api", text(body))
		if !strings.Contains(w.Body.String(), strings.ReplaceAll(want, `"`, `\"`)) {
			t.Errorf("%s: %s, want %q", body, w.Body, want)
		}
	}
	r.send(413, "PUT", "/admin/limits/api", text(strings.Repeat(" ", serve.MaxOperatorBody+1)))
	r.send(408, "PUT", "/admin/limits/api", stalled{})
	r.send(400, "PUT", "/admin/limits/a%20b", text(usual))
	r.send(400, "PUT", "/admin/limits/api", text(usual), "X-Operator", strings.Repeat("a", 65))
	r.send(400, "DELETE", "/admin/limits/api", nil, "X-Operator", strings.Repeat("a", 65))
	r.send(400, "DELETE", "/admin/limits/a%20b", nil)
	r.send(400, "GET", "/admin/limits/a%20b", nil)
	r.send(400, "GET", "/admin/limits/a%20b/stats", nil)
	if b, err := policyset.Stored(t.Context(), r.store); err != nil || b.Version != 0 {
		t.Errorf("%+v, %v", b, err)
	}
}

type stalled struct{}

func (stalled) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

// broken is a Seen that always fails.
type broken struct{}

func (broken) Stats(string) (limiter.Stats, error) { return limiter.Stats{}, errors.New("oh") }

func TestEveryOperationCanFail(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.send(201, "PUT", "/admin/limits/api", text(usual))
	changed := text(strings.Replace(usual, "60", "61", 1))
	r.store.Fail(line.ErrDocumentChanged, "put_document")
	r.send(409, "PUT", "/admin/limits/api", changed)
	r.send(409, "DELETE", "/admin/limits/api", nil)
	for status, err := range map[int]error{503: line.ErrStoreUnavailable, 500: errors.New("the secret is hunter2")} {
		r.store.Fail(err, "document")
		for _, method := range []string{"PUT", "DELETE"} {
			if w := r.send(status, method, "/admin/limits/api", text(usual)); strings.Contains(w.Body.String(), "hunter2") {
				t.Errorf("the secret is told: %s", w.Body)
			}
		}
		// The remembered policies are still shown.
		r.send(200, "GET", "/admin/limits/api", nil)
		r.send(200, "GET", "/admin/limits", nil)
	}
	for range 5 {
		r.send(401, "GET", "/admin/limits", nil, "Authorization", "Bearer guess")
	}
	for _, path := range []string{"/admin/limits", "/admin/limits/api", "/admin/limits/api/stats"} {
		r.send(401, "GET", path, nil, "Authorization", "")
		r.send(429, "GET", path, nil, "Authorization", "Bearer guess")
	}
	for _, method := range []string{"PUT", "DELETE"} {
		r.send(401, method, "/admin/limits/api", nil, "Authorization", "")
		r.send(429, method, "/admin/limits/api", nil, "Authorization", "Bearer guess")
		r.send(403, method, "/admin/limits/api", nil, "Sec-Fetch-Site", "cross-site")
	}
	r.route(broken{})
	r.send(500, "GET", "/admin/limits/api/stats", nil)
}

// TestStats: each tier's outcomes, by the names that the API has.
func TestStats(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.send(404, "GET", "/admin/limits/api/stats", nil)
	r.send(201, "PUT", "/admin/limits/api", text(usual))
	for _, tier := range []string{"", "", "", "", "pro"} {
		if _, err := r.limiter.Check(t.Context(), limiter.Question{Policy: "api", Key: "ip:203.0.113.9", Tier: tier}); err != nil {
			t.Fatal(err)
		}
	}
	var got struct {
		Tiers []struct {
			Tier   string         `json:"tier"`
			Total  map[string]int `json:"total"`
			Recent map[string]int `json:"recent"`
		} `json:"tiers"`
	}
	parts.Must(t, json.Unmarshal(r.send(200, "GET", "/admin/limits/api/stats", nil).Body.Bytes(), &got))
	usual, pro := got.Tiers[0], got.Tiers[1]
	if usual.Tier != "default" || usual.Total["allowed"] != 2 || usual.Recent["refused"] != 1 || usual.Total["refusedFromMemory"] != 1 ||
		pro.Tier != "pro" || pro.Recent["allowed"] != 1 {
		t.Errorf("%+v", got.Tiers)
	}
}
