package main

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// shop is a site behind the gateway in the box, which remembers what it was asked.
type shop struct {
	*httptest.Server
	mu    sync.Mutex
	asked []*http.Request
}

func startShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // its trailer comes behind
		s.mu.Lock()
		s.asked = append(s.asked, r)
		s.mu.Unlock()
		if r.URL.Path == "/events" {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprint(w, "data: hello\n\n")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		if r.Header.Get("Upgrade") == "" {
			_, _ = fmt.Fprint(w, "the shop: ", r.URL)
			return
		}
		c, b, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = fmt.Fprint(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
		_, _ = io.Copy(c, b)
		_ = c.Close()
	}))
	t.Cleanup(s.Close)
	return s
}

// took returns what was asked since the last call.
func (s *shop) took() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

// TestUpstream is the whole set-up of one site: a flag for the site, and one for the zone.
func TestUpstream(t *testing.T) {
	shop := startShop(t)
	s := start(t, map[string]string{"QUEUE_UPSTREAM": shop.URL, "QUEUE_ZONE": "SHOP=600", "QUEUE_SITES_ADDR": "127.0.0.1:0"})
	admitted := request(t, http.MethodGet, s.sites+"/cart?item=7", "", "Accept", "text/html")
	held, _, _ := strings.Cut(admitted.header.Get("Set-Cookie"), ";")
	if admitted.body != "the shop: /cart?item=7" || !strings.HasPrefix(held, "waitingroom_session-SHOP=") || admitted.header.Get("Cache-Control") != "private, no-store" {
		t.Fatalf("a newcomer: %+v", admitted)
	}
	s.admin(t, http.MethodPatch, "/admin/zones/SHOP", `{"perMinute":0}`)
	for path, want := range map[string]struct {
		status int
		says   string
	}{
		"/wait/SHOP":             {http.StatusOK, "<h1"},
		"/traffic/zones/SHOP":    {http.StatusOK, `"zoneId":"SHOP"`},
		"/.well-known/jwks.json": {http.StatusOK, "Ed25519"},
		"/healthz":               {http.StatusTooManyRequests, "admission_required"},
		"/admin/zones":           {http.StatusTooManyRequests, "admission_required"},
		"/metrics":               {http.StatusTooManyRequests, "admission_required"},
	} {
		if got := request(t, http.MethodGet, s.sites+path, ""); got.status != want.status || !strings.Contains(got.body, want.says) {
			t.Errorf("%s: %+v", path, got)
		}
	}
	shop.took()
	if got := request(t, http.MethodGet, s.sites+"/healthz", "", "Cookie", "a=1; "+held+"; b=2"); got.body != "the shop: /healthz" {
		t.Errorf("inside: %+v", got)
	}
	if asked := shop.took(); len(asked) != 1 || asked[0].Header.Get("Cookie") != "a=1; b=2" || asked[0].Header.Get("X-Waiting-Room-Jti") == "" {
		t.Errorf("the shop was asked %d times: %v", len(asked), asked)
	}
	shop.Close()
	s.admin(t, http.MethodPatch, "/admin/zones/SHOP", `{"perMinute":600}`)
	if got := request(t, http.MethodGet, s.sites+"/", "", "Accept", "text/html", "Accept-Language", "de", "User-Agent", "another"); got.status != http.StatusBadGateway ||
		!strings.Contains(got.body, "Die Seite antwortet gerade nicht") || !strings.Contains(got.header.Get("Set-Cookie"), "waitingroom_session-SHOP=") {
		t.Errorf("a newcomer while the shop is away: %+v", got)
	}
	if got := request(t, http.MethodGet, s.sites+"/", "", "Cookie", held); got.status != http.StatusBadGateway || !strings.Contains(got.body, `"site_unavailable"`) {
		t.Errorf("a program while the shop is away: %+v", got)
	}
	metrics := request(t, http.MethodGet, s.operators+"/metrics", "").body
	for _, want := range []string{
		`queue_site_answers_total{outcome="answered",zone="SHOP"} 2`, `queue_site_answers_total{outcome="away",zone="SHOP"} 2`,
		`queue_site_first_byte_seconds_count{zone="SHOP"} 2`, `queue_connections_open{listener="sites"}`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics do not say %s", want)
		}
	}
}

