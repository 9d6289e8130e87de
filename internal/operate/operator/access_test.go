package operator

import (
	"bytes"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/operate/people"
)

// Whoever guesses, at whatever pace and from the operator's own address, the right
// token opens; and the log says who, without what, as often as somebody can read.
func TestNobodyIsLockedOutByGuesses(t *testing.T) {
	t.Parallel()
	var logs bytes.Buffer
	clock := parts.NewClock()
	log := slog.New(slog.NewTextHandler(&logs, nil))
	a := NewAccess(AccessOptions{
		People:  people.New(people.Options{Secrets: [][]byte{[]byte("one secret, of 32 bytes or more!")}, Root: []string{"right"}, Logger: log, Now: clock.Now}),
		Besides: []string{"right too"}, Logger: log, Now: clock.Now,
	})
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.RemoteAddr = "203.0.113.9:4711"
	count := map[error]int{}
	for range 100 {
		_, err := a.Check(r, "guess-4711", "/console/login", "who", "Eve")
		count[err]++
		for _, token := range []string{"right", "right too"} {
			if _, err := a.Check(r, token, "/console/login"); err != nil {
				t.Fatalf("%s, after guesses: %v", token, err)
			}
		}
	}
	if count[ErrUnauthorized] != guesses || count[ErrGuessing] != 100-guesses {
		t.Errorf("of 100 guesses: %v", count)
	}
	if text := logs.String(); strings.Count(text, "method=GET route=/console/login from=203.0.113.9 who=Eve") != guesses || strings.Contains(text, "4711") {
		t.Errorf("logged:\n%s", text)
	}
	other := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	other.RemoteAddr = "203.0.113.10:4711"
	if _, err := a.Check(other, "guess", "/console/login"); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("from another address: %v", err)
	}
	clock.Forward(guessEvery)
	if _, err := a.Check(r, "guess", "/console/login"); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("after a while: %v", err)
	}
}

// TestSecure: a browser came over TLS where this listener, or the setting, says so, and not where a header does.
func TestSecure(t *testing.T) {
	t.Parallel()
	hosts := Hosts{Loopback: true, Names: []string{"Queue.Example", "http://plain.example"}, Console: "console.example"}
	for host, want := range map[string]bool{
		"queue.example": true, "QUEUE.EXAMPLE:8443": true, "Console.example": true, "plain.example": false, "localhost:8081": false, "127.0.0.1:8081": false,
	} {
		r := httptest.NewRequest(http.MethodGet, "http://"+host+"/console/", http.NoBody)
		r.Header.Set("X-Forwarded-Proto", "https")
		if got := hosts.Secure(r); got != want {
			t.Errorf("%s: %t", host, got)
		}
		if r.TLS = new(tls.ConnectionState); !hosts.Secure(r) {
			t.Errorf("%s over TLS: not secure", host)
		}
	}
}

func TestHosts(t *testing.T) {
	t.Parallel()
	alone, proxied := Hosts{Loopback: true}, Hosts{Loopback: true, Console: "console.example", Names: []string{"Queue.Example", "10.0.0.5", "http://plain.example"}}
	inside, named := Hosts{}, Hosts{Names: []string{"queue.example"}}
	tests := map[string]struct {
		hosts Hosts
		own   []string
		not   []string
	}{
		"loopback": {
			alone,
			// The other end of a tunnel has another port.
			[]string{"localhost:8081", "127.0.0.1:8081", "[::1]:8081", "localhost", "LOCALHOST:9000", "127.0.0.1", "[::1]", "127.1.2.3:80"},
			[]string{"", "evil.example", "evil.example:8081", "localhost.evil.example:8081", "10.0.0.5:8081", "127.0.0.1.nip.io", "queue.example",
				"[2001:db8::1]:8081", "evil.example:localhost", "127.0.0.1@evil.example", "0.0.0.0:8081"},
		},
		"loopback, behind a proxy": {
			proxied,
			[]string{"queue.example", "QUEUE.example:443", "plain.example:8081", "10.0.0.5:8081", "localhost:8081", "console.example"}, []string{"evil.example", "10.0.0.6:8081"},
		},
		"inner network": {inside, []string{"10.0.0.5:8081", "queue.svc.cluster.local:8081", "", "anything"}, nil},
		"inner network, with names": {
			named, []string{"10.0.0.5:8081", "queue.example", "localhost:8081"}, []string{"queue.svc.cluster.local:8081", "evil.example", ""},
		},
	}
	for name, tt := range tests {
		for _, host := range tt.own {
			if !tt.hosts.own(host) {
				t.Errorf("%s: %q is not its own", name, host)
			}
		}
		for _, host := range tt.not {
			if tt.hosts.own(host) {
				t.Errorf("%s: %q is its own", name, host)
			}
		}
	}
}
