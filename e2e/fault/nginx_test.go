package fault

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/process"
)

// site is the example, which users copy.
const site = "../../deploy/limits/nginx.conf"

// clientAddress is where the tests' clients are: not nginx's own address, which is a
// trusted one.
const clientAddress = "127.0.0.2"

// gateway is nginx before a small backend, limited by a queue-server.
type gateway struct {
	engine *engine
	server *server
	nginx  *child
	url    string
	client *http.Client
}

// startGateway starts a Redis, a queue-server, a backend and nginx.
func startGateway(t *testing.T) *gateway {
	t.Helper()
	g := &gateway{engine: startEngine(t)}
	limits := local(freePort(t))
	dir := t.TempDir()
	policy := filepath.Join(dir, "queue.yaml")
	write(t, policy, "limits:\n  - name: api\n    key: [jwt, apiKey, ip]\n"+
		"    rules: [{algorithm: sliding_log, limit: 5, windowSeconds: 1}]\n")
	g.server = startServer(t, serverOptions{redisURL: g.engine.url(), more: []string{
		"--config", policy, "--limits-addr", limits, "--trusted-proxies", "127.0.0.1", "--servers", "2",
	}})

	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/forbidden" {
			http.Error(w, "the backend's own", http.StatusForbidden)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		_, _ = fmt.Fprintf(w, "%s %s %s", r.Method, r.URL, body)
	}))
	t.Cleanup(backend.Close)

	g.nginx, g.url = startNginx(t, site, process.Others{
		"server 127.0.0.1:8082;": "server " + limits + ";",
		"server 127.0.0.1:8000;": "server " + backend.Listener.Addr().String() + ";",
	})
	from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(clientAddress)}}
	g.client = &http.Client{
		Timeout: requestTimeout, Transport: &http.Transport{DialContext: from.DialContext, DisableKeepAlives: true},
	}
	return g
}

// startNginx starts nginx with an example, in which these texts are others, and returns where
// it listens.
func startNginx(t *testing.T, example string, others process.Others) (nginx *child, url string) {
	t.Helper()
	g, err := process.NewNginx(t.Context(), t.TempDir(), example, others, "")
	return startFront(t, g, err)
}

