package gateway

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
)

// clientTimeout is what a client bears of a gateway.
const clientTimeout = 10 * time.Second

// at is where a listener is, host:port.
func at(address string) string { return strings.TrimPrefix(address, "http://") }

// client is one that keeps cookies, and is led only where the test says.
type client struct {
	t   *testing.T
	url string
	*http.Client
}

// newClient returns one with an address of its own, not the gateway's, which is a trusted one.
func newClient(t *testing.T, addr string) *client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	return &client{t, "http://" + addr, &http.Client{
		Timeout: clientTimeout, Jar: jar, Transport: &http.Transport{DialContext: from.DialContext, DisableKeepAlives: true, ExpectContinueTimeout: clientTimeout},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// ask sends a request to an address, or a path of the site. header is name, value, name, value. Where it is led is a
// full address in the answer, as a browser sees it.
func (c *client) ask(method, to, body string, header ...string) room.Reply {
	c.t.Helper()
	if strings.HasPrefix(to, "/") {
		to = c.url + to
	}
	r, err := room.Ask(c.t.Context(), c.Client, method, to, body, header...)
	if err != nil {
		c.t.Fatal(err)
	}
	if led := r.Header.Get("Location"); led != "" {
		base, err := url.Parse(to)
		if err != nil {
			c.t.Fatal(err)
		}
		full, err := base.Parse(led)
		if err != nil {
			c.t.Fatal(err)
		}
		r.Header.Set("Location", full.String())
	}
	return r
}

// open is a browser that opens a page.
func (c *client) open(to string) room.Reply {
	c.t.Helper()
	return c.ask(http.MethodGet, to, "", "Sec-Fetch-Mode", "navigate", "Accept", "text/html")
}

// led wants the answer to lead on, and returns where.
func (c *client) led(a room.Reply, status int) string {
	c.t.Helper()
	to := a.Header.Get("Location")
	if a.Status != status || to == "" {
		c.t.Fatalf("%d to %q: %s; want %d", a.Status, to, a.Body, status)
	}
	return to
}

// limits is what an answer says of limits: status, RateLimit-Policy, RateLimit, X-RateLimit-Limit and -Remaining,
// Retry-After; - for none.
func limits(r room.Reply) string {
	all := []string{fmt.Sprint(r.Status)}
	for _, name := range []string{"RateLimit-Policy", "RateLimit", "X-RateLimit-Limit", "X-RateLimit-Remaining", "Retry-After"} {
		all = append(all, cmp.Or(strings.Join(r.Header.Values(name), "+"), "-"))
	}
	return strings.Join(all, "|")
}
