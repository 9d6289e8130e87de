package gateway

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/site"
)

// outcomes is a Meter of them.
type outcomes []string

func (o *outcomes) SiteAnswer(_, outcome string, _ time.Duration) { *o = append(*o, outcome) }

// newGateway returns one to a site that takes nothing of what is sent, and the errors with which it refuses.
func newGateway(t *testing.T) (g *Gateway, counted *outcomes, refused *[]error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	counted, refused = &outcomes{}, &[]error{}
	g, err = New(Options{
		Sites: []Site{{Host: "shop.example", Zone: "SHOP", Upstream: "http://" + l.Addr().String()}}, Meter: counted, Logger: slog.New(slog.DiscardHandler),
		Proxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}, StallTimeout: 200 * time.Millisecond, AnswerTimeout: time.Minute,
		Refuse: func(w http.ResponseWriter, _ *http.Request, _ string, err error) {
			*refused = append(*refused, err)
			w.WriteHeader(http.StatusGatewayTimeout)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Stop)
	return g, counted, refused
}

// endless is a body without end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// TestSiteTakesNothing: a visitor's upload to a site that hangs ends.
func TestSiteTakesNothing(t *testing.T) {
	t.Parallel()
	g, counted, refused := newGateway(t)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.pass(w, &visitor{request: r, gateway: g}, g.hosts["shop.example"].targets[0], &site.Decision{})
	}))
	defer front.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, front.URL, io.LimitReader(endless{}, 1<<30))
	if err != nil {
		t.Fatal(err)
	}
	res, err := front.Client().Do(req)
	if err == nil { // else the server closed the connection before the client was done
		_ = res.Body.Close()
	}
	front.Close() // which waits for the answer
	if len(*refused) != 1 || !errors.Is((*refused)[0], ErrSlow) || len(*counted) != 1 || (*counted)[0] != outSlow {
		t.Errorf("refused with %v, counted %v", *refused, *counted)
	}
}

// limited is an answer whose limits are seen.
type limited struct {
	*httptest.ResponseRecorder
	reads, writes time.Time
}

func (l *limited) SetReadDeadline(at time.Time) error  { l.reads = at; return nil }
func (l *limited) SetWriteDeadline(at time.Time) error { l.writes = at; return nil }

// TestRefusalIsBounded, whatever limits the request before it left on the connection; and the site is that of the host which is sent
// on, whatever a proxy hands on of what a visitor says.
func TestRefusalIsBounded(t *testing.T) {
	t.Parallel()
	g, _, refused := newGateway(t)
	w := &limited{ResponseRecorder: httptest.NewRecorder(), writes: time.Now().Add(-time.Hour)}
	r := httptest.NewRequest(http.MethodPost, "http://other.example/", strings.NewReader("a visitor may never send the rest"))
	r.Header.Set("X-Forwarded-Host", "shop.example") // httptest's address is of the proxies
	g.ServeHTTP(w, r)
	if now := time.Now(); len(*refused) != 1 || !errors.Is((*refused)[0], errNoSite) || w.reads.Before(now) || w.writes.Before(now) {
		t.Errorf("refused with %v, reads until %v, writes until %v", *refused, w.reads, w.writes)
	}
}

// TestNoCacheKeepsASession, whatever the site says to caches.
func TestNoCacheKeepsASession(t *testing.T) {
	t.Parallel()
	g, _, _ := newGateway(t)
	for session, want := range map[bool]string{true: "private, no-store", false: "public"} {
		d := &site.Decision{Header: http.Header{}}
		if session {
			d.Header.Set("Cache-Control", "private, no-store")
			d.Header.Set("Set-Cookie", "waitingroom_session-SHOP=x")
		}
		res := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Set-Cookie": {"a=1"}, "Cache-Control": {"public"}}}
		others := []string{"Expires", "X-Accel-Expires", "Cloudflare-CDN-Cache-Control", "Akamai-Cache-Control"}
		for _, name := range others {
			res.Header.Set(name, "3600")
		}
		p := &passage{Gateway: g, t: g.hosts["shop.example"].targets[0], d: d}
		if err := p.answered(res); err != nil || res.Header.Get("Cache-Control") != want || res.Header.Get("Set-Cookie") != "a=1" {
			t.Errorf("session %t: %v, %v", session, res.Header, err)
		}
		for _, name := range others {
			if there := res.Header.Get(name) != ""; there == session {
				t.Errorf("session %t: %s is there: %t", session, name, there)
			}
		}
	}
}