// startFront starts a gateway, and returns where it listens.
func startFront(t *testing.T, g *process.Gateway, err error) (c *child, url string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	c = adopt(t, g.Process)
	if err := g.Start(context.Background()); err != nil { // it outlives the test's context
		t.Fatal(err)
	}
	return c, "http://" + g.Addr
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// said is what a client of nginx got.
type said struct {
	status int
	header http.Header
	body   string
}

// told is what the answer says of limits: status, RateLimit-Policy, RateLimit,
// X-RateLimit-Limit and -Remaining, Retry-After; - for none.
func (s said) told() string {
	all := []string{fmt.Sprint(s.status)}
	for _, name := range []string{"RateLimit-Policy", "RateLimit", "X-RateLimit-Limit", "X-RateLimit-Remaining", "Retry-After"} {
		all = append(all, cmp.Or(strings.Join(s.header.Values(name), "+"), "-"))
	}
	return strings.Join(all, "|")
}

// ask sends one request through nginx. header is name, value, name, value.
func (g *gateway) ask(t *testing.T, method, path, body string, header ...string) said {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, g.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := g.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return said{res.StatusCode, res.Header, string(text)}
}

// burst sends n requests within less than a second, of a client that has been quiet
// for one, and returns the answers. A machine too busy for that is asked again.
func (g *gateway) burst(t *testing.T, n int, header func(i int) []string) []said {
	t.Helper()
	for range 20 {
		quiet(t.Context())
		begun := time.Now()
		answers := make([]said, n)
		for i := range n {
			answers[i] = g.ask(t, http.MethodGet, "/orders", "", header(i)...)
		}
		if took := time.Since(begun); took < 900*time.Millisecond {
			t.Logf("%d requests through nginx in %v", n, took.Round(time.Millisecond))
			return answers
		}
	}
	t.Fatalf("this machine cannot send %d requests in a second", n)
	return nil
}

// quiet lets a window pass.
func quiet(ctx context.Context) { soon(ctx, 1100*time.Millisecond, func() bool { return false }) }

func plain(int) []string { return nil }

// allowed counts the permits.
func allowed(answers []said) (n int) {
	for _, a := range answers {
		if a.status == http.StatusOK {
			n++
		}
	}
	return n
}

const policyFive = `"api";q=5;w=1`

// TestNginx: the example's nginx, a queue-server with a Redis, and a client with an
// address of its own. The sixth of five a second is a 429; when Redis is killed, each
// onStoreFailure does what it says; when it is back, so is the limit.
func TestNginx(t *testing.T) {
	t.Parallel()
	g := startGateway(t)

	for i, got := range g.burst(t, 6, plain) {
		want := fmt.Sprintf(`200|%s|"api";r=%d;t=1|5|%d|-`, policyFive, 4-i, 4-i)
		if i == 5 {
			want = `429|` + policyFive + `|"api";r=0;t=1|5|0|1`
		}
		if got.told() != want {
			t.Errorf("request %d: %s, want %s", i+1, got.told(), want)
		}
		if i < 5 {
			continue
		}
		var problem struct {
			Status int    `json:"status"`
			Code   string `json:"code"`
		}
		if err := json.Unmarshal([]byte(got.body), &problem); err != nil || problem.Status != 429 || problem.Code != "rate_limited" ||
			got.header.Get("Content-Type") != "application/problem+json" || got.header.Get("Cache-Control") != "no-store" {
			t.Errorf("the problem: %v %q %v", err, got.body, got.header)
		}
	}

	// What a client writes chooses no key.
	spoofed := g.burst(t, 6, func(i int) []string {
		return []string{
			"X-Forwarded-For", fmt.Sprintf("203.0.113.%d", i), "X-Real-IP", fmt.Sprintf("203.0.113.%d", i),
			"X-API-Key", fmt.Sprint(i), "Authorization", fmt.Sprintf("Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiIlZCJ9.%d", i),
			"X-Original-URI", fmt.Sprint("/", i),
		}
	})
	if n := allowed(spoofed); n != 5 || spoofed[5].status != http.StatusTooManyRequests {
		t.Errorf("%d of 6 passed with invented headers", n)
	}

	// The request itself arrives as it was, and the backend's own refusals are its own.
	quiet(t.Context())
	if got := g.ask(t, http.MethodPost, "/orders?a=1", "the body"); got.body != "POST /orders?a=1 the body" {
		t.Errorf("the backend got %q", got.body)
	}
	if got := g.ask(t, http.MethodGet, "/forbidden", ""); got.status != http.StatusForbidden || got.body != "the backend's own\n" {
		t.Errorf("the backend's 403 is %d %q", got.status, got.body)
	}

	for _, tt := range []struct {
		policy string
		// away is what a burst of 6 gets while Redis is away: how many pass, and what
		// the first and the last are told.
		passed      int
		first, last string
	}{
		{"open", 6, `200|` + policyFive + `|-|-|-|-`, `200|` + policyFive + `|-|-|-|-`},
		{"closed", 0, `429|` + policyFive + `|-|-|-|1`, `429|` + policyFive + `|-|-|-|1`},
		// Two servers at most: a share of 2 each.
		{"local", 2, `200|` + policyFive + `|"api";r=1;t=1|5|1|-`, `429|` + policyFive + `|"api";r=0;t=1|5|0|1`},
	} {
		g.server.policy(t, tt.policy)
		g.engine.Kill()
		// The first to notice waits for a call that fails; from then on nobody does.
		g.ask(t, http.MethodGet, "/", "")
		answers := g.burst(t, 6, plain)
		if n := allowed(answers); n != tt.passed || answers[0].told() != tt.first || answers[5].told() != tt.last {
			t.Errorf("%s, without Redis: %d of 6 passed; %s, then %s; want %d: %s, then %s", tt.policy,
				n, answers[0].told(), answers[5].told(), tt.passed, tt.first, tt.last)
		}
		begun := time.Now()
		g.engine.start(t)
		await(t, startTimeout, "Redis counts again", func() bool {
			quiet(t.Context())
			return g.ask(t, http.MethodGet, "/", "").header.Get("X-RateLimit-Remaining") == "4"
		})
		t.Logf("%s: counted again %v after Redis was started", tt.policy, time.Since(begun).Round(100*time.Millisecond))
		if n := allowed(g.burst(t, 6, plain)); n != 5 {
			t.Errorf("%s, with Redis again: %d of 6 passed", tt.policy, n)
		}
	}

	// Without queue-server, nginx lets everybody through, as its file says.
	g.server.stop(t)
	if n := allowed(g.burst(t, 6, plain)); n != 6 {
		t.Errorf("without queue-server: %d of 6 passed", n)
	}
}

// policy changes what happens to the policy api while the store is away.
func (s *server) policy(t *testing.T, onStoreFailure string) {
	t.Helper()
	body := fmt.Sprintf(`{"key":["jwt","apiKey","ip"],"onStoreFailure":%q,
		"rules":[{"algorithm":"sliding_log","limit":5,"windowSeconds":1}]}`, onStoreFailure)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.operators+"/admin/limits/api", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+operatorToken)
	if status, answer, err := s.do(req); err != nil || status != http.StatusOK {
		t.Fatalf("policy %s: %d %s %v", onStoreFailure, status, answer, err)
	}
}
