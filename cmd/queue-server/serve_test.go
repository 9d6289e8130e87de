package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/openapitest"
	"github.com/openqueue/waitingroom/internal/operate/cli"
)

// operatorToken is what the tests' operators show.
const operatorToken = "zq8vKf2mWc5tLx9RbN4sQe7H"

// transport keeps no connections, so that none outlives its test.
var transport = &http.Transport{DisableKeepAlives: true}

// documents has, by address, what each listener of a test's servers must answer.
var documents sync.Map

// reply is what a request got.
type reply struct {
	status int
	header http.Header
	body   string
}

// value returns the field of a JSON body at a path of names, or nil.
func (r reply) value(t *testing.T, path ...string) any {
	t.Helper()
	var at any
	if err := json.Unmarshal([]byte(r.body), &at); err != nil {
		t.Fatalf("body %q: %v", r.body, err)
	}
	for _, name := range path {
		object, _ := at.(map[string]any)
		at = object[name]
	}
	return at
}

func request(t *testing.T, method, url, body string, header ...string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	req.Host = req.Header.Get("Host") // "" is the host of the URL
	client := &http.Client{Transport: transport}
	if d, ok := documents.Load(req.URL.Host); ok {
		document, _ := d.(*openapitest.Document)
		client.Transport = document.Transport(t, transport)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, res.Body)
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{res.StatusCode, res.Header, string(text)}
}

func closing(t *testing.T, c io.Closer) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// admin asks the operators' listener, with the token.
func (s *server) admin(t *testing.T, method, path, body string) reply {
	t.Helper()
	return request(t, method, s.operators+path, body, "Authorization", "Bearer "+operatorToken)
}