// TestSites is one server in front of several sites, from its file.
func TestSites(t *testing.T) {
	shop, forum := startShop(t), startShop(t)
	s := start(t, map[string]string{"QUEUE_SITES_ADDR": "127.0.0.1:0", "QUEUE_CONFIG": config(t, `zones:
  - {zoneId: SHOP, perMinute: 0}
  - {zoneId: OPEN, mode: open}
sites:
  - {host: shop.example, zone: OPEN, upstream: `+shop.URL+`}
  - {host: shop.example, path: /checkout/, zone: SHOP, upstream: `+shop.URL+`}
  - {host: forum.example, zone: OPEN, upstream: `+forum.URL+`}
`)})
	for path, want := range map[string]int{
		"shop.example/": 200, "SHOP.example:8088/checkouts": 200, "shop.example./cart": 200, "forum.example/checkout": 200, "forum.example/a%2fb": 200,
		"shop.example/checkout": 429, "shop.example/Checkout/pay": 429, "shop.example/a%2f": 400, "shop.example/a/../checkout": 400, "shop.example/%63heckout": 429,
		"shop.example//checkout": 400, "shop.example/checkout;x": 400, "shop.example/%2e%2e/checkout": 400, "other.example/": 404,
	} {
		host, _, _ := strings.Cut(path, "/")
		if got := request(t, http.MethodGet, s.sites+strings.TrimPrefix(path, host), "", "Host", host); got.status != want {
			t.Errorf("%s: %+v", path, got)
		}
	}
}

// forged are headers that would let a gate which believes them let a visitor in, and what makes a site believe who asks.
const forged = "X-Original-URI: /open/\r\nX-Original-URL: http://x/open/\r\nX-Forwarded-Uri: /open/\r\nX-Forwarded-Method: OPTIONS\r\n" +
	"X_Forwarded_For: 6.6.6.6\r\nX-Real-IP: 6.6.6.6\r\nForwarded: for=6.6.6.6\r\nX-Forwarded-For: 6.6.6.6\r\nX-Waiting-Room-Jti: 6.6.6.6\r\nX-Rewrite-Url: /6.6.6.6\r\n"

// attacks are requests on one connection, each of which is to reach the site as two, or a path that waits. OPEN is where anybody
// may go; /secret waits.
var attacks = []string{
	// Where a request ends.
	"POST /open/ HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nSECRET",
	"POST /open/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n5c\r\nSECRET\r\n0\r\n\r\n",
	"POST /open/ HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 44\r\n\r\nSECRET",
	"POST /open/ HTTP/1.1\r\nHost: a\r\nContent-Length: 0, 44\r\n\r\nSECRET",
	"POST /open/ HTTP/1.1\r\nHost: a\r\nContent-Length: +0\r\n\r\nSECRET",
	"POST /open/ HTTP/1.1\r\nHost: a\r\nContent-Length: 0x2c\r\n\r\nSECRET",
	"POST /open/ HTTP/1.1\r\nHost: a\r\nContent-Length : 44\r\n\r\nSECRET",
	"POST /open/ HTTP/1.1\r\nHost: a\r\n Content-Length: 44\r\n\r\nSECRET",
	"POST /open/ HTTP/1.1\r\nHost: a\r\nX: y\r\n\tContent-Length: 44\r\n\r\nSECRET",
	"POST /open/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\nSECRET",
	"POST /open/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\x0bchunked\r\nContent-Length: 44\r\n\r\nSECRET",
	"POST /open/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\nContent-Length: 0\r\n\r\nSECRET",
	"POST /open/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\nSECRET",
	"POST /open/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: cow\r\n\r\n0\r\n\r\nSECRET",
	"POST /open/ HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\nSECRET",
	"POST /open/ HTTP/1.1\r\nHost: a\r\nTransfer_Encoding: chunked\r\nContent-Length: 0\r\n\r\nSECRET",
	"GET /open/ HTTP/1.1\r\nHost: a\r\nContent-Length: 44\r\n\r\nSECRET",
	// Chunks.
	"POST /open/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0;x=\r\n\r\nSECRET",
	"POST /open/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\nSECRET",
	"POST /open/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1ffffffffffffffff\r\nSECRET",
	"POST /open/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabSECRET",
	"POST /open/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Forwarded-Uri: /open/\r\nTrailer: Host\r\n\r\nSECRET",
	"POST /open/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n0\r\nX: y\r\nX-Forwarded-For: 6.6.6.6\r\nX_Waiting-Room-Jti: 6.6.6.6\r\n\r\n",
	// Lines.
	"GET /open/ HTTP/1.1\r\nHost: a\r\nX: y\rTransfer-Encoding: chunked\r\n\r\nSECRET",
	"GET /open/\r\nHost: a\r\n\r\nSECRET",
	"GET /open/ HTTP/1.1\nHost: a\n\nSECRET",
	"GET /open/ HTTP/1.1 HTTP/1.0\r\nHost: a\r\n\r\nSECRET",
	// What is asked for.
	"GET http://a/secret HTTP/1.1\r\nHost: a\r\n" + forged + "\r\n",
	"GET http:secret HTTP/1.1\r\nHost: a\r\n\r\n",
	"GET /open/../secret HTTP/1.1\r\nHost: a\r\n" + forged + "\r\n",
	"GET /open/..%2fsecret HTTP/1.1\r\nHost: a\r\n\r\n",
	"GET /secret HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
	"GET /secret HTTP/1.1\r\nHost: a\r\nOrigin: http://x\r\n" + forged + "\r\n",
	"GET /secret HTTP/1.1\r\nHost: a\r\nConnection: close, X-Original-Uri\r\n" + forged + "\r\n",
	"CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\nSECRET",
	"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
	"GET * HTTP/1.1\r\nHost: a\r\n\r\n",
	// Another protocol.
	"GET /open/ HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\nSECRET",
	"GET /open/ HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket, h2c\r\n\r\nSECRET",
	"POST /open/ HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 44\r\n\r\nSECRET",
	"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
}

// TestSmuggling: whatever a visitor sends, the site sees one request at most, for a path that anybody may ask for, and nothing that only a
// gateway may write.
func TestSmuggling(t *testing.T) {
	shop := startShop(t)
	s := start(t, map[string]string{"QUEUE_UPSTREAM": shop.URL, "QUEUE_SITES_ADDR": "127.0.0.1:0", "QUEUE_CONFIG": config(t,
		"zones:\n  - {zoneId: SHOP, perMinute: 0, bypassPaths: [/open/]}\n")})
	for i, raw := range attacks {
		raw = strings.ReplaceAll(raw, "SECRET", "GET /secret HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\n")
		c := dialSite(t, s, strings.ReplaceAll(raw, "Host: a\r\n", fmt.Sprintf("Host: a%d\r\n", i)))
		answers := bufio.NewReader(c)
		must(t, c.SetReadDeadline(time.Now().Add(time.Second))) // of some, the server waits for the rest
		_, _ = answers.Peek(1)                                  // a visitor who has gone would end the request to the site
		must(t, c.SetReadDeadline(time.Now().Add(patience)))
		_ = c.CloseWrite()
		_, _ = io.ReadAll(answers) // a server may reset what it refuses
		closing(t, c)
	}
	s.end(t)
	shop.Close()
	seen := map[string]bool{}
	for _, r := range shop.took() {
		header := fmt.Sprint(r.Header, r.Trailer)
		if seen[r.Host] || r.URL.Path != "/open/" || strings.Contains(header, "6.6.6.6") || strings.Contains(header, "Original") || r.Header.Get("Upgrade") != "" {
			t.Errorf("of the attack on %s, this reaches the site: %s %s %v", r.Host, r.Method, r.URL, r.Header)
		}
		seen[r.Host] = true
	}
	if len(seen) < len(attacks)/4 {
		t.Errorf("the site saw %d hosts: the attacks end too soon", len(seen))
	}
}

// dialSite sends a text to the sites' listener.
func dialSite(t *testing.T, s *server, text string) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.sites, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	c, ok := conn.(*net.TCPConn)
	if _, err := io.WriteString(c, text); err != nil || !ok {
		t.Fatal(err)
	}
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestWebSocketEnds with the session that began it, and with the server; an event stream the same.
func TestWebSocketEnds(t *testing.T) {
	shop := startShop(t)
	s := start(t, map[string]string{"QUEUE_UPSTREAM": shop.URL, "QUEUE_SITES_ADDR": "127.0.0.1:0", "QUEUE_CONFIG": config(t,
		"zones:\n  - {zoneId: SHOP, perMinute: 6000, burst: 100, maxInside: 100}\n")})
	open := func(agent string) (c *net.TCPConn, events io.Reader, jti string) {
		held, _, _ := strings.Cut(request(t, http.MethodGet, s.sites+"/", "", "Accept", "text/html", "User-Agent", agent).header.Get("Set-Cookie"), ";")
		shop.took()
		c = dialSite(t, s, "GET /live HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nCookie: "+held+"\r\n\r\nhello")
		in := bufio.NewReader(c)
		res, err := http.ReadResponse(in, nil)
		if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
			t.Fatalf("%+v, %v", res, err)
		}
		defer closing(t, res.Body)
		if _, err := io.WriteString(c, "again"); err != nil {
			t.Fatal(err)
		}
		said := make([]byte, len("again"))
		if _, err := io.ReadFull(in, said); err != nil {
			t.Fatalf("%q, %v", said, err)
		}
		for _, r := range shop.took() {
			jti = r.Header.Get("X-Waiting-Room-Jti")
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.sites+"/events", http.NoBody)
		must(t, err)
		req.Header.Set("Cookie", held)
		answer, err := transport.RoundTrip(req)
		must(t, err)
		t.Cleanup(func() { closing(t, answer.Body) })
		return c, answer.Body, jti
	}
	revoked, stream, jti := open("one")
	stays, drained, _ := open("another")
	soon(t, http.MethodGet, s.operators+"/metrics", "queue_site_upgraded 2")
	if got := s.admin(t, http.MethodPost, "/admin/zones/SHOP/inside/revoke", `{"jti":"`+jti+`"}`); got.status >= http.StatusMultipleChoices {
		t.Fatalf("%+v", got)
	}
	if _, err := io.ReadAll(revoked); err != nil {
		t.Errorf("a WebSocket of a session that is revoked: %v", err)
	}
	if said, err := io.ReadAll(stream); err == nil || string(said) != "data: hello\n\n" {
		t.Errorf("an event stream of a session that is revoked: %q, %v", said, err)
	}
	soon(t, http.MethodGet, s.operators+"/metrics", "queue_site_upgraded 1")
	s.end(t)
	if said, err := io.ReadAll(drained); err == nil || string(said) != "data: hello\n\n" {
		t.Errorf("an event stream of a server that drains: %q, %v", said, err)
	}
	if _, err := io.ReadAll(stays); err != nil {
		t.Errorf("a WebSocket of a server that has drained: %v", err)
	}
}

