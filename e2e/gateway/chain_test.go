package gateway

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/check/process"
)

const (
	// visitorAddr is where the visitor of a chain comes from, balancerAddr the balancer on TCP.
	visitorAddr  = "127.0.0.5"
	balancerAddr = "127.0.0.7"
)

// apacheConf is what Apache needs around a site, to run as anybody.
const apacheConf = `ServerRoot /usr/lib/apache2
PidFile %[1]s/apache.pid
ErrorLog /dev/stderr
ServerName localhost
Listen %[2]s
LoadModule mpm_event_module modules/mod_mpm_event.so
LoadModule authz_core_module modules/mod_authz_core.so
LoadModule proxy_module modules/mod_proxy.so
LoadModule proxy_http_module modules/mod_proxy_http.so
LoadModule headers_module modules/mod_headers.so
Mutex file:%[1]s
Include %[1]s/site.conf
`

// fabricConf is nginx as NGINX Gateway Fabric configures it for an HTTPRoute that leads to the sites' listener: its upstream, its headers
// and its maps.
const fabricConf = `map $http_host $gw_api_compliant_host { '' $host; default $http_host; }
map $http_upgrade $connection_upgrade { default upgrade; '' close; }
upstream default_queue-server-sites_8088 {
    random two least_conn;
    zone default_queue-server-sites_8088 512k;
    server %s;
}
server {
    listen 80;
    server_name shop.example;
    location / {
        proxy_http_version 1.1;
        proxy_set_header Host "$gw_api_compliant_host";
        proxy_set_header X-Forwarded-For "$proxy_add_x_forwarded_for";
        proxy_set_header X-Real-IP "$remote_addr";
        proxy_set_header X-Forwarded-Proto "$scheme";
        proxy_set_header X-Forwarded-Host "$host";
        proxy_set_header X-Forwarded-Port "$server_port";
        proxy_set_header Upgrade "$http_upgrade";
        proxy_set_header Connection "$connection_upgrade";
        proxy_pass http://default_queue-server-sites_8088$request_uri;
    }
}
`

// chains are gateways that cannot ask, each with its example before queue-server in front of the shop, and what the shop learns of the
// visitor. env are settings of queue-server.
var chains = map[string]struct {
	env    map[string]string
	starts func(t *testing.T, sites, public string) (addr string)
	tells  string
}{
	"HAProxy": {map[string]string{"QUEUE_TRUSTED_PROXIES": "127.0.0.1"}, func(t *testing.T, sites, public string) string {
		t.Helper()
		_, port, err := net.SplitHostPort(public)
		must(t, err)
		return haproxy(t, "haproxy.cfg", "127.0.0.1:8088 check port 8080", sites+" check port "+port)
	}, visitorAddr + ", 127.0.0.1"},
	"HAProxy on TCP": {map[string]string{"QUEUE_PROXY_PROTOCOL_FROM": balancerAddr}, func(t *testing.T, sites, _ string) string {
		t.Helper()
		return haproxy(t, "haproxy-tcp.cfg", "127.0.0.1:8088", sites, "10.0.0.2\n", balancerAddr+"\n")
	}, visitorAddr},
	"Apache": {map[string]string{"QUEUE_TRUSTED_PROXIES": "127.0.0.1"}, func(t *testing.T, sites, _ string) string {
		t.Helper()
		dir, addr := t.TempDir(), room.FreeAddr(t)
		room.Write(t, filepath.Join(dir, "site.conf"), example(t, "apache.conf", "*:80", addr, "127.0.0.1:8088", sites))
		room.Write(t, filepath.Join(dir, "apache.conf"), fmt.Sprintf(apacheConf, dir, addr))
		return room.StartListener(t, addr, &process.Process{Name: program(t, "apache2"), Dir: dir, Args: []string{"-X", "-f", filepath.Join(dir, "apache.conf")}})
	}, visitorAddr + ", 127.0.0.1"},
	// It appends to what the visitor writes. Only its own address is trusted, so what the visitor wrote does not count.
	"NGINX Gateway Fabric": {map[string]string{"QUEUE_TRUSTED_PROXIES": "127.0.0.1"}, func(t *testing.T, sites, _ string) string {
		t.Helper()
		return room.StartNginxOf(t, fmt.Sprintf(fabricConf, sites), nil, "")
	}, "6.6.6.6, " + visitorAddr + ", 127.0.0.1"},
}

func program(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	return "/usr/sbin/" + name
}