// config writes a file with these zones and returns its name.
func config(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "queue.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// soon repeats a request until the answer has the text: for what is looked at
// once a second.
func soon(t *testing.T, method, url, text string) reply {
	t.Helper()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for deadline := time.Now().Add(patience); ; <-again.C {
		if got := request(t, method, url, ""); strings.Contains(got.body, text) || time.Now().After(deadline) {
			return got
		}
	}
}

// oneSlot admits one visitor every 6 s.
const oneSlot = "zones:\n  - zoneId: TEST_ZONE\n    perMinute: 10\n"

func TestServe(t *testing.T) {
	s := start(t, map[string]string{"QUEUE_CONFIG": config(t, oneSlot)})
	join := `{"zoneId":"TEST_ZONE","clientIp":"203.0.113.9","clientAgent":"WEB","clientId":"%s"}`

	first := request(t, http.MethodPost, s.public+"/traffic/wait", fmt.Sprintf(join, "first"))
	if first.status != http.StatusOK || first.value(t, "canEnter") != true || first.value(t, "admission", "pass") == "" {
		t.Errorf("first join: %+v", first)
	}
	second := request(t, http.MethodPost, s.public+"/traffic/wait", fmt.Sprintf(join, "second"))
	if second.status != http.StatusOK || second.value(t, "canEnter") != false || second.value(t, "waiting", "position") != 1.0 {
		t.Errorf("second join: %+v", second)
	}
	if second.header.Get("Retry-After") == "" {
		t.Error("no Retry-After for one who waits")
	}
	tok, _ := second.value(t, "token").(string)
	body := fmt.Sprintf(`{"zoneId":"TEST_ZONE","token":%q}`, tok)
	if poll := request(t, http.MethodPost, s.public+"/traffic/entry", body); poll.status != http.StatusOK ||
		poll.value(t, "canEnter") != false {
		t.Errorf("poll: %+v", poll)
	}

	tests := []struct {
		name         string
		got          reply
		status       int
		contains     string
		contentTypes string
	}{
		{"state", soon(t, "GET", s.public+"/traffic/zones/TEST_ZONE", `"waiting":1`), 200, `"waiting":1`, "application/json"},
		{"keys", request(t, "GET", s.public+"/.well-known/jwks.json", ""), 200, `"Ed25519"`, "jwk-set+json"},
		{"alive", request(t, "GET", s.public+"/healthz", ""), 200, "ok", "text/plain"},
		{"ready", request(t, "GET", s.public+"/readyz", ""), 200, "ready", "text/plain"},
		{"ready, head only", request(t, "HEAD", s.public+"/readyz", ""), 200, "", "text/plain"},
		{"state, head only", request(t, "HEAD", s.public+"/traffic/zones/TEST_ZONE", ""), 200, "", "application/json"},
		{"keys, head only", request(t, "HEAD", s.public+"/.well-known/jwks.json", ""), 200, "", "jwk-set+json"},
		{"zone unknown", request(t, "POST", s.public+"/traffic/wait", `{"zoneId":"NONE"}`), 404, "zone_unknown", "problem+json"},
		{"not JSON", request(t, "POST", s.public+"/traffic/wait", `<xml>`), 400, "invalid_request", "problem+json"},
		{"too large", request(t, "POST", s.public+"/traffic/wait", strings.Repeat(" ", 9000)), 413, "body_too_large", "problem+json"},
		{"token of nobody", request(t, "POST", s.public+"/traffic/entry", `{"zoneId":"TEST_ZONE","token":"x"}`), 401, "token_invalid", "problem+json"},
		{"no such path", request(t, "GET", s.public+"/nothing", ""), 404, "not_found", "problem+json"},
		{"wrong method", request(t, "GET", s.public+"/traffic/wait", ""), 405, "method_not_allowed", "problem+json"},
		{"no operators in public", request(t, "GET", s.public+"/admin/zones", ""), 404, "not_found", "problem+json"},
		{"no metrics in public", request(t, "GET", s.public+"/metrics", ""), 404, "not_found", "problem+json"},
		{"operator without token", request(t, "GET", s.operators+"/admin/zones", ""), 401, "unauthorized", "problem+json"},
		{"no operators' path, without token", request(t, "GET", s.operators+"/admin/nothing", ""), 401, "unauthorized", "problem+json"},
		{"wrong method without token", request(t, "POST", s.operators+"/admin/zones", ""), 401, "unauthorized", "problem+json"},
		{"another spelling without token", request(t, "GET", s.operators+"/%61dmin/zones", ""), 401, "unauthorized", "problem+json"},
		{"no operators' path", s.admin(t, "GET", "/admin/nothing", ""), 404, "not_found", "problem+json"},
		{"operators' wrong method", s.admin(t, "POST", "/admin/zones", ""), 405, "method_not_allowed", "problem+json"},
		{"icon", request(t, "GET", s.operators+"/favicon.ico", ""), 200, "<svg", "image/svg+xml"},
		{"zones", s.admin(t, "GET", "/admin/zones", ""), 200, `"TEST_ZONE"`, "application/json"},
		{"zone", s.admin(t, "GET", "/admin/zones/TEST_ZONE", ""), 200, `"perMinute":10`, "application/json"},
		{"stats", s.admin(t, "GET", "/admin/zones/TEST_ZONE/stats", ""), 200, `"waiting":1`, "application/json"},
		{"put", s.admin(t, "PUT", "/admin/zones/OTHER", `{"perMinute":5}`), 201, `"perMinute":5`, "application/json"},
		{"patch", s.admin(t, "PATCH", "/admin/zones/OTHER", `{"perMinute":7}`), 200, `"perMinute":7`, "application/json"},
		{"patched", s.admin(t, "GET", "/admin/zones/OTHER", ""), 200, `"perMinute":7`, "application/json"},
		{"delete", s.admin(t, "DELETE", "/admin/zones/OTHER", ""), 204, "", ""},
		{"deleted", s.admin(t, "GET", "/admin/zones/OTHER", ""), 404, "zone_unknown", "problem+json"},
		{"metrics", soon(t, "GET", s.operators+"/metrics", `queue_waiting{zone="TEST_ZONE"} 1`), 200, `queue_waiting{zone="TEST_ZONE"} 1`, "text/plain"},
		{"metrics of joins", request(t, "GET", s.operators+"/metrics", ""), 200, `queue_joins_total{outcome="admitted",zone="TEST_ZONE"} 1`, "text/plain"},
		{"profiles", s.admin(t, "GET", "/debug/pprof/", ""), 200, "goroutine", "text/html"},
		{"a profile by name", s.admin(t, "GET", "/debug/pprof/goroutine?debug=1", ""), 200, "goroutine profile", "text/plain"},
		{"leave", request(t, "POST", s.public+"/traffic/leave", body), 204, "", ""},
		{"poll after leaving", request(t, "POST", s.public+"/traffic/entry", body), 410, "token_expired", "problem+json"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.got.status != tt.status || !strings.Contains(tt.got.body, tt.contains) ||
				!strings.Contains(tt.got.header.Get("Content-Type"), tt.contentTypes) {
				t.Errorf("got %d %s %q\nwant %d %s with %q", tt.got.status, tt.got.header.Get("Content-Type"),
					tt.got.body, tt.status, tt.contentTypes, tt.contains)
			}
		})
	}
	if log := s.log.text(); strings.Contains(log, tok) || strings.Contains(log, "/traffic/") {
		t.Errorf("the log has tokens, or lines for requests:\n%s", log)
	}
}

