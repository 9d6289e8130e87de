package openapitest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/check/openapitest"
)

// said is what a server might answer.
type said struct {
	status int
	// header is name, value, name, value.
	header []string
	body   string
}

// with returns the answer with other or further headers.
func (s said) with(header ...string) said {
	s.header = append(append([]string{}, s.header...), header...)
	return s
}

// saying returns the answer with another body.
func (s said) saying(body string) said {
	s.body = body
	return s
}

func (s said) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	for i := 0; i+1 < len(s.header); i += 2 {
		if s.header[i+1] == "" {
			w.Header().Del(s.header[i])
			continue
		}
		w.Header().Set(s.header[i], s.header[i+1])
	}
	if s.status != http.StatusOK {
		w.WriteHeader(s.status)
	}
	_, _ = io.WriteString(w, s.body)
}

const (
	waitingBody = `{"zoneId":"Z","token":"t","placeId":"00000000000000","canEnter":false,"waiting":{"position":1,"total":1,"estimatedWait":0,` +
		`"pollingPeriod":250,"arrivedAtMicros":1}}`
	expiredBody = `{"type":"https://x.example/README.md#token_expired","title":"t","status":410,"detail":"d",` +
		`"code":"token_expired"}`
	pollBody = `{"zoneId":"Z","token":"t"}`
)

var (
	waiting = said{200, []string{"Content-Type", "application/json", "Cache-Control", "no-store", "Retry-After", "1"}, waitingBody}
	expired = said{410, []string{"Content-Type", "application/problem+json", "Cache-Control", "no-store"}, expiredBody}
	left    = said{204, nil, ""}
	ready   = said{200, []string{"Content-Type", "text/plain; charset=UTF-8"}, "ready\n"}
	zone    = said{200, []string{"Content-Type", "application/json", "Cache-Control", "no-store"}, `{"zones":[]}`}
)

// noted is a test that fails without the test that has it failing.
type noted struct {
	testing.TB
	faults []string
}

func (n *noted) Error(args ...any) {
	for _, a := range args {
		if err, ok := a.(error); ok {
			n.faults = append(n.faults, err.Error())
		}
	}
}

// TestCheck shows a description answers that differ from it in one way. That kin-openapi finds what is no right header, media type or
// field is not shown for each.
func TestCheck(t *testing.T) {
	t.Parallel()
	swap := func(s said, was, is string) said { return s.saying(strings.Replace(s.body, was, is, 1)) }
	tests := map[string]struct {
		request string // method, path and body
		answer  said
		want    string // a part of the fault, or none
	}{
		"as described":             {"POST /traffic/entry " + pollBody, waiting, ""},
		"a problem":                {"POST /traffic/entry " + pollBody, expired, ""},
		"no body":                  {"POST /traffic/leave " + pollBody, left, ""},
		"text":                     {"GET /readyz", ready, ""},
		"HEAD":                     {"HEAD /readyz", ready, ""},
		"options":                  {"OPTIONS /traffic/entry", left.with("Allow", "OPTIONS, POST"), ""},
		"status":                   {"POST /traffic/entry " + pollBody, said{418, nil, ""}, "status is not supported"},
		"status of another route":  {"POST /traffic/leave " + pollBody, expired, "status is not supported"},
		"header missing":           {"POST /traffic/entry " + pollBody, waiting.with("Cache-Control", ""), "missing"},
		"field not described":      {"POST /traffic/entry " + pollBody, swap(waiting, `"total"`, `"speed":5,"total"`), `"speed" is unsupported`},
		"code of another route":    {"POST /traffic/entry " + pollBody, swap(expired, `"code":"token_expired"`, `"code":"zone_closed"`), "the code zone_closed is not described here"},
		"status unlike the body's": {"POST /traffic/entry " + pollBody, swap(expired, "410", "411"), "the document says 411"},
		"type of another code":     {"POST /traffic/entry " + pollBody, swap(expired, "#token_expired", "#expired"), "is not that of the code"},
		"path not described":       {"GET /traffic", ready, "not described"},
		"method not described":     {"GET /traffic/entry", waiting, "not described"},
		"request not allowed":      {"POST /traffic/entry {}", waiting, "the request was accepted, and is not allowed"},
		"request refused":          {"POST /traffic/entry {}", expired, ""},
		"path not allowed":         {"GET /traffic/zones/a%20b", said{200, []string{"Content-Type", "application/json", "Cache-Control", "public, max-age=1"}, `{"zoneId":"Z","mode":"open","waiting":0,"estimatedWait":0}`}, "the request was accepted"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := &noted{TB: t}
			method, rest, _ := strings.Cut(tt.request, " ")
			path, body, _ := strings.Cut(rest, " ")
			req := httptest.NewRequest(method, path, strings.NewReader(body))
			openapitest.Public.Handler(n, tt.answer).ServeHTTP(httptest.NewRecorder(), req)
			faults := strings.Join(n.faults, "\n")
			if tt.want == "" && faults != "" || !strings.Contains(faults, tt.want) {
				t.Errorf("found %q, want %q", faults, tt.want)
			}
		})
	}
}

func TestCheckWantsTheOperatorsToken(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]bool{"Bearer x": true, "bearer x": true, "Bearer": false, "Basic x": false, "": false} {
		n := &noted{TB: t}
		req := httptest.NewRequest(http.MethodGet, "/admin/zones", http.NoBody)
		req.Header.Set("Authorization", header)
		openapitest.Operators.Handler(n, zone).ServeHTTP(httptest.NewRecorder(), req)
		if (len(n.faults) == 0) != want {
			t.Errorf("%q: found %q", header, n.faults)
		}
	}
}

// What stands between a client and a server changes nothing that they say.
func TestTransport(t *testing.T) {
	t.Parallel()
	for answer, faulty := range map[*said]bool{&waiting: false, {201, waiting.header, waitingBody}: true} {
		server := httptest.NewServer(answer)
		defer server.Close()
		n := &noted{TB: t}
		client := &http.Client{Transport: openapitest.Public.Transport(n, http.DefaultTransport)}
		res, err := client.Post(server.URL+"/traffic/entry", "application/json", strings.NewReader(pollBody))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		if err != nil || string(text) != answer.body || res.Header.Get("Retry-After") != "1" || res.Body.Close() != nil {
			t.Errorf("got %d %s, %v", res.StatusCode, text, err)
		}
		if (len(n.faults) > 0) != faulty {
			t.Errorf("%d: found %q", res.StatusCode, n.faults)
		}
	}
}

// An answer is seen once it was got, and found to be as described.
func TestUnseen(t *testing.T) {
	t.Parallel()
	unseen := func() string {
		all, err := openapitest.Public.Unseen("/traffic/leave")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(all, "\n")
	}
	invalid := strings.NewReplacer("token_expired", "invalid_request", "410", "400").Replace(expiredBody)
	answers := map[string]said{
		"POST /traffic/leave 400 invalid_request": {400, expired.header, invalid},
		"POST /traffic/leave 401 token_invalid":   {401, expired.header, invalid}, // it is not as described
	}
	for name, answer := range answers {
		n := &noted{TB: t}
		req := httptest.NewRequest(http.MethodPost, "/traffic/leave", strings.NewReader(pollBody))
		openapitest.Public.Handler(n, answer).ServeHTTP(httptest.NewRecorder(), req)
		if seen := !strings.Contains(unseen(), name); seen != (len(n.faults) == 0) {
			t.Errorf("%s: seen %t, found %q", name, seen, n.faults)
		}
	}
	if _, err := openapitest.Public.Unseen("/nowhere"); err == nil {
		t.Error("a path that is not described has answers")
	}
}
