package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/process"
	"github.com/openqueue/waitingroom/internal/zone"
)

// gateways are those whose examples run here; users copy them.
var gateways = map[string]struct {
	starts func(t *testing.T, gate, room, shop string) (url string)
	// withoutServer is what visitors get while queue-server is away.
	withoutServer int
}{
	"nginx": {func(t *testing.T, gate, room, shop string) string {
		t.Helper()
		_, url := startNginx(t, "../../deploy/site/nginx.conf", process.Others{
			"server 127.0.0.1:8083;": "server " + gate + ";", "server 127.0.0.1:8080;": "server " + room + ";",
			"server 127.0.0.1:8000;": "server " + shop + ";",
		})
		return url
	}, http.StatusOK},
	"Caddy": {func(t *testing.T, gate, room, shop string) string {
		t.Helper()
		g, err := process.NewCaddy(t.Context(), caddy(t), t.TempDir(), "../../deploy/site/Caddyfile", process.Others{
			"reverse_proxy 127.0.0.1:8083 ": "reverse_proxy " + gate + " ", "reverse_proxy 127.0.0.1:8080": "reverse_proxy " + room,
			"reverse_proxy 127.0.0.1:8000": "reverse_proxy " + shop,
		})
		_, url := startFront(t, g, err)
		return url
	}, http.StatusBadGateway},
}

// caddy is the program that the Makefile pins, built on first use.
func caddy(t *testing.T) string {
	t.Helper()
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	pin := regexp.MustCompile(`(?m)^CADDY +:= (\S+)$`).FindSubmatch(makefile)
	if pin == nil {
		t.Fatal("the Makefile pins no Caddy")
	}
	tool := exec.CommandContext(t.Context(), "../../scripts/go-tool.sh", string(pin[1]))
	tool.Stderr = os.Stderr
	path, err := tool.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(path))
}

// shopfront is a small shop, with a gateway and the gate before it.
type shopfront struct {
	engine *engine
	server *server
	url    string
	asked  atomic.Int64 // how many requests reached the shop
	passes atomic.Int64 // of these, those that had a pass in the URL
}

func startShopfront(t *testing.T, gateway string) *shopfront {
	t.Helper()
	f := &shopfront{engine: startEngine(t)}
	f.server = startServer(t, serverOptions{redisURL: f.engine.url(), more: []string{"--trusted-proxies", "127.0.0.1"}})
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.asked.Add(1)
		if strings.Contains(r.URL.RawQuery, "waiting_room_pass") {
			f.passes.Add(1)
		}
		switch r.URL.Path {
		case "/login":
			w.WriteHeader(http.StatusUnauthorized)
		case "/staff":
			w.WriteHeader(http.StatusForbidden)
		}
		_, _ = fmt.Fprintf(w, "the shop: %s %s", r.Method, r.URL)
	}))
	t.Cleanup(shop.Close)
	f.url = gateways[gateway].starts(t, strings.TrimPrefix(f.server.site, "http://"), strings.TrimPrefix(f.server.public, "http://"),
		shop.Listener.Addr().String())
	return f
}

// surfer is a browser that keeps cookies, and is led only where the test says.
type surfer struct {
	t      *testing.T
	url    string
	client *http.Client
}

