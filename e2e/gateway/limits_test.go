package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/check/process"
)

// window is that of the limit of five, so long that six requests fit in on any machine.
const window = 3 * time.Second

// service is a small service behind nginx, limited to five requests in a window.
type service struct {
	redis  *process.Redis
	server *room.Server
	client *client
}

// startService starts a Redis, a queue-server, the service and nginx.
func startService(t *testing.T) *service {
	t.Helper()
	s := &service{redis: room.StartRedis(t)}
	s.server = room.Start(t, map[string]string{
		"QUEUE_STORE": "redis", "QUEUE_REDIS_URL": s.redis.URL(), "QUEUE_TRUSTED_PROXIES": "127.0.0.1", "QUEUE_SERVERS": "2",
	})
	s.onStoreFailure(t, "local")
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
	s.client = newClient(t, room.StartNginx(t, "limits/nginx.conf", room.Others{
		"server 127.0.0.1:8082;": "server " + at(s.server.Limits) + ";",
		"server 127.0.0.1:8000;": "server " + backend.Listener.Addr().String() + ";",
	}, ""))
	return s
}

// onStoreFailure says what the policy does while the store is away.
func (s *service) onStoreFailure(t *testing.T, does string) {
	t.Helper()
	s.server.Operate(t, http.MethodPut, "/admin/limits/api", fmt.Sprintf(`{"key":["jwt","apiKey","ip"],"onStoreFailure":%q,
		"rules":[{"algorithm":"sliding_log","limit":5,"windowSeconds":%d}]}`, does, int(window.Seconds())))
}

// burst sends n requests within less than a window, of a client that has been quiet for one, and returns the
// answers. A machine too busy for that is asked again.
func (s *service) burst(t *testing.T, n int, header ...string) (answers []room.Reply) {
	t.Helper()
	room.Await(t, "requests within a window", func() bool {
		quiet(t)
		begun := time.Now()
		answers = nil
		for range n {
			answers = append(answers, s.client.ask(http.MethodGet, "/orders", "", header...))
		}
		return time.Since(begun) < window*9/10
	})
	return answers
}

// quiet lets a window pass.
func quiet(t *testing.T) {
	t.Helper()
	room.Soon(t, window+100*time.Millisecond, func() bool { return false })
}

// allowed counts the permits.
func allowed(answers []room.Reply) (n int) {
	for _, a := range answers {
		if a.Status == http.StatusOK {
			n++
		}
	}
	return n
}

const policyFive = `"api";q=5;w=3`

// TestLimits: the example's nginx, a queue-server with a Redis, and a client with an address of its own. The sixth of
// five is a 429; when Redis is away, each onStoreFailure does what it says; when it is back, so is the limit.
func TestLimits(t *testing.T) {
	t.Parallel()
	s := startService(t)
	answers := s.burst(t, 6)
	if n := allowed(answers); n != 5 || answers[0].Header.Get("X-RateLimit-Remaining") != "4" || answers[0].Header.Get("RateLimit-Policy") != policyFive {
		t.Errorf("%d of 6 passed; the first is told %s", n, limits(answers[0]))
	}
	sixth := answers[5]
	var problem struct {
		Status int    `json:"status"`
		Code   string `json:"code"`
	}
	if err := json.Unmarshal([]byte(sixth.Body), &problem); err != nil || problem.Status != 429 || problem.Code != "rate_limited" ||
		sixth.Header.Get("Retry-After") == "" || sixth.Header.Get("Content-Type") != "application/problem+json" || sixth.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("the problem: %v %q %v", err, sixth.Body, sixth.Header)
	}

	// What a client writes chooses no key: with a header it is still the client that has used up its five.
	for _, header := range []string{"X-Forwarded-For", "X-Real-IP", "X-API-Key", "X-Original-URI"} {
		if got := s.burst(t, 6, header, "203.0.113.7"); allowed(got) != 5 {
			t.Errorf("with an invented %s %d of 6 passed", header, allowed(got))
		}
	}

	// The request itself arrives as it was, and the backend's own refusals are its own.
	quiet(t)
	if got := s.client.ask(http.MethodPost, "/orders?a=1", "the body"); got.Body != "POST /orders?a=1 the body" {
		t.Errorf("the backend got %q", got.Body)
	}
	if got := s.client.ask(http.MethodGet, "/forbidden", ""); got.Status != http.StatusForbidden || got.Body != "the backend's own\n" {
		t.Errorf("the backend's 403 is %d %q", got.Status, got.Body)
	}

	for _, tt := range []struct {
		does string
		// passed is how many of 6 pass while Redis is away, first what the first of them is told.
		passed int
		first  string
	}{
		{"open", 6, `200|` + policyFive + `|-|-|-|-`},
		{"closed", 0, `429|` + policyFive + `|-|-|-|1`},
		{"local", 2, ""}, // two servers at most: a share of 2 each
	} {
		s.onStoreFailure(t, tt.does)
		s.redis.Kill()
		s.client.ask(http.MethodGet, "/", "") // the first to notice waits for a call that fails; from then on nobody does
		answers := s.burst(t, 6)
		if n := allowed(answers); n != tt.passed || tt.first != "" && limits(answers[0]) != tt.first {
			t.Errorf("%s, without Redis: %d of 6 passed, the first is told %s; want %d, %s", tt.does, n, limits(answers[0]), tt.passed, tt.first)
		}
		room.Launch(t, s.redis)
		room.Await(t, "Redis counts again", func() bool {
			quiet(t)
			return s.client.ask(http.MethodGet, "/", "").Header.Get("X-RateLimit-Remaining") == "4"
		})
		if n := allowed(s.burst(t, 6)); n != 5 {
			t.Errorf("%s, with Redis again: %d of 6 passed", tt.does, n)
		}
	}

	// Without queue-server, nginx lets everybody through, as its file says.
	s.server.Stop(t)
	if n := allowed(s.burst(t, 6)); n != 6 {
		t.Errorf("without queue-server: %d of 6 passed", n)
	}
}
