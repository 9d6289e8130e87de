package operator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/operate/people"
	"github.com/openqueue/waitingroom/internal/problem"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/serve/route"
	"github.com/openqueue/waitingroom/internal/zone"
)

// routes is the service behind echo.
func (r *room) routes(log *slog.Logger) http.Handler {
	e := echo.New()
	e.HTTPErrorHandler = problem.Handler(log, &parts.Meter{})
	e.Use(operator.NewAccess(operator.AccessOptions{People: r.people, Logger: log, Now: r.Now}).Guard)
	route.Mount(e, operator.NewHTTP(r.service, nil).Routes(), people.NewHTTP(r.people).Permit)
	return e
}

// TestForbidden: who has a role in another zone gets 403 from every call of this one, and changes nothing.
func TestForbidden(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	was := r.put(t, "Z")
	token, _, err := r.people.Create(t.Context(), people.Wanted{Name: "ci", Role: route.Admin, Zones: []string{"OTHER"}}, audit.By{Name: "root", Proof: audit.Root})
	parts.Must(t, err)
	for _, call := range (*operator.HTTP)(nil).Routes() {
		if !call.Zoned() {
			continue
		}
		path := strings.NewReplacer("{zoneId}", "Z", "{event}", "noon", "{do}", "revoke").Replace(call.Path)
		if strings.Contains(path, "/events/") {
			path = strings.Replace(path, "revoke", "hold", 1)
		}
		if w := r.send(call.Method, path, "{}", "Authorization", "Bearer "+token); w.Code != 403 || read[refusal](t, w).Code != "forbidden" {
			t.Errorf("%s %s: %d %s", call.Method, path, w.Code, w.Body)
		}
	}
	if w := r.send("GET", "/admin/audit?zoneId=Z", "", "Authorization", "Bearer "+token); w.Code != 403 {
		t.Errorf("the record: %d %s", w.Code, w.Body)
	}
	if w := r.send("GET", "/admin/zones", "", "Authorization", "Bearer "+token); w.Code != 200 || strings.Contains(w.Body.String(), "Z\"") {
		t.Errorf("the list: %d %s", w.Code, w.Body)
	}
	if got := r.zone(t, "Z"); !got.Equal(was) {
		t.Errorf("the zone is %+v", got)
	}
}

func TestGuard(t *testing.T) {
	t.Parallel()
	const bearer = "Bearer "
	for header, want := range map[string]int{
		bearer + secret: 200, "bearer " + secret: 200,
		"": 401, "Bearer": 401, bearer: 401, bearer + secret + "x": 401, bearer + secret[:5]: 401, "Basic " + secret: 401,
		secret: 401, "Bearer  " + secret: 401,
	} {
		r := newRoom(t)
		r.put(t, "Z")
		for _, request := range []string{"GET /admin/zones", "GET /admin/zones/Z/stats", "GET /admin/unknown", "PATCH /admin/zones/Z"} {
			method, path, _ := strings.Cut(request, " ")
			w := r.send(method, path, `{"perMinute":600}`, "Authorization", header)
			wanted := want
			if want == 200 && path == "/admin/unknown" {
				wanted = 404
			}
			if w.Code != wanted || want == 401 && read[refusal](t, w).Code != "unauthorized" {
				t.Errorf("%q, %s: got %d %s", header, request, w.Code, w.Body)
			}
			if got := w.Header().Get("WWW-Authenticate"); (got == `Bearer realm="operators"`) != (want == 401) || w.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("%q, %s: %v", header, request, w.Header())
			}
		}
		if want == 401 && r.writes() != 0 || strings.Contains(r.logs.String(), secret) {
			t.Errorf("%q: written, or logged: %s", header, r.logs)
		}
	}
}