func (f *shopfront) visitor(t *testing.T) *surfer {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &surfer{t, f.url, &http.Client{
		Timeout: requestTimeout, Jar: jar, Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// ask sends a request for an address, or a path of the site. header is name, value, name, value.
func (v *surfer) ask(method, to string, header ...string) said {
	v.t.Helper()
	base, err := url.Parse(v.url)
	if err != nil {
		v.t.Fatal(err)
	}
	at, err := base.Parse(to)
	if err != nil {
		v.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(v.t.Context(), method, at.String(), http.NoBody)
	if err != nil {
		v.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := v.client.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil {
		v.t.Fatal(err)
	}
	if to := res.Header.Get("Location"); to != "" { // as the browser sees it
		led, err := at.Parse(to)
		if err != nil {
			v.t.Fatal(err)
		}
		res.Header.Set("Location", led.String())
	}
	return said{res.StatusCode, res.Header, string(body)}
}

// open is a browser that opens a page.
func (v *surfer) open(to string) said {
	v.t.Helper()
	return v.ask(http.MethodGet, to, "Sec-Fetch-Mode", "navigate", "Accept", "text/html")
}

// led wants the answer to lead on, and returns where.
func (v *surfer) led(a said, status int) string {
	v.t.Helper()
	to := a.header.Get("Location")
	if a.status != status || to == "" {
		v.t.Fatalf("%d to %q: %s; want %d", a.status, to, a.body, status)
	}
	return to
}

// TestSite is a shop behind each gateway that runs here.
func TestSite(t *testing.T) {
	t.Parallel()
	for name := range gateways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			visitShop(t, name)
		})
	}
}

func visitShop(t *testing.T, gateway string) {
	t.Helper()
	f := startShopfront(t, gateway)
	for _, id := range []string{"SHOP", "OTHER"} {
		z := zone.Defaults(id)
		z.BypassPaths = []string{"/assets/*"}
		f.server.put(t, z)
	}
	const link = "/cart?item=7&name=a%20b+c"

	// A normal day: one round trip, no page, and a cookie.
	inside := f.visitor(t)
	first := inside.open(link)
	if first.status != http.StatusOK || first.body != "the shop: GET "+link || len(first.header.Values("Set-Cookie")) != 1 || f.asked.Load() != 1 {
		t.Fatalf("a normal day: %+v, %d requests", first, f.asked.Load())
	}
	if kept := first.header.Get("Cache-Control"); kept != "private, no-store" {
		t.Errorf("caches may keep a page with a session: %q", kept)
	}
	for path, want := range map[string]int{"/": 200, "/login": 401, "/staff": 403} {
		if got := inside.ask(http.MethodPost, path); got.status != want || got.body != "the shop: POST "+path || got.header.Get("Set-Cookie")+got.header.Get("Cache-Control") != "" {
			t.Errorf("inside: %s: %+v", path, got)
		}
	}

	// A line: to the page, with the place that the gate took, and back with the link as it was.
	f.server.hold(t, "SHOP")
	waits := f.visitor(t)
	page := waits.led(waits.open(link), http.StatusFound)
	if !strings.HasPrefix(page, f.url+"/wait/SHOP?to=") || !strings.Contains(page, "&token=") {
		t.Fatalf("led to %s", page)
	}
	page = waits.led(waits.open(page), http.StatusSeeOther)
	for range 2 {
		if got := waits.open(page); got.status != http.StatusOK || !strings.Contains(got.body, "<dd id=\"place\">1</dd>") {
			t.Fatalf("the page: %d %s", got.status, got.body)
		}
	}
	late := f.visitor(t)
	if got := late.ask(http.MethodPost, "/api"); got.status != http.StatusTooManyRequests ||
		got.header.Get("Content-Type") != "application/problem+json" || !strings.Contains(got.body, `"code":"admission_required"`) {
		t.Errorf("an API without a session: %+v", got)
	}
	if got := late.ask(http.MethodGet, "/assets/a.css"); got.status != http.StatusOK {
		t.Errorf("an asset: %+v", got)
	}
	if got := late.ask(http.MethodGet, "/", "X-Forwarded-Uri", "/assets/a.css", "X-Original-URI", "/assets/a.css"); got.status != http.StatusTooManyRequests {
		t.Errorf("with invented headers: %+v", got)
	}
	f.server.operate(t, http.MethodPatch, "SHOP", `{"perMinute":6000}`, http.StatusOK)
	var withPass string
	await(t, settleTimeout, "it is the visitor's turn", func() bool {
		got := waits.open(page)
		withPass = got.header.Get("Location")
		return got.status == http.StatusSeeOther
	})
	if !strings.HasPrefix(withPass, f.url+link+"&waiting_room_pass=") {
		t.Fatalf("led to %s", withPass)
	}
	if clean := waits.led(waits.open(withPass), http.StatusFound); clean != f.url+link {
		t.Errorf("led to %s", clean)
	}
	if got := waits.open(link); got.body != "the shop: GET "+link {
		t.Errorf("in the shop: %+v", got)
	}
	// The back button, with the session.
	if clean := waits.led(waits.open(withPass), http.StatusFound); clean != f.url+link {
		t.Errorf("back: led to %s", clean)
	}

	// The link with the pass, in another browser: a place of its own.
	copies := f.visitor(t)
	got := copies.led(copies.ask(http.MethodGet, withPass, "Sec-Fetch-Mode", "navigate", "User-Agent", "another"), http.StatusFound)
	if !strings.HasPrefix(got, f.url+"/wait/SHOP?to=") || !strings.HasSuffix(got, "&again=1") {
		t.Errorf("a pass used twice: led to %s", got)
	}

	// An app joins by itself, and shows its pass in a header; another zone's is none.
	app := f.visitor(t)
	for _, tt := range []struct {
		zone string
		want int
	}{{"SHOP", http.StatusOK}, {"OTHER", http.StatusTooManyRequests}} {
		shown := f.join(t, tt.zone)
		got := app.ask(http.MethodPost, "/api", "X-Waiting-Room-Pass", shown)
		if session := got.header.Get("X-Waiting-Room-Session"); got.status != tt.want || (session != "") != (tt.want == http.StatusOK) {
			t.Errorf("a pass of %s: %+v", tt.zone, got)
		} else if kept := strings.Join(got.header.Values("Cache-Control"), ", "); session != "" && kept != "private, no-store" {
			t.Errorf("caches may keep what hands a session to an app: %q", kept)
		}
	}
	if n := f.passes.Load(); n != 0 {
		t.Errorf("the shop saw %d passes", n)
	}

	// Without Redis those inside notice nothing; others see the page, which says so.
	f.engine.Kill()
	if got := inside.open("/checkout"); got.body != "the shop: GET /checkout" {
		t.Errorf("inside, without Redis: %+v", got)
	}
	newcomer := f.visitor(t)
	page = newcomer.led(newcomer.open("/"), http.StatusFound)
	if got := newcomer.open(page); got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, "<h1") {
		t.Errorf("the page without Redis: %d %s", got.status, got.body)
	}

	f.server.stop(t)
	if got := newcomer.open("/"); got.status != gateways[gateway].withoutServer || (got.body == "the shop: GET /") != (got.status == http.StatusOK) {
		t.Errorf("without queue-server: %+v", got)
	}
}

// TestSlowGate has queue-server hang, as one does that is flooded: nginx lets nobody go on for it,
// and has browsers come again.
func TestSlowGate(t *testing.T) {
	t.Parallel()
	f := startShopfront(t, "nginx")
	z := zone.Defaults("SHOP")
	z.PerMinute = 0
	f.server.put(t, z)
	f.server.Signal(syscall.SIGSTOP)
	t.Cleanup(func() { f.server.Signal(syscall.SIGCONT) })
	await(t, startTimeout, "queue-server hangs", func() bool { // on a busy machine not at once
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _, err := f.server.get(ctx, f.server.public+"/healthz")
		return err != nil
	})
	if got := f.visitor(t).open("/"); got.status != http.StatusServiceUnavailable || got.header.Get("Refresh") != "3" || f.asked.Load() != 0 {
		t.Errorf("%+v, and %d requests reached the shop", got, f.asked.Load())
	}
	if got := f.visitor(t).ask(http.MethodPost, "/pay", "Sec-Fetch-Mode", "navigate"); got.status != http.StatusServiceUnavailable || got.header.Get("Refresh") != "" {
		t.Errorf("a form is sent again, as something else: %+v", got)
	}
}

// join joins through the API, where there is room, and returns the pass.
func (f *shopfront) join(t *testing.T, zoneID string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.server.public+"/traffic/wait", strings.NewReader(`{"zoneId":"`+zoneID+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	status, text, err := f.server.do(req)
	var a struct {
		Admission struct {
			Pass string `json:"pass"`
		} `json:"admission"`
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &a)
	}
	if err != nil || status != http.StatusOK || a.Admission.Pass == "" {
		t.Fatalf("%d %s %v", status, text, err)
	}
	return a.Admission.Pass
}