// example returns a file of deploy/site with other texts in it; comments, which name addresses, are left out.
func example(t *testing.T, name string, others ...string) string {
	t.Helper()
	var text strings.Builder
	for line := range strings.Lines(room.Read(t, "../../deploy/site/"+name)) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			text.WriteString(line)
		}
	}
	for i := 0; i < len(others); i += 2 {
		if strings.Count(text.String(), others[i]) != 1 {
			t.Fatalf("%s has not one %q", name, others[i])
		}
	}
	return strings.NewReplacer(others...).Replace(text.String())
}

func haproxy(t *testing.T, name string, others ...string) (addr string) {
	t.Helper()
	file, addr := filepath.Join(t.TempDir(), name), room.FreeAddr(t)
	room.Write(t, file, example(t, name, append(others, "bind :80", "bind "+addr)...))
	return room.StartListener(t, addr, &process.Process{Name: program(t, "haproxy"), Args: []string{"-db", "-f", file}})
}

// answer is what a visitor of a chain gets.
type answer struct {
	status int
	header http.Header
	text   string
}

// TestChains: behind a gateway that cannot ask, the server in front of the shop does the rest, and knows the visitor's address.
func TestChains(t *testing.T) {
	t.Parallel()
	for name, chain := range chains {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Upgrade") == "websocket" {
					c, b, err := http.NewResponseController(w).Hijack()
					if err != nil {
						t.Error(err)
						return
					}
					_, _ = fmt.Fprint(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n")
					_, _ = io.Copy(c, b)
					_ = c.Close()
					return
				}
				_, _ = fmt.Fprintf(w, "%s at %s for %s from %s", r.RequestURI, r.Host, r.Header.Get("X-Real-Ip"), strings.Join(r.Header["X-Forwarded-For"], ";"))
			}))
			t.Cleanup(shop.Close)
			sites := room.FreeAddr(t)
			env := map[string]string{"QUEUE_UPSTREAM": shop.URL, "QUEUE_ZONE": "SHOP=6000", "QUEUE_SITES_ADDR": sites, "QUEUE_TRUSTED_PROXIES": ""}
			maps.Copy(env, chain.env)
			s := room.Start(t, env)
			addr := chain.starts(t, sites, at(s.Public))

			ask := func(head string) (got answer, c net.Conn, in *bufio.Reader) {
				from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(visitorAddr)}}
				var err error
				c, err = from.DialContext(t.Context(), "tcp", addr)
				must(t, err)
				t.Cleanup(func() { _ = c.Close() })
				_, err = io.WriteString(c, head+"Host: shop.example\r\nX-Forwarded-For: 6.6.6.6\r\n\r\n")
				must(t, err)
				in = bufio.NewReader(c)
				res, err := http.ReadResponse(in, nil)
				must(t, err)
				defer func() { _ = res.Body.Close() }()
				text, err := io.ReadAll(res.Body)
				must(t, err)
				return answer{res.StatusCode, res.Header, string(text)}, c, in
			}
			var got answer
			room.Await(t, "the gateway has found queue-server", func() bool {
				got, _, _ = ask("GET /cart%2f7?a=b%20c HTTP/1.1\r\nAccept: text/html\r\nSec-Fetch-Mode: navigate\r\n")
				return got.status != http.StatusServiceUnavailable
			})
			told := "/cart%2f7?a=b%20c at shop.example for " + visitorAddr + " from " + chain.tells
			held, _, _ := strings.Cut(got.header.Get("Set-Cookie"), ";")
			if got.text != told || !strings.HasPrefix(held, "waitingroom_session-SHOP=") {
				t.Fatalf("a newcomer: %d %q, want %q; %v", got.status, got.text, told, got.header)
			}
			s.Operate(t, http.MethodPatch, "/admin/zones/SHOP", `{"perMinute":0}`)
			if got, _, _ := ask("GET / HTTP/1.1\r\nSec-Fetch-Mode: navigate\r\nUser-Agent: another\r\n"); got.status != http.StatusFound ||
				!strings.HasPrefix(got.header.Get("Location"), "/wait/SHOP?to=") {
				t.Errorf("in a line: %d %v", got.status, got.header)
			}
			got, c, in := ask("GET /live HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nCookie: " + held + "\r\n")
			if got.status != http.StatusSwitchingProtocols {
				t.Fatalf("a WebSocket: %d", got.status)
			}
			_, err := io.WriteString(c, "hello")
			must(t, err)
			said := make([]byte, 5)
			if _, err := io.ReadFull(in, said); err != nil || string(said) != "hello" {
				t.Errorf("a WebSocket says %q, %v", said, err)
			}
		})
	}
}