func TestDrainAnswersUntilTheBalancerHasLooked(t *testing.T) {
	s := start(t, map[string]string{"QUEUE_CONFIG": config(t, oneSlot), "QUEUE_LIMITS_ADDR": "127.0.0.1:0", "QUEUE_DRAIN_DELAY": "5s"})
	s.stop()
	s.log.await(t, "draining")
	if got := request(t, "GET", s.limits+"/readyz", ""); got.status != http.StatusServiceUnavailable {
		t.Errorf("/readyz of the limits' listener while draining: %+v", got)
	}
	if got := request(t, "GET", s.public+"/readyz", ""); got.status != http.StatusServiceUnavailable ||
		!strings.Contains(got.header.Get("Content-Type"), "problem+json") {
		t.Errorf("/readyz while draining: %+v", got)
	}
	if got := request(t, "GET", s.public+"/healthz", ""); got.status != http.StatusOK {
		t.Errorf("/healthz while draining: %+v", got)
	}
	if got := request(t, "POST", s.public+"/traffic/wait", `{"zoneId":"TEST_ZONE"}`); got.status != http.StatusOK {
		t.Errorf("join while draining: %+v", got)
	}
	s.end(t)
	s.log.await(t, "drained")
	if conn, err := net.Dial("tcp", strings.TrimPrefix(s.public, "http://")); err == nil {
		_ = conn.Close()
		t.Error("the public address still answers")
	}
}

func TestRequestInTheMakingIsAnswered(t *testing.T) {
	s := start(t, map[string]string{"QUEUE_CONFIG": config(t, oneSlot), "QUEUE_DRAIN_DELAY": "0s"})
	address := strings.TrimPrefix(s.public, "http://")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, conn)
	body := `{"zoneId":"TEST_ZONE"}`
	if _, err := fmt.Fprintf(conn, "POST /traffic/wait HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n",
		len(body)); err != nil {
		t.Fatal(err)
	}
	// The server asks for the body: the request is in a handler's hands.
	in := bufio.NewReader(conn)
	if text, err := in.ReadString('\n'); err != nil || !strings.Contains(text, "100 Continue") {
		t.Fatalf("%q, %v", text, err)
	}
	if _, err := in.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	s.stop()
	for { // until the address is closed, which Shutdown does first
		probe, err := net.Dial("tcp", address)
		if err != nil {
			break
		}
		_ = probe.Close()
	}
	if _, err := io.WriteString(conn, body); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, res.Body)
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || !bytes.Contains(text, []byte(`"canEnter":true`)) || !res.Close {
		t.Errorf("%s %q (close: %v), %v", res.Status, text, res.Close, err)
	}
	s.end(t)
}

func TestAnAddressInUseStopsTheStart(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, l)
	got := runToEnd(t, map[string]string{
		"QUEUE_ADDR": "127.0.0.1:0", "QUEUE_ADMIN_ADDR": l.Addr().String(), "QUEUE_DATA_DIR": t.TempDir(),
	})
	if got.status != cli.ExitFailed || !strings.Contains(got.errOut, "operators' listener") ||
		!strings.Contains(got.errOut, "address already in use") {
		t.Errorf("%+v", got)
	}
}

func TestTwoServersDoNotShareADataFolder(t *testing.T) {
	data := t.TempDir()
	start(t, map[string]string{"QUEUE_DATA_DIR": data})
	got := runToEnd(t, map[string]string{
		"QUEUE_ADDR": "127.0.0.1:0", "QUEUE_ADMIN_ADDR": "127.0.0.1:0", "QUEUE_DATA_DIR": data,
	})
	if got.status != cli.ExitFailed || !strings.Contains(got.errOut, "embedded store") {
		t.Errorf("%+v", got)
	}
}

func TestHealthcheck(t *testing.T) {
	s := start(t, nil)
	address := strings.TrimPrefix(s.public, "http://")
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	for _, addr := range []string{address, ":" + port, "0.0.0.0:" + port} {
		if got := runToEnd(t, map[string]string{"QUEUE_ADDR": addr}, "healthcheck"); got.status != cli.ExitOK {
			t.Errorf("%s: %+v", addr, got)
		}
	}
	file := config(t, "addr: "+address+"\nstore: embedded\n")
	if got := runToEnd(t, nil, "healthcheck", "--config", file); got.status != cli.ExitOK {
		t.Errorf("address from the file: %+v", got)
	}
	// Engines replace what fails --alive: with Redis away that would be all servers at once.
	without := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer without.Close()
	away := strings.TrimPrefix(without.URL, "http://")
	for status, args := range map[int][]string{cli.ExitFailed: {"healthcheck"}, cli.ExitOK: {"healthcheck", "--alive"}} {
		if got := runToEnd(t, map[string]string{"QUEUE_ADDR": away}, args...); got.status != status {
			t.Errorf("%q without the store: %+v", args, got)
		}
	}
	s.end(t)
	if got := runToEnd(t, nil, "healthcheck", "--addr", address); got.status != cli.ExitFailed ||
		!strings.Contains(got.errOut, "connection refused") {
		t.Errorf("after the end: %+v", got)
	}
	if got := runToEnd(t, nil, "healthcheck", "--addr", "nowhere"); got.status != cli.ExitUsage {
		t.Errorf("a bad address: %+v", got)
	}
}
