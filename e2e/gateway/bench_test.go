package gateway

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
)

const (
	// pageBytes is the page of the shop.
	pageBytes = 1 << 10
	// visitors is how many connections ask at a time, for each processor.
	visitors = 25
	// perConnection is how many requests a connection has: nginx closes them after a thousand.
	perConnection = 500
	// waiting is how many wait in one of the measurements.
	waiting = 50_000
)

// plainProxy is nginx before the shop, with nothing beside it.
const plainProxy = `upstream shop { server %s; keepalive 32; }
server {
    listen 80;
    location / {
        proxy_pass http://shop;
        proxy_http_version 1.1;
        proxy_set_header Connection "";
        proxy_set_header Host $http_host;
        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
        proxy_set_header X-Forwarded-Proto $scheme;
    }
}
`

// BenchmarkGateways is how many pages of 1 KiB a second visitors with a session get through each gateway, and how long one takes. One
// run compares them: the client, the gateway, queue-server and the shop share the machine. See make bench-gateways.
func BenchmarkGateways(b *testing.B) {
	shop := room.StartNginxOf(b, `server { listen 80; keepalive_requests 100000000; location / { return 200 "`+strings.Repeat("x", pageBytes)+`"; } }`, nil, "")
	pair := certificate(b)
	for _, secure := range []string{"", pair} {
		suffix := ""
		if secure != "" {
			suffix = ", TLS"
		}
		b.Run("nginx alone"+suffix, func(b *testing.B) {
			measure(b, room.StartNginxOf(b, fmt.Sprintf(plainProxy, shop), nil, secure), "", secure != "")
		})
		b.Run("nginx, auth_request"+suffix, func(b *testing.B) {
			s := gateOf(b, nil)
			addr := s.NginxSite(b, "SHOP", "enter", room.Others{"server 127.0.0.1:8000;": "server " + shop + "; keepalive 32;"}, secure)
			measure(b, addr, session(b, addr, secure != ""), secure != "")
		})
		b.Run("Caddy alone"+suffix, func(b *testing.B) {
			measure(b, room.StartCaddyOf(b, "shop.example {\n\treverse_proxy "+shop+"\n}\n", nil, secure), "", secure != "")
		})
		b.Run("Caddy, forward_auth"+suffix, func(b *testing.B) {
			s := gateOf(b, nil)
			addr := s.CaddySite(b, "SHOP", "hold", room.Others{"reverse_proxy 127.0.0.1:8000": "reverse_proxy " + shop}, secure)
			measure(b, addr, session(b, addr, secure != ""), secure != "")
		})
		for _, wait := range []int{0, waiting} {
			name := "queue-server"
			if wait > 0 {
				name += ", 50,000 wait"
			}
			b.Run(name+suffix, func(b *testing.B) {
				addr := room.FreeAddr(b)
				env := map[string]string{"QUEUE_UPSTREAM": "http://" + shop, "QUEUE_ZONE": "SHOP", "QUEUE_SITES_ADDR": addr}
				if secure != "" {
					env["QUEUE_TLS_CERT_FILE"], env["QUEUE_TLS_KEY_FILE"] = pair, pair
				}
				gateOf(b, env)
				held := session(b, addr, secure != "")
				line(b, addr, secure != "", wait)
				measure(b, addr, held, secure != "")
			})
		}
	}
}

// gateOf starts queue-server with a zone for the shop.
func gateOf(b *testing.B, env map[string]string) *room.Server {
	b.Helper()
	config := filepath.Join(b.TempDir(), "zones.yaml")
	room.Write(b, config, "zones:\n  - {zoneId: SHOP, perMinute: 600}\n")
	all := map[string]string{"QUEUE_TRUSTED_PROXIES": "127.0.0.1", "QUEUE_DOOR_LIMITS": "off", "QUEUE_CONFIG": config}
	maps.Copy(all, env)
	s := room.New(b, all)
	if env["QUEUE_TLS_CERT_FILE"] != "" {
		must(b, s.StartUntil(b.Context(), func() bool {
			c, err := net.Dial("tcp", env["QUEUE_SITES_ADDR"])
			if err == nil {
				_ = c.Close()
			}
			return err == nil
		}))
		b.Cleanup(func() { s.Stop(b) })
		return s
	}
	s.Launch(b)
	b.Cleanup(func() { s.Stop(b) })
	s.AwaitReady(b)
	return s
}

// certificate is a file with the certificate of 127.0.0.1, and its key.
func certificate(b *testing.B) string {
	b.Helper()
	site := httptest.NewTLSServer(http.NotFoundHandler())
	defer site.Close()
	pair := site.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	must(b, err)
	path := filepath.Join(b.TempDir(), "pair.pem")
	must(b, os.WriteFile(path, append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})...), 0o600))
	return path
}