func TestGuardRefusesOtherSites(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	for _, headers := range [][]string{
		{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"},
	} {
		w := r.send("PUT", "/admin/zones/Z", `{}`, headers...)
		if w.Code != 403 || read[refusal](t, w).Code != "cross_origin" || r.writes() != 0 {
			t.Errorf("%q: got %d %s", headers, w.Code, w.Body)
		}
	}
	if w := r.send("PUT", "/admin/zones/Z", `{}`, "Sec-Fetch-Site", "same-origin"); w.Code != 201 {
		t.Errorf("its own page: got %d %s", w.Code, w.Body)
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	if w := r.send("GET", "/admin/zones", ""); w.Code != 200 || w.Body.String() != `{"zones":[]}`+"\n" {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	for _, zoneID := range []string{"b", "a", "C"} {
		r.put(t, zoneID)
	}
	w := r.send("GET", "/admin/zones", "")
	got := read[struct{ Zones []zone.Settings }](t, w).Zones
	want := []zone.Settings{zone.Defaults("C"), zone.Defaults("a"), zone.Defaults("b")}
	if w.Code != 200 || !slices.EqualFunc(got, want, zone.Settings.Equal) {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

func TestPutAndGet(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	all := zone.Defaults("Z")
	all.PerMinute, all.Mode, all.WindowSeconds, all.Burst, all.IdleTimeoutSeconds = 5, zone.ModeClosed, 10, 3, 30
	all.PassTTLSeconds, all.MaxWaiting, all.OnStoreFailure = 60, 1000, zone.FailureAdmit
	all.SessionSeconds, all.SessionRenewal, all.BypassPaths, all.BypassAgents = 60, zone.RenewalOff, []string{"/a/*"}, []string{"bot"}
	steps := []struct {
		name, body string
		status     int
		want       zone.Settings
	}{
		{
			"create", `{"zoneId":"Z","perMinute":5,"mode":"closed","windowSeconds":10,"burst":3,` +
				`"idleTimeoutSeconds":30,"passTtlSeconds":60,"maxWaiting":1000,"onStoreFailure":"admit",` +
				`"sessionSeconds":60,"sessionRenewal":"off","bypassPaths":["/a/*"],"bypassAgents":["bot"]}`, 201, all,
		},
		{"again", `{"zoneId":"Z"}`, 200, zone.Defaults("Z")},
		{"nothing said", `{}`, 200, zone.Defaults("Z")},
	}
	for _, step := range steps {
		w := r.send("PUT", "/admin/zones/Z", step.body)
		if w.Code != step.status || !read[zone.Settings](t, w).Equal(step.want) || !r.zone(t, "Z").Equal(step.want) {
			t.Errorf("%s: got %d %s", step.name, w.Code, w.Body)
		}
		if got := w.Header().Get("Location"); (got == "/admin/zones/Z") != (step.status == 201) {
			t.Errorf("%s: Location %q", step.name, got)
		}
		w = r.send("GET", "/admin/zones/Z", "")
		if w.Code != 200 || !read[zone.Settings](t, w).Equal(step.want) {
			t.Errorf("%s: GET got %d %s", step.name, w.Code, w.Body)
		}
	}
	if got := strings.Count(r.logs.String(), "zone put"); got != len(steps) {
		t.Errorf("logged %s", r.logs)
	}
}

func TestPatch(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	want := r.put(t, "Z")
	for _, step := range []struct {
		body   string
		change func()
	}{
		{`{"perMinute":60}`, func() { want.PerMinute = 60 }},
		{`{"mode":"open","burst":7}`, func() { want.Mode, want.Burst = zone.ModeOpen, 7 }},
		{`{"zoneId":"Z","perMinute":0}`, func() { want.PerMinute = 0 }},
		{`{}`, func() {}},
	} {
		step.change()
		w := r.send("PATCH", "/admin/zones/Z", step.body)
		if w.Code != 200 || !read[zone.Settings](t, w).Equal(want) || !r.zone(t, "Z").Equal(want) {
			t.Errorf("%s: got %d %s", step.body, w.Code, w.Body)
		}
	}
}

func TestPatchWhileOthersDo(t *testing.T) {
	t.Parallel()
	for _, others := range []int{1, 4, 5} {
		r := newRoom(t)
		want := r.put(t, "Z")
		left := others
		r.store.Do(func(ctx context.Context, call string) error {
			if call == "put_zone" && left > 0 {
				left--
				other, err := r.store.Store.Zone(ctx, "Z")
				other.Burst++
				_, putErr := r.store.Store.PutZone(ctx, other, nil, audit.By{})
				return errors.Join(err, putErr)
			}
			return nil
		})
		want.Burst = int64(others)
		w := r.send("PATCH", "/admin/zones/Z", `{"perMinute":60}`)
		if others < 5 {
			want.PerMinute = 60
			if w.Code != 200 || !read[zone.Settings](t, w).Equal(want) {
				t.Errorf("%d others: got %d %s", others, w.Code, w.Body)
			}
		} else if w.Code != 409 || read[refusal](t, w).Code != "conflict" {
			t.Errorf("%d others: got %d %s", others, w.Code, w.Body)
		}
		if got, writes := r.zone(t, "Z"), r.writes(); !got.Equal(want) || writes != min(others+1, 5) {
			t.Errorf("%d others: after %d writes the zone is %+v, want %+v", others, writes, got, want)
		}
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.put(t, "Z")
	if w := r.send("DELETE", "/admin/zones/Z", ""); w.Code != 204 || w.Body.Len() != 0 {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	for _, request := range []string{"DELETE ", "GET ", "PATCH ", "GET /stats"} {
		method, rest, _ := strings.Cut(request, " ")
		w := r.send(method, "/admin/zones/Z"+rest, `{}`)
		if w.Code != 404 || read[refusal](t, w).Code != "zone_unknown" {
			t.Errorf("%s: got %d %s", request, w.Code, w.Body)
		}
	}
	if w := r.send("PUT", "/admin/zones/Z", `{}`); w.Code != 201 {
		t.Errorf("made again: got %d %s", w.Code, w.Body)
	}
}

// TestJSONIsReadAsJSON: an event is set however a program writes its text, and no event is left out in silence.
func TestJSONIsReadAsJSON(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.put(t, "Z")
	opens := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	for text, want := range map[string]string{
		`see https:\/\/shop.example`: "see https://shop.example", // PHP's json_encode
		`\ud83c\udf89 soon`:          "🎉 soon",                   // Python's json.dumps
	} {
		for _, method := range []string{"PUT", "PATCH"} {
			w := r.send(method, "/admin/zones/Z", `{"events":[{"name":"noon","opensAt":"`+opens+`","texts":{"before":{"default":"`+text+`"}}}]}`)
			got := read[zone.Settings](t, w)
			if w.Code != 200 || len(got.Events) != 1 || got.Events[0].Texts.Before["default"] != want {
				t.Errorf("%s %s: got %d %s", method, text, w.Code, w.Body)
			}
		}
	}
}

func TestChangesAreRefusedWhole(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	before := r.put(t, "Z")
	tests := map[string]struct {
		body string
		want []string // the faults; none where it is the body as a whole
	}{
		"not JSON":     {`perMinute: 5`, nil},
		"array":        {`[]`, nil},
		"typo":         {`{"perMinutes":5}`, []string{`"perMinutes" is not a setting of a zone; did you mean "perMinute"?`}},
		"null setting": {`{"perMinute":null}`, []string{"perMinute must not be null: leave it out"}},
		"twice":        {`{"burst":1,"burst":2}`, []string{"burst is in line 1 already"}},
		"string":       {`{"perMinute":"5"}`, []string{"perMinute must be a whole number"}},
		"fraction":     {`{"perMinute":5.5}`, []string{"perMinute must be a whole number"}},
		"other zone":   {`{"zoneId":"Y"}`, []string{"zoneId must be that of the path, or left out"}},
		"all at once": {
			`{"zoneId":"Y","perMinute":-1,"burts":5,"windowSeconds":"6","idleTimeoutSeconds":1,"mode":null,"onStoreFailure":"x"}`,
			[]string{
				`"burts" is not a setting of a zone; did you mean "burst"?`, "windowSeconds must be a whole number",
				"mode must not be null: leave it out", "zoneId must be that of the path, or left out",
				"perMinute is -1, must be between 0 and 6000000",
				"idleTimeoutSeconds is 1, must be between 5 and 3600", `onStoreFailure "x" must be hold or admit`,
			},
		},
	}
	for name, tt := range tests {
		for _, method := range []string{"PUT", "PATCH"} {
			w := r.send(method, "/admin/zones/Z", tt.body)
			d := read[refusal](t, w)
			if w.Code != 400 || d.Code != "invalid_request" || !slices.Equal(d.Errors, tt.want) {
				t.Errorf("%s, %s: got %d %s", name, method, w.Code, w.Body)
			}
			if tt.want != nil && d.Detail != strings.Join(tt.want, "; ") {
				t.Errorf("%s, %s: got detail %q", name, method, d.Detail)
			}
			if tt.want == nil && !strings.HasPrefix(d.Detail, "body ") {
				t.Errorf("%s, %s: got detail %q", name, method, d.Detail)
			}
		}
	}
	for _, method := range []string{"PUT", "PATCH"} {
		if w := r.send(method, "/admin/zones/Z", strings.Repeat(" ", serve.MaxOperatorBody+1)); w.Code != 413 {
			t.Errorf("a large body: got %d %s", w.Code, w.Body)
		}
	}
	for _, stalls := range []string{"PUT ", "PATCH ", "POST /inside/revoke"} {
		method, rest, _ := strings.Cut(stalls, " ")
		if w := r.ask(method, "/admin/zones/Z"+rest, stalled{}); w.Code != 408 || w.Header().Get("Retry-After") == "" {
			t.Errorf("%s: a body that stalls: got %d %s", stalls, w.Code, w.Body)
		}
	}
	for _, request := range []string{"GET ", "PUT ", "PATCH ", "DELETE ", "GET /stats"} {
		method, rest, _ := strings.Cut(request, " ")
		w := r.send(method, "/admin/zones/a+b"+rest, `{}`)
		if w.Code != 400 || read[refusal](t, w).Code != "invalid_request" {
			t.Errorf("%s of a name that is none: got %d %s", request, w.Code, w.Body)
		}
	}
	if n := r.writes(); n != 0 || !r.zone(t, "Z").Equal(before) {
		t.Errorf("%d writes, the zone is %+v", n, r.zone(t, "Z"))
	}
}

func TestStats(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	settings := r.put(t, "Z")
	settings.PerMinute, settings.Burst = 20, 1 // two in 6 s, and one more on a quiet day
	r.set(t, settings)
	for i := range byte(10) {
		_, err := r.store.Join(t.Context(), "Z", line.ID{i})
		parts.Must(t, err)
	}
	stats, err := r.zones.Stats(t.Context(), "Z")
	parts.Must(t, err)
	w := r.send("GET", "/admin/zones/Z/stats", "")
	totals, err := json.Marshal(line.Totals{Joined: 10, Admitted: 3})
	parts.Must(t, err)
	want := fmt.Sprintf(`{"zoneId":"Z","mode":"queue","state":"queue","waiting":7,"released":%d,"overdue":%d,"live":%d,`+
		`"admittedInWindow":3,"windowLimit":2,"admittedInMinute":3,"perMinute":20,"mostInSecond":3,"secondLimit":1,"inside":0,"insideUnknown":0,"maxInside":0,"full":false,"stayP50Millis":0,"stayP95Millis":0,"windowUse":1,"estimatedWait":%d,"estimatedWaitRange":null,`+
		`"totals":%s,"at":1795223373000,`+
		`"sampledAt":null,"rateSeconds":null,"joinsPerMinute":null,"admittedPerMinute":null,"departuresPerMinute":null,`+
		`"sweptPerMinute":null,"pollsPerSecond":null,"refusedPerMinute":null,"restored":null,"waitP50Millis":null,"waitP95Millis":null}`+"\n",
		stats.State.Released, stats.State.Released-stats.State.Live, stats.State.Live, stats.EstimateMillis, totals)
	if w.Code != 200 || w.Body.String() != want {
		t.Errorf("got  %d %s\nwant %s", w.Code, w.Body, want)
	}
	stats, err = r.zones.Observe(t.Context(), "Z")
	parts.Must(t, err)
	want = fmt.Sprintf(`"estimatedWaitRange":{"low":%d,"high":%d},`, stats.LowMillis, stats.HighMillis)
	if w := r.send("GET", "/admin/zones/Z/stats", ""); stats.LowMillis == 0 || !strings.Contains(w.Body.String(), want) {
		t.Errorf("with a range: %s, want %s", w.Body, want)
	}
	settings.SoldOut = zone.Texts{zone.DefaultText: "All gone."}
	r.set(t, settings)
	if w := r.send("GET", "/admin/zones/Z/stats", ""); !strings.Contains(w.Body.String(), `"mode":"closed","state":"sold out",`) {
		t.Errorf("sold out: %s", w.Body)
	}
}

// FuzzPut sends any body: the zone is then one that validates, or untouched.
func FuzzPut(f *testing.F) {
	r := newRoom(f)
	for _, body := range []string{
		`{"zoneId":"Z","perMinute":5,"mode":"open","onStoreFailure":"admit"}`, `{"perMinute":null}`,
		`{"burst":1,"burst":1}`, `{"":0}`, `{"perMinute":1e3}`, `[]`, `{`, "\xff", `{} {}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		before := r.put(t, "Z")
		w := r.send("PUT", "/admin/zones/Z", string(body))
		after := r.zone(t, "Z")
		switch w.Code {
		case 200:
			if after.Validate() != nil || !read[zone.Settings](t, w).Equal(after) {
				t.Fatalf("%q made %+v and was answered %s", body, after, w.Body)
			}
		case 400, 413:
			if !after.Equal(before) || r.writes() != 0 {
				t.Fatalf("%q was refused, and made %+v", body, after)
			}
		default:
			t.Fatalf("%q was answered %d %s", body, w.Code, w.Body)
		}
	})
}

// stalled is a body of which nothing came until the listener's time was over.
type stalled struct{}

func (stalled) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }
