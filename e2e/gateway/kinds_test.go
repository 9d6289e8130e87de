package gateway

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/check/process"
	"github.com/openqueue/waitingroom/internal/zone"
)

// phpShop is a shop of PHP-FPM and files, as nginx-php.conf has it.
type phpShop struct{ root, socket string }

func startPHP(t *testing.T) phpShop {
	t.Helper()
	dir := t.TempDir()
	s := phpShop{dir + "/shop", dir + "/php.sock"}
	for name, text := range map[string]string{
		"shop/index.php": `<?php header("Cache-Control: max-age=600"); header("Expires: Thu, 01 Jan 2099 00:00:00 GMT");
			echo "PHP: ", $_SERVER["REQUEST_METHOD"], " ", $_SERVER["REQUEST_URI"], " ", strlen(file_get_contents("php://input"));`,
		"shop/upload.php":     `<?php echo "got ", $_FILES["f"]["size"];`,
		"shop/404.html":       "no such page",
		"shop/about.html":     "about",
		"shop/docs/index.php": "<?php echo 'docs';",
		"shop/assets/a.css":   "css",
		"fpm.conf": "[global]\nerror_log = /dev/stderr\ndaemonize = no\n[www]\nlisten = " + s.socket +
			"\nuser = root\npm = static\npm.max_children = 2\nphp_admin_value[upload_max_filesize] = 64M\nphp_admin_value[post_max_size] = 64M\n",
	} {
		room.Write(t, filepath.Join(dir, name), text)
	}
	program := room.Glob(t, "/usr/sbin/php-fpm*")
	if len(program) == 0 {
		t.Fatal("no php-fpm: apt-get install php-fpm")
	}
	args := []string{"-F", "-y", dir + "/fpm.conf"}
	if os.Getuid() == 0 {
		args = append(args, "-R")
	}
	fpm := room.Adopt(t, &process.Process{Name: program[0], Dir: dir, Args: args})
	must(t, fpm.StartUntil(t.Context(), func() bool {
		_, err := os.Stat(s.socket)
		return err == nil
	}))
	t.Cleanup(func() { must(t, fpm.Stop()) }) // killed, it would leave its children
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// others put the shop in the place of the example's.
func (s phpShop) others(t *testing.T, gateway string) room.Others {
	t.Helper()
	if gateway == "Caddy" {
		return room.Others{"reverse_proxy 127.0.0.1:8000": "import php", "/var/www/shop": s.root, "unix//run/php/php-fpm.sock": "unix/" + s.socket}
	}
	example := room.Read(t, "../../deploy/site/nginx.conf")
	from, to := strings.Index(example, "    # The shop. With"), strings.LastIndex(example, "}")
	php := strings.NewReplacer("/var/www/shop", s.root, "/run/php/php-fpm.sock", s.socket, "include fastcgi_params", "include /etc/nginx/fastcgi_params").Replace(room.Read(t, "../../deploy/site/nginx-php.conf"))
	return room.Others{example[from:to]: php}
}

// admitted is how many visitors were admitted.
func (f *shopfront) admitted(t *testing.T) int {
	t.Helper()
	n, ok := f.server.Operate(t, http.MethodGet, "/admin/zones/SHOP/stats", "").Value(t, "totals", "admitted").(float64)
	if !ok {
		t.Fatal("no total of the admitted")
	}
	return int(n)
}

// form returns the body of a form with a file of n bytes, and its type.
func form(t *testing.T, n int) (body, kind string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	file, err := w.CreateFormFile("f", "picture.jpg")
	must(t, err)
	_, err = file.Write(bytes.Repeat([]byte{'x'}, n))
	must(t, err)
	must(t, w.Close())
	return b.String(), w.FormDataContentType()
}

// TestPHP is a shop of PHP-FPM and files behind each gateway. However often the gateway starts a request over, it asks
// once: with room for one visitor, the visitor is in.
func TestPHP(t *testing.T) {
	t.Parallel()
	php := startPHP(t)
	for name := range gateways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := startShopfrontOf(t, name, php.others(t, name))
			z := zone.Defaults("SHOP")
			z.BypassPaths = []string{"/assets/*"}
			missing := map[string]string{"nginx": "no such page", "Caddy": "PHP: GET /gone.php 0"}[name] // Caddy's php_fastcgi knows no 404 of files
			status := map[string]int{"nginx": http.StatusNotFound, "Caddy": http.StatusOK}[name]
			pages := []struct {
				path, body string
				status     int
			}{
				{"/", "PHP: GET / 0", 200},
				{"/?a=1&b=%20", "PHP: GET /?a=1&b=%20 0", 200},
				{"/order/7?x", "PHP: GET /order/7?x 0", 200},
				{"/about.html", "about", 200},
				{"/docs/", "docs", 200},
				{"/index.php?q=1", "PHP: GET /index.php?q=1 0", 200},
				{"/gone.php", missing, status},
			}
			body, kind := form(t, 3<<20)
			for i, tt := range pages {
				z.PerMinute, z.WindowSeconds = int64(i+1), 60 // room for one more
				f.server.Put(t, z)
				visitor := newClient(t, f.addr)
				got := visitor.open(tt.path)
				if got.Status != tt.status || !strings.HasPrefix(got.Body, tt.body) || len(got.Header.Values("Set-Cookie")) != 1 ||
					strings.Join(got.Header.Values("Cache-Control"), "+") != "private, no-store" || got.Header.Get("Expires") != "" || f.admitted(t) != i+1 {
					t.Errorf("%s: %d %q, %v; %d admitted", tt.path, got.Status, got.Body, got.Header, f.admitted(t))
				}
				if got := visitor.open(tt.path); got.Status != tt.status || got.Header.Get("Set-Cookie") != "" || f.admitted(t) != i+1 {
					t.Errorf("%s, inside: %+v", tt.path, got)
				}
				if got := visitor.ask(http.MethodPost, "/upload.php", body, "Content-Type", kind); got.Body != fmt.Sprint("got ", 3<<20) {
					t.Errorf("an upload: %d %q", got.Status, got.Body)
				}
			}
			f.server.Operate(t, http.MethodPatch, "/admin/zones/SHOP", `{"perMinute":0}`)
			late := newClient(t, f.addr)
			for _, tt := range pages {
				if page := late.led(late.open(tt.path), http.StatusFound); !strings.Contains(page, "/wait/SHOP?to=") {
					t.Errorf("%s, in a line: led to %s", tt.path, page)
				}
			}
			if got := late.ask(http.MethodPost, "/upload.php", body, "Content-Type", kind, "Expect", "100-continue"); got.Status != http.StatusTooManyRequests || !strings.Contains(got.Body, "admission_required") {
				t.Errorf("an upload without a session: %d %q", got.Status, got.Body)
			}
			preflight := []string{"Origin", "https://www.shop.example", "Access-Control-Request-Method", "POST"}
			for _, tt := range [][2]string{
				{http.MethodGet, "/.well-known/x"}, {http.MethodGet, "/.well-known/index.php"}, {http.MethodGet, "/.well-known/a.php/b"}, {http.MethodGet, "/robots.txt"},
				{http.MethodGet, "/opensearch.xml"}, {http.MethodHead, "/apple-app-site-association"}, {http.MethodGet, "/a/favicon-x.ico"}, {http.MethodGet, "/a/b/manifest.json"},
				{http.MethodGet, "/x.webmanifest"}, {http.MethodGet, "/apple-touch-icon.png"}, {http.MethodGet, "/mstile-1.png"},
				{http.MethodOptions, "/checkout"}, {http.MethodOptions, "/"}, {http.MethodOptions, "/index.php"},
			} {
				if got := late.ask(tt[0], tt[1]+"?add-to-cart=5", "", preflight...); strings.Contains(got.Body, "PHP") || got.Header.Get("X-Powered-By") != "" || got.Status != http.StatusNotFound && got.Status != http.StatusNoContent {
					t.Errorf("%s %s runs PHP without waiting: %+v", tt[0], tt[1], got)
				}
			}
			if got := late.ask(http.MethodGet, "/assets/a.css", ""); got.Body != "css" || got.Header.Get("Set-Cookie") != "" {
				t.Errorf("an asset: %+v", got)
			}
		})
	}
}

// TestKinds is what shops do besides pages, behind each gateway: WebSockets, event streams, uploads, frames, calls from another
// origin; and visitors whose requests name no host.
func TestKinds(t *testing.T) {
	t.Parallel()
	for _, name := range append(slices.Collect(maps.Keys(gateways)), box) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := make(chan struct{})
			shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/live":
					// As a shop that speaks h2c does, it takes any upgrade that it is asked for.
					if r.Header.Get("Upgrade") == "" && !strings.Contains(strings.ToLower(r.Header.Get("Connection")), "upgrade") {
						_, _ = fmt.Fprint(w, "no upgrade")
						return
					}
					c, b, err := http.NewResponseController(w).Hijack()
					if err != nil {
						t.Error(err)
						return
					}
					defer func() { _ = c.Close() }()
					_, _ = fmt.Fprint(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: "+strings.Join(r.Header.Values("Upgrade"), ",")+"\r\nConnection: Upgrade\r\n\r\n")
					_, _ = io.Copy(c, b)
				case "/events":
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = fmt.Fprint(w, "data: one\n\n")
					_ = http.NewResponseController(w).Flush()
					select {
					case <-seen:
					case <-time.After(time.Minute):
					case <-r.Context().Done():
					}
					_, _ = fmt.Fprint(w, "data: two\n\n")
				default:
					n, _ := io.Copy(io.Discard, r.Body)
					_, _ = fmt.Fprintf(w, "the shop at %s: %s %s %d", r.Host, r.Method, r.URL, n)
				}
			}))
			t.Cleanup(shop.Close)
			f := startShopfrontOf(t, name, shopAt(name, shop.Listener.Addr().String()))
			z := zone.Defaults("SHOP")
			z.CORSOrigins, z.BypassPaths = []string{"https://www.shop.example"}, []string{"/embed/*", "/payment/return*"}
			f.server.Put(t, z)
			inside := newClient(t, f.addr)
			held := inside.open("/").Header.Get("Set-Cookie")
			held, _, _ = strings.Cut(held, ";")
			f.server.Operate(t, http.MethodPatch, "/admin/zones/SHOP", `{"perMinute":0}`)

			upgrade := "GET /live HTTP/1.1\r\nHost: " + f.addr + "\r\nConnection: keep-alive, Upgrade\r\nUpgrade: %s\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nCookie: %s\r\n\r\n"
			c, answers := dial(t, f.addr, fmt.Sprintf(upgrade, "websocket", held))
			if status := readHeader(t, answers); status != http.StatusSwitchingProtocols {
				t.Errorf("a WebSocket: %d", status)
			}
			for _, text := range []string{"hello", "again"} {
				_, err := io.WriteString(c, text)
				must(t, err)
				got := make([]byte, len(text))
				if _, err := io.ReadFull(answers, got); err != nil || string(got) != text {
					t.Errorf("a WebSocket echoes %q, %v", got, err)
				}
			}
			for _, tt := range []struct {
				upgrade, held string
				want          int
			}{
				{"websocket", "", http.StatusTooManyRequests},
				{"h2c", held, http.StatusOK}, {"h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__", held, http.StatusOK}, {"H2C", held, http.StatusOK}, {"tls/1.2", held, http.StatusOK},
				{"websocket, h2c", held, http.StatusOK}, {"", held, http.StatusOK}, {"xwebsocket", held, http.StatusOK},
			} {
				_, answers := dial(t, f.addr, fmt.Sprintf(upgrade, tt.upgrade, tt.held))
				if status := readHeader(t, answers); status != tt.want {
					t.Errorf("an upgrade to %s: %d", tt.upgrade, status)
				}
			}

			_, answers = dial(t, f.addr, "GET /events HTTP/1.1\r\nHost: "+f.addr+"\r\nAccept: text/event-stream\r\nCookie: "+held+"\r\nConnection: close\r\n\r\n")
			for told := false; ; {
				line, err := answers.ReadString('\n')
				if strings.HasPrefix(line, "data: one") {
					told = true
					close(seen)
				}
				if strings.HasPrefix(line, "data: two") && told {
					break
				}
				if err != nil {
					t.Fatalf("events do not come as they are sent: %v", err)
				}
			}
			if got := newClient(t, f.addr).ask(http.MethodGet, "/events", "", "Accept", "text/event-stream"); got.Status != http.StatusTooManyRequests {
				t.Errorf("events without a session: %+v", got)
			}

			large := strings.Repeat("x", 3<<20)
			if got := inside.ask(http.MethodPost, "/upload", large); !strings.HasSuffix(got.Body, fmt.Sprint("POST /upload ", len(large))) {
				t.Errorf("an upload: %d %q", got.Status, got.Body)
			}
			late := newClient(t, f.addr)
			// Whoever sends all the same may see the connection closed before the answer.
			if got := late.ask(http.MethodPost, "/upload", large, "Expect", "100-continue"); got.Status != http.StatusTooManyRequests {
				t.Errorf("an upload without a session: %+v", got)
			}

			// A partner's page has this one in a frame; a bank leads its frame back. Nobody can wait there: what is to be seen is in bypassPaths.
			frame := []string{"Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe", "Sec-Fetch-Site", "cross-site", "Accept", "text/html"}
			for path, want := range map[string]int{"/embed/calendar": 200, "/payment/return?id=7": 200, "/payment/": 429, "/": 429} {
				if got := late.ask(http.MethodGet, path, "", frame...); got.Status != want {
					t.Errorf("%s in a frame: %+v", path, got)
				}
			}
			got := late.ask(http.MethodPost, "/api", "{}", "Origin", "https://www.shop.example", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors")
			if got.Status != http.StatusTooManyRequests || got.Header.Get("Access-Control-Allow-Origin") != "https://www.shop.example" {
				t.Errorf("a call from another origin: %+v", got)
			}

			if name != "nginx" { // Caddy answers for hosts that it knows, and to a shop behind queue-server its own address is the host
				return
			}
			_, answers = dial(t, f.addr, "GET /cart?item=7 HTTP/1.0\r\nAccept: text/html\r\n\r\n")
			res, err := http.ReadResponse(answers, nil)
			must(t, err)
			must(t, res.Body.Close())
			if to := res.Header.Get("Location"); !strings.HasPrefix(to, "/wait/SHOP?to=%2Fcart%3Fitem%3D7") {
				t.Errorf("without Host: %d to %q", res.StatusCode, to)
			}
			_, answers = dial(t, f.addr, "GET /wait/SHOP?to=/cart HTTP/1.0\r\nAccept: text/html\r\n\r\n")
			if status := readHeader(t, answers); status >= http.StatusBadRequest {
				t.Errorf("the page without Host: %d", status)
			}
			_, answers = dial(t, f.addr, "GET /cart HTTP/1.0\r\nCookie: "+held+"\r\n\r\n")
			if text, err := io.ReadAll(answers); err != nil || !strings.HasSuffix(string(text), "the shop at shop.example: GET /cart 0") {
				t.Errorf("the shop without Host: %q, %v", text, err)
			}
		})
	}
}