// connect opens a connection as a browser does that speaks HTTP/1.1.
func connect(b *testing.B, addr string, secure bool) net.Conn {
	b.Helper()
	var c net.Conn
	var err error
	if secure {
		c, err = tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
	} else {
		c, err = net.Dial("tcp", addr)
	}
	if err != nil {
		b.Error(err)
		b.FailNow()
	}
	return c
}

// session opens a page, and returns the cookie of the session.
func session(b *testing.B, addr string, secure bool) string {
	b.Helper()
	c := connect(b, addr, secure)
	defer func() { _ = c.Close() }()
	_, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: "+addr+"\r\nAccept: text/html\r\nConnection: close\r\n\r\n")
	must(b, err)
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	must(b, err)
	defer func() { _ = res.Body.Close() }()
	held, _, _ := strings.Cut(res.Header.Get("Set-Cookie"), ";")
	if !strings.Contains(held, "waitingroom") {
		b.Fatalf("no session: %d %v", res.StatusCode, res.Header)
	}
	return held
}

// line has so many take a place.
func line(b *testing.B, addr string, secure bool, visitors int) {
	b.Helper()
	const together = 50
	var joins sync.WaitGroup
	for range min(visitors, together) {
		joins.Go(func() {
			c := connect(b, addr, secure)
			defer func() { _ = c.Close() }()
			answers, body := bufio.NewReader(c), `{"zoneId":"SHOP"}`
			for range visitors / together {
				if _, err := fmt.Fprintf(c, "POST /traffic/wait HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", addr, len(body), body); err != nil {
					b.Error(err)
					return
				}
				if status, _, err := answered(answers); err != nil || status != http.StatusOK {
					b.Errorf("a join: %d, %v", status, err)
					return
				}
			}
		})
	}
	joins.Wait()
}

// measure asks for the page, and reports how many a second, and the median and 99th percentile of how long one took.
func measure(b *testing.B, addr, held string, secure bool) {
	b.Helper()
	request := []byte("GET /page?id=7 HTTP/1.1\r\nHost: " + addr + "\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\r\n" +
		"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\nAccept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip, deflate, br\r\n" +
		"Sec-Fetch-Mode: navigate\r\nSec-Fetch-Site: same-origin\r\nSec-Fetch-Dest: document\r\nCookie: theme=dark; " + held + "\r\n\r\n")
	var mu sync.Mutex
	var took []time.Duration
	var failed atomic.Int64
	b.SetParallelism(visitors)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		c := connect(b, addr, secure)
		defer func() { _ = c.Close() }()
		answers, mine, sent := bufio.NewReader(c), []time.Duration(nil), 0
		for pb.Next() {
			began := time.Now()
			if sent++; sent == perConnection {
				_ = c.Close()
				c, sent = connect(b, addr, secure), 0
				answers.Reset(c)
			}
			if _, err := c.Write(request); err != nil {
				b.Error(err)
				return
			}
			switch status, n, err := answered(answers); {
			case err != nil, status == http.StatusOK && n != pageBytes, status < http.StatusInternalServerError && status != http.StatusOK:
				b.Errorf("an answer: %d, %d bytes, %v", status, n, err)
				return
			case status != http.StatusOK: // as Caddy answers when it does not reach the gate within 200 ms
				failed.Add(1)
				continue
			}
			mine = append(mine, time.Since(began))
		}
		mu.Lock()
		took = append(took, mine...)
		mu.Unlock()
	})
	b.StopTimer()
	slices.Sort(took)
	if len(took) == 0 {
		return
	}
	if failed.Load() > 0 {
		b.ReportMetric(float64(failed.Load()), "failed")
	}
	b.ReportMetric(float64(len(took))/b.Elapsed().Seconds(), "pages/s")
	b.ReportMetric(took[len(took)/2].Seconds()*1000, "p50-ms")
	b.ReportMetric(took[len(took)*99/100].Seconds()*1000, "p99-ms")
}

// answered reads an answer with a Content-Length, or without a body.
func answered(r *bufio.Reader) (status, length int, err error) {
	for first := true; ; first = false {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return 0, 0, err
		}
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case first:
			if _, err := fmt.Sscanf(string(line), "HTTP/1.1 %d", &status); err != nil {
				return 0, 0, fmt.Errorf("%q: %w", line, err)
			}
		case len(line) == 0:
			_, err = r.Discard(length)
			return status, length, err
		case len(line) > 15 && bytes.EqualFold(line[:15], []byte("content-length:")):
			if length, err = strconv.Atoi(strings.TrimSpace(string(line[15:]))); err != nil {
				return 0, 0, err
			}
		}
	}
}
