package fault

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/check/openapitest"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// secret and operatorToken are the same on all servers, as they must be.
	secret        = "bW9zdC1zZWNyZXQtb2YtYWxsLXRoZS1zZWNyZXRzLTAwNDI="
	operatorToken = "nT6yHs3kVw9Rq2Zb7CxMPd4F"
	// requestTimeout is what a client bears. The server answers far sooner.
	requestTimeout = 3 * time.Second
	// stopTimeout is how long a server may take to drain and end.
	stopTimeout = 10 * time.Second
)

// server is a queue-server process.
type server struct {
	*child
	// Its listeners: http://host:port.
	public, operators, limits, site string
	client                          *http.Client
}

// serverOptions say what kind of server. The zero value is one on the embedded
// store.
type serverOptions struct {
	// redisURL is the store; empty for the embedded one.
	redisURL string
	// secret is another than all servers have.
	secret string
	// more are further flags; of one that is given twice, the last counts.
	more []string
	// under is what starts the server, where it is not the test: a program and
	// its arguments, that goes on as the server.
	under []string
}

// startServer builds the server, once, starts it and waits until it is ready.
func startServer(t testing.TB, o serverOptions) *server {
	t.Helper()
	dir := t.TempDir()
	public, operators, limits, site := local(freePort(t)), local(freePort(t)), local(freePort(t)), local(freePort(t))
	args := []string{
		"serve", "--addr", public, "--admin-addr", operators, "--limits-addr", limits, "--site-addr", site, "--data-dir", dir,
		"--sweep-every", "1s", "--drain-delay", "0s", "--log-format", "json",
		// In the end everybody polls at once, and is to be told what the store says.
		"--door-limits", "off",
	}
	if o.redisURL != "" {
		args = append(args, "--store", "redis", "--redis-url", o.redisURL)
	}
	all := slices.Concat(o.under, []string{room.Program(t)}, args, o.more)
	signing := secret
	if o.secret != "" {
		signing = o.secret
	}
	s := &server{
		child:  newChild(t, all[0], dir, all[1:]...),
		public: "http://" + public, operators: "http://" + operators, limits: "http://" + limits, site: "http://" + site,
		// No connection outlives its request, so that none is left over.
		client: &http.Client{Timeout: requestTimeout, Transport: &http.Transport{DisableKeepAlives: true}},
	}
	// Secrets are no flags: they would be in the list of processes.
	s.Env = append(os.Environ(), "QUEUE_SECRET="+signing, "QUEUE_ADMIN_TOKEN="+operatorToken)
	s.start(t)
	return s
}

// start starts the server, anew after Kill, and waits until it is ready.
func (s *server) start(t testing.TB) {
	t.Helper()
	s.child.start(t)
	await(t, startTimeout, "the server is ready", s.ready)
}

// stop drains the server, and fails the test if it does not end in order.
func (s *server) stop(t testing.TB) {
	t.Helper()
	s.Signal(syscall.SIGTERM)
	if status, ended := s.Wait(stopTimeout); !ended || status != 0 {
		t.Errorf("a server that was told to stop: ended %t, status %d", ended, status)
	}
}

// ready reports whether the server says that it should get traffic.
func (s *server) ready() bool {
	status, _, err := s.get(context.Background(), s.public+"/readyz")
	return err == nil && status == http.StatusOK
}

// goroutines counts the server's goroutines.
func (s *server) goroutines(t testing.TB) int {
	t.Helper()
	_, body, err := s.get(t.Context(), s.operators+"/debug/pprof/goroutine?debug=1")
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(body, "\n")
	n, err := strconv.Atoi(strings.TrimPrefix(first, "goroutine profile: total "))
	if err != nil {
		t.Fatalf("goroutines: %q", first)
	}
	return n
}

// put makes a zone.
func (s *server) put(t testing.TB, z zone.Settings) {
	t.Helper()
	body, err := z.MarshalJSON() // a server of the version before knows no others
	if err != nil {
		t.Fatal(err)
	}
	s.operate(t, http.MethodPut, z.ZoneID, string(body), http.StatusCreated)
}

// hold has a zone let nobody in from now on.
func (s *server) hold(t testing.TB, zoneID string) {
	t.Helper()
	s.operate(t, http.MethodPatch, zoneID, `{"perMinute":0}`, http.StatusOK)
}

// limit makes a policy of limits.
func (s *server) limit(t testing.TB, name, policy string) {
	t.Helper()
	s.send(t, http.MethodPut, "/admin/limits/"+name, policy, http.StatusCreated)
}

// knows reports whether this server knows the zone.
func (s *server) knows(ctx context.Context, zoneID string) bool {
	status, _, err := s.get(ctx, s.operators+"/admin/zones/"+zoneID)
	return err == nil && status == http.StatusOK
}

func (s *server) operate(t testing.TB, method, zoneID, body string, want int) {
	t.Helper()
	s.send(t, method, "/admin/zones/"+zoneID, body, want)
}

func (s *server) send(t testing.TB, method, path, body string, want int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.operators+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if status, text, err := s.do(req); err != nil || status != want {
		t.Fatalf("%s %s: %d %s %v", method, path, status, text, err)
	}
}

func (s *server) get(ctx context.Context, url string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, "", err
	}
	return s.do(req)
}

func (s *server) do(req *http.Request) (status int, body string, err error) {
	req.Header.Set("Authorization", "Bearer "+operatorToken)
	var sent strings.Builder
	if req.GetBody != nil {
		again, err := req.GetBody()
		if err != nil {
			return 0, "", err
		}
		if _, err := io.Copy(&sent, again); err != nil {
			return 0, "", err
		}
	}
	res, err := s.client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, "", fmt.Errorf("read the answer: %w", err)
	}
	document := openapitest.Operators
	switch url := req.URL.String(); {
	case strings.HasPrefix(url, s.public):
		document = openapitest.Public
	case strings.HasPrefix(url, s.limits):
		document = openapitest.Limits
	case s.site != "" && strings.HasPrefix(url, s.site):
		document = openapitest.Site
	}
	if !strings.Contains(req.URL.Path, "/debug/pprof") {
		if err := held(document, req, sent.String(), res, text); err != nil {
			return 0, "", err
		}
	}
	return res.StatusCode, string(text), nil
}