// dial sends a request as it is written.
func dial(t *testing.T, addr, request string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	must(t, c.SetDeadline(time.Now().Add(time.Minute)))
	_, err = io.WriteString(c, request)
	must(t, err)
	return c, bufio.NewReader(c)
}

// readHeader reads the header of an answer, and returns its status.
func readHeader(t *testing.T, r *bufio.Reader) (status int) {
	t.Helper()
	for first := true; ; first = false {
		line, err := r.ReadString('\n')
		must(t, err)
		if first {
			if _, err := fmt.Sscanf(line, "HTTP/1.1 %d", &status); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
		}
		if strings.TrimSpace(line) == "" {
			return status
		}
	}
}

// TestFaults: whatever the gate answers, a visitor is told what it is: overload, a request that cannot be answered, or a gate that
// is away.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name := range gateways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var status, asked atomic.Int64
			hung := make(chan struct{})
			gate := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				answer := int(status.Load())
				if answer == 0 {
					<-hung
					return
				}
				w.WriteHeader(answer)
			}))
			t.Cleanup(gate.Close)
			t.Cleanup(func() { close(hung) })
			shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "the shop") }))
			t.Cleanup(shop.Close)
			others := shopAt(name, shop.Listener.Addr().String())
			if at := gate.Listener.Addr().String(); name == "Caddy" {
				others["to 127.0.0.1:8083"] = "to " + at
			} else {
				others["server 127.0.0.1:8083;"] = "server " + at + ";"
			}
			addr := gateways[name].starts(room.Start(t, nil), t, "SHOP", "hold", others, "")
			const overload = "Very many people"
			for answer, want := range map[int]struct {
				status  int
				text    string
				refresh bool
			}{
				200: {200, "the shop", false},
				0:   {503, overload, true},
				400: {400, "", false},
				413: {400, "", false},
				431: {431, "", false},
				500: {503, "The site does not answer", true},
				503: {503, overload, true},
			} {
				if name == "Caddy" && answer != 0 { // it hands on what the gate says
					if want.status, want.refresh = answer, false; answer != 200 {
						want.text = ""
					}
				}
				status.Store(int64(answer))
				got := newClient(t, addr).open("/")
				if got.Status != want.status || !strings.Contains(got.Body, want.text) || want.text == "" && strings.Contains(got.Body, overload) || (got.Header.Get("Refresh") != "") != want.refresh {
					t.Errorf("the gate says %d: %d %q %v", answer, got.Status, got.Body, got.Header)
				}
			}
			if n := asked.Load(); n != 7 {
				t.Errorf("the gate was asked %d times", n)
			}
		})
	}
}