// TestProtocolsInFront: visitors come by HTTP/1.1 and HTTP/2; trailers go through in both directions, and the answer that a body is
// wanted is the site's.
func TestProtocolsInFront(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Unwanted") != "" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.Header().Set("Trailer", "X-Sum")
		n, err := io.Copy(w, r.Body)
		w.Header().Set("X-Sum", fmt.Sprintf("%d %v %s %s", n, err, r.Trailer.Get("X-Sent"), r.Proto))
	}))
	defer site.Close()
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	writePair(t, certFile, keyFile, "shop.example")
	s := start(t, map[string]string{
		"QUEUE_UPSTREAM": site.URL, "QUEUE_SITES_ADDR": "127.0.0.1:0", "QUEUE_TLS_CERT_FILE": certFile, "QUEUE_TLS_KEY_FILE": keyFile,
		"QUEUE_CONFIG": config(t, "zones: [{zoneId: SHOP, mode: open}]"),
	})
	for _, http2 := range []bool{false, true} {
		client := &http.Client{Transport: &http.Transport{
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: http2, ExpectContinueTimeout: patience, DisableKeepAlives: true,
		}}
		for _, unwanted := range []string{"", "1"} {
			var sent atomic.Int64
			body := io.TeeReader(strings.NewReader("hello"), writes(func(n int) { sent.Add(int64(n)) }))
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, strings.Replace(s.sites, "http:", "https:", 1)+"/upload", body)
			must(t, err)
			req.Trailer = http.Header{"X-Sent": {"yes"}}
			req.Header.Set("Expect", "100-continue")
			if unwanted != "" {
				req.Header.Set("X-Unwanted", unwanted)
			}
			status, text, sum := upload(t, client, req)
			switch {
			case unwanted != "" && (status != http.StatusForbidden || sent.Load() > 0 && !http2): // which Go's client does not wait with
				t.Errorf("HTTP/2 %t: a body that is not wanted: %d, %d bytes are sent", http2, status, sent.Load())
			case unwanted == "" && (text != "hello" || sum != "5 <nil> yes HTTP/1.1"):
				t.Errorf("HTTP/2 %t: %q, %q", http2, text, sum)
			}
		}
	}
}

// upload sends a request, and returns the answer with the trailer of its site.
func upload(t *testing.T, client *http.Client, req *http.Request) (status int, text, sum string) {
	t.Helper()
	res, err := client.Do(req)
	must(t, err)
	defer closing(t, res.Body)
	all, err := io.ReadAll(res.Body)
	must(t, err)
	if transport, is := client.Transport.(*http.Transport); is && (res.ProtoMajor == 2) != transport.ForceAttemptHTTP2 {
		t.Errorf("the answer is %s", res.Proto)
	}
	return res.StatusCode, string(all), res.Trailer.Get("X-Sum")
}

// writes is told how much is written.
type writes func(n int)

func (w writes) Write(p []byte) (int, error) {
	w(len(p))
	return len(p), nil
}

// TestClosing: whoever keeps a connection open is asked to close it while the server drains, but no WebSocket is.
func TestClosing(t *testing.T) {
	h := newHealth(nil)
	h.drain()
	for upgrade, want := range map[string]string{"": "close", "websocket": ""} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		if upgrade != "" {
			r.Header.Set("Upgrade", upgrade)
		}
		h.closing(http.NotFoundHandler()).ServeHTTP(w, r)
		if got := w.Header().Get("Connection"); got != want {
			t.Errorf("upgrade %q: %q", upgrade, got)
		}
	}
}
