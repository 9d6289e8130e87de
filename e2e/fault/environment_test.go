package fault

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// otherSecret and its fellow are secrets that other servers do not have.
const (
	otherSecret = "YW5vdGhlci1zZWNyZXQtdGhhbi10aGUtb3RoZXItc2VydmVyLTE="
	newSecret   = "dGhlLXNlY3JldC1vZi10aGUtbmV4dC1yb3VuZC1vZi1hbGwtMDE="
)

// environment is what a server of any version is told: variables have kept their
// names from version to version, and flags have not.
type environment map[string]string

// with is the same, but for one variable.
func (e environment) with(name, value string) environment {
	next := environment{name: value}
	for n, v := range e {
		if n != name {
			next[n] = v
		}
	}
	return next
}

// prepareServer prepares a server of any version, on Redis or, without a URL, on the
// embedded store; become starts it.
func prepareServer(t testing.TB, redisURL string) (*server, environment) {
	t.Helper()
	dir := t.TempDir()
	at := func() string { return "http://" + local(freePort(t)) }
	s := &server{
		child: newChild(t, "env", dir), public: at(), operators: at(), limits: at(),
		client: &http.Client{Timeout: requestTimeout, Transport: &http.Transport{DisableKeepAlives: true}},
	}
	return s, s.environment(redisURL)
}

// environment is what has a server listen where this one does, with its data folder.
func (s *server) environment(redisURL string) environment {
	addr := func(url string) string { return strings.TrimPrefix(url, "http://") }
	e := environment{
		"QUEUE_ADDR": addr(s.public), "QUEUE_ADMIN_ADDR": addr(s.operators), "QUEUE_LIMITS_ADDR": addr(s.limits),
		"QUEUE_DATA_DIR": s.Dir, "QUEUE_SECRET": secret, "QUEUE_ADMIN_TOKEN": operatorToken, "QUEUE_STORE": "embedded",
		"QUEUE_SWEEP_EVERY": "1s", "QUEUE_DRAIN_DELAY": "0s", "QUEUE_LOG_FORMAT": "json", "QUEUE_DOOR_LIMITS": "off",
	}
	if redisURL != "" {
		e["QUEUE_STORE"], e["QUEUE_REDIS_URL"] = "redis", redisURL
	}
	return e
}

// become stops the server, if it runs, and starts a program in its place, with the
// same addresses and data folder. It does not wait until it is ready.
func (s *server) become(t testing.TB, program string, e environment) {
	t.Helper()
	s.stop(t)
	var args []string
	for name, value := range e {
		args = append(args, name+"="+value)
	}
	slices.Sort(args)
	s.Name, s.Args = "env", slices.Concat(args, []string{program, "serve"})
	s.child.start(t)
}

// awaitReady waits until the server asks for traffic.
func (s *server) awaitReady(t testing.TB) {
	t.Helper()
	await(t, startTimeout, "the server is ready", s.ready)
}

// says reports whether /readyz answers 503 and this.
func (s *server) says(t testing.TB, text string) bool {
	t.Helper()
	status, body, err := s.get(t.Context(), s.public+"/readyz")
	return err == nil && status == http.StatusServiceUnavailable && strings.Contains(body, text)
}
