package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pires/go-proxyproto"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestProxyProtocol: behind a balancer on TCP the visitor's address is the one that the balancer names, for the site and for the
// count of connections, also by TLS.
func TestProxyProtocol(t *testing.T) {
	shop := startShop(t)
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	writePair(t, certFile, keyFile, "shop.example")
	s := start(t, map[string]string{
		"QUEUE_UPSTREAM": shop.URL, "QUEUE_ZONE": "SHOP=0", "QUEUE_SITES_ADDR": "127.0.0.1:0", "QUEUE_PROXY_PROTOCOL_FROM": "127.0.0.1",
		"QUEUE_TLS_CERT_FILE": certFile, "QUEUE_TLS_KEY_FILE": keyFile,
	})
	visitor, balancer := &net.TCPAddr{IP: net.IPv4(203, 0, 113, 9), Port: 1234}, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 443}
	ask := func(header []byte) (status int) {
		conn := dialSite(t, s, string(header))
		defer func() { _ = conn.Close() }()
		c := tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
		dial := func(context.Context, string, string) (net.Conn, error) { return c, nil }
		client := http.Client{Transport: &http.Transport{DialTLSContext: dial, DisableKeepAlives: true}}
		res, err := client.Get("https://shop.example/" + fmt.Sprint(len(header)))
		if err != nil {
			return 0
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	header := func(version byte, from, to net.Addr) []byte {
		var b bytes.Buffer
		_, err := proxyproto.HeaderProxyFromAddrs(version, from, to).WriteTo(&b)
		if err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	local := []byte("\r\n\r\n\x00\r\nQUIT\n\x20\x00\x00\x00")
	for name, tt := range map[string]struct {
		header []byte
		status int
		from   string
	}{
		"version 1":         {header(1, visitor, balancer), http.StatusTooManyRequests, "203.0.113.9"},
		"version 2":         {header(2, visitor, balancer), http.StatusTooManyRequests, "203.0.113.9"},
		"the balancer asks": {local, http.StatusTooManyRequests, "127.0.0.1"},
		"no header":         {nil, 0, ""},
		"half of a header":  {[]byte("PROXY TCP4 203.0.113.9\r\n"), 0, ""},
	} {
		if got := ask(tt.header); got != tt.status {
			t.Errorf("%s: %d", name, got)
		}
	}
	s.admin(t, http.MethodPatch, "/admin/zones/SHOP", `{"mode":"open"}`)
	shop.took()
	if got := ask(header(2, visitor, balancer)); got != http.StatusOK {
		t.Fatalf("a visitor: %d", got)
	}
	if asked := shop.took(); len(asked) != 1 || asked[0].Header.Get("X-Forwarded-For") != "203.0.113.9" || asked[0].Header.Get("X-Forwarded-Proto") != "https" {
		t.Errorf("the shop was asked %v", asked)
	}
	if !strings.Contains(s.log.text(), "does not begin with a header of the PROXY protocol") {
		t.Error("the log does not say that headers are missing")
	}
	silent := dialSite(t, s, "PROXY T") // and nothing more; others are answered meanwhile
	if got := ask(local); got != http.StatusOK {
		t.Errorf("beside one that is slow: %d", got)
	}
	if n, err := io.Copy(io.Discard, silent); n > 0 || err != nil {
		t.Errorf("half of a header gets %d bytes, %v", n, err)
	}
	closing(t, silent)
}

// TestNamedAddressesAreCounted: two visitors behind one balancer are two, and one visitor with two connections is one.
func TestNamedAddressesAreCounted(t *testing.T) {
	l, err := listen(t.Context(), "public", "127.0.0.1:0", time.Minute)
	must(t, err)
	c := newCounted(prometheus.NewRegistry(), l.Listener, "public", 1, nil)
	c.Listener = newProxied(l.Listener, []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, newLogger(io.Discard, checked{}))
	for _, address := range []string{"203.0.113.9", "203.0.113.9", "203.0.113.10"} {
		conn, err := net.Dial("tcp", l.Addr().String())
		must(t, err)
		defer closing(t, conn)
		_, err = fmt.Fprintf(conn, "PROXY TCP4 %s 192.0.2.1 1234 443\r\n", address)
		must(t, err)
	}
	for range 2 {
		conn, err := c.Accept()
		must(t, err)
		defer closing(t, conn)
	}
	// The third is refused, whenever it comes: Accept waits for another until the listener is closed.
	time.AfterFunc(time.Second, func() { _ = c.Close() })
	if conn, err := c.Accept(); err == nil || testutil.ToFloat64(c.refused) != 1 {
		t.Errorf("%v is accepted, %v refused", conn, testutil.ToFloat64(c.refused))
	}
}
