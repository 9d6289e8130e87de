package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/check/process"
	"github.com/openqueue/waitingroom/internal/zone"
)

// gateways are those whose examples run here.
var gateways = map[string]struct {
	// starts begins one for the zone SHOP, with the shop in its example. away is what happens while no queue-server runs.
	starts func(s *room.Server, t testing.TB, zoneID, away string, shop room.Others, certificate string) (addr string)
	// away is what was chosen in TestSite, and withoutServer what visitors get then.
	away          string
	withoutServer int
}{
	"nginx": {(*room.Server).NginxSite, "enter", http.StatusOK},
	"Caddy": {(*room.Server).CaddySite, "hold", http.StatusServiceUnavailable},
}

// box is the gateway in queue-server itself.
const box = "queue-server"

// shopAt puts a shop that listens in the place of the example's. Uploads to it may be large, as operators say in nginx.
func shopAt(gateway, addr string) room.Others {
	switch gateway {
	case "Caddy":
		return room.Others{"reverse_proxy 127.0.0.1:8000": "reverse_proxy " + addr}
	case box:
		return room.Others{box: addr}
	}
	return room.Others{"server 127.0.0.1:8000;": "server " + addr + ";", "server_name shop.example;": "server_name shop.example; client_max_body_size 20m;"}
}

// shopfront is a small shop, with a gateway and the gate before it.
type shopfront struct {
	redis  *process.Redis
	server *room.Server
	addr   string
	asked  atomic.Int64 // how many requests reached the shop
	passes atomic.Int64 // of these, those that had a pass in the URL
}

// newShopfront starts the gate, with a Redis. more are further settings.
func newShopfront(t *testing.T, more map[string]string) *shopfront {
	t.Helper()
	f := &shopfront{redis: room.StartRedis(t)}
	env := map[string]string{
		"QUEUE_STORE": "redis", "QUEUE_REDIS_URL": f.redis.URL(), "QUEUE_TRUSTED_PROXIES": "127.0.0.1", "QUEUE_DOOR_LIMITS": "off",
	}
	maps.Copy(env, more)
	f.server = room.Start(t, env)
	return f
}

// startShopfrontOf starts a gateway with the shop in its example, and the gate.
func startShopfrontOf(t *testing.T, gateway string, shop room.Others) *shopfront {
	t.Helper()
	if gateway == box {
		addr := room.FreeAddr(t)
		f := newShopfront(t, map[string]string{
			"QUEUE_UPSTREAM": "http://" + shop[box], "QUEUE_ZONE": "SHOP", "QUEUE_SITES_ADDR": addr, "QUEUE_TRUSTED_PROXIES": "",
		})
		f.addr = addr
		return f
	}
	f := newShopfront(t, nil)
	f.addr = gateways[gateway].starts(f.server, t, "SHOP", gateways[gateway].away, shop, "")
	return f
}

func startShopfront(t *testing.T, gateway string) *shopfront {
	t.Helper()
	var f *shopfront
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
		case "/logout":
			w.Header().Set("Clear-Site-Data", map[string]string{"a": `"cache", "cookies"`, "b": `"*"`, "c": `"storage"`}[r.URL.RawQuery])
		case "/cached":
			for _, name := range cachingHeaders {
				w.Header().Set(name, "max-age=600")
			}
		}
		_, _ = fmt.Fprintf(w, "the shop: %s %s", r.Method, r.URL)
	}))
	t.Cleanup(shop.Close)
	f = startShopfrontOf(t, gateway, shopAt(gateway, shop.Listener.Addr().String()))
	return f
}

// cachingHeaders are those by which caches go.
var cachingHeaders = []string{"Cache-Control", "Expires", "CDN-Cache-Control", "Surrogate-Control"}

// caching is what an answer says to caches.
func caching(r room.Reply) string {
	var all []string
	for _, name := range cachingHeaders {
		all = append(all, strings.Join(r.Header.Values(name), ", "))
	}
	return strings.Join(all, "|")
}

// oddAgent opens a page as a browser whose User-Agent has a control character, and returns the status.
func oddAgent(t *testing.T, addr, path string) int {
	t.Helper()
	_, answers := dial(t, addr, fmt.Sprintf("GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: Mozilla/5.0 (\x01\x7f\xff)\r\nCookie: a=\x02\r\nSec-Fetch-Mode: navigate\r\nConnection: close\r\n\r\n", path, addr))
	return readHeader(t, answers)
}

// TestSite is a shop behind each gateway that runs here.
func TestSite(t *testing.T) {
	t.Parallel()
	for _, name := range append(slices.Collect(maps.Keys(gateways)), box) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			visitShop(t, name)
		})
	}
}

// observes has the gate observe for a while, in the pause: everybody goes on, and the command line says what to bypass.
func (f *shopfront) observes(t *testing.T) {
	t.Helper()
	f.server.Operate(t, http.MethodPatch, "/admin/zones/SHOP", `{"gate":"observe"}`)
	f.others(t, http.StatusOK, "")
	if got := newClient(t, f.addr).open("/checkout"); got.Body != "the shop: GET /checkout" {
		t.Errorf("observe: %+v", got)
	}
	_, said := room.Run(t, map[string]string{"QUEUE_ADMIN_URL": f.server.Operators, "QUEUE_ADMIN_TOKEN": room.OperatorToken}, "observe", "SHOP")
	for _, want := range []string{"ELB-HealthChecker", "The gate refuses nobody", "'bypassPaths=/assets/*,/orders'"} {
		if !strings.Contains(said, want) {
			t.Errorf("observe SHOP does not say %q: %s", want, said)
		}
	}
	f.server.Operate(t, http.MethodPatch, "/admin/zones/SHOP", `{"gate":"on"}`)
}

// others has those come who open no page. In a line they are told when to come again, and get no page.
func (f *shopfront) others(t *testing.T, status int, retry string) {
	t.Helper()
	const feed = "application/atom+xml, application/rss+xml, text/html;q=0.7, */*;q=0.1"
	const page = "text/html,application/xhtml+xml,*/*;q=0.8"
	for name, tt := range map[string][]string{
		"a feed reader":                 {http.MethodGet, "Accept", feed, "User-Agent", "FreshRSS/1.27.0 (Linux; https://freshrss.org)"},
		"a probe":                       {http.MethodGet, "User-Agent", "kube-probe/1.34"},
		"a monitor":                     {http.MethodHead, "User-Agent", "ELB-HealthChecker/2.0"},
		"curl":                          {http.MethodGet, "Accept", "*/*", "User-Agent", "curl/8.14.1"},
		"an app":                        {http.MethodPost, "Accept", "application/json", "User-Agent", "okhttp/4.12.0"},
		"an old browser's foreign form": {http.MethodPost, "Accept", page, "Origin", "https://idp.example"},
		"a frame of another site":       {http.MethodGet, "Accept", page, "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe", "Sec-Fetch-Site", "cross-site"},
	} {
		got := newClient(t, f.addr).ask(tt[0], "/orders", "", tt[1:]...)
		if got.Status != status || got.Header.Get("Retry-After") != retry || strings.Contains(got.Header.Get("Content-Type"), "html") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for _, path := range []string{"/feed/", "/sitemap_index.xml", "/events/summer.ics"} {
		if got := newClient(t, f.addr).ask(http.MethodGet, path, ""); got.Status != http.StatusOK {
			t.Errorf("%s: %+v", path, got)
		}
	}
}

func visitShop(t *testing.T, gateway string) {
	t.Helper()
	const partner = "https://www.partner.example"
	f := startShopfront(t, gateway)
	for _, id := range []string{"SHOP", "OTHER"} {
		z := zone.Defaults(id)
		z.BypassPaths, z.CORSOrigins = []string{"/assets/*"}, []string{partner}
		f.server.Put(t, z)
	}
	const link = "/cart?item=7&name=a%20b+c"

	// A normal day: one round trip, no page, and a cookie.
	inside := newClient(t, f.addr)
	first := inside.open(link)
	if first.Status != http.StatusOK || first.Body != "the shop: GET "+link || len(first.Header.Values("Set-Cookie")) != 1 || f.asked.Load() != 1 {
		t.Fatalf("a normal day: %+v, %d requests", first, f.asked.Load())
	}
	if says := first.Header.Get("Cache-Control"); says != "private, no-store" {
		t.Errorf("caches may keep a page with a session: %q", says)
	}
	const cached = "max-age=600|max-age=600|max-age=600|max-age=600"
	for query, want := range map[string]string{"a": `"cache", "storage"`, "b": `"cache", "storage"`, "c": `"storage"`} {
		if got := inside.open("/logout?" + query).Header.Get("Clear-Site-Data"); got != want {
			t.Errorf("a logout clears %s, want %s", got, want)
		}
	}
	if got := inside.open("/cached"); caching(got) != cached {
		t.Errorf("what the shop says to caches: %s", caching(got))
	}
	kept := map[string]string{"nginx": "private, no-store|||", "Caddy": "private, no-store|||", box: "private, no-store||no-store|no-store"}
	if got := newClient(t, f.addr).open("/cached"); caching(got) != kept[gateway] || got.Header.Get("Set-Cookie") == "" {
		t.Errorf("beside a session, to caches: %s", caching(got))
	}
	if got := newClient(t, f.addr).ask(http.MethodPost, "/api", "", "Sec-Fetch-Site", "same-origin", "Origin", "http://"+f.addr); got.Status != http.StatusOK || got.Header.Get("Set-Cookie") == "" {
		t.Errorf("a call of a page without a session: %+v", got)
	}
	for path, want := range map[string]int{"/": 200, "/login": 401, "/staff": 403} {
		if got := inside.ask(http.MethodPost, path, ""); got.Status != want || got.Body != "the shop: POST "+path || got.Header.Get("Set-Cookie")+got.Header.Get("Cache-Control") != "" {
			t.Errorf("inside: %s: %+v", path, got)
		}
	}

	// A line: to the page, which takes a place, and back with the link as it was.
	f.server.Operate(t, http.MethodPatch, "/admin/zones/SHOP", `{"perMinute":0}`)
	waits := newClient(t, f.addr)
	page := waits.led(waits.open(link), http.StatusFound)
	if !strings.HasPrefix(page, "http://"+f.addr+"/wait/SHOP?to=") || strings.Contains(page, "&") {
		t.Fatalf("led to %s", page)
	}
	page = waits.led(waits.open(page), http.StatusSeeOther)
	for range 2 {
		if got := waits.open(page); got.Status != http.StatusOK || !strings.Contains(got.Body, "<dd id=\"place\">1</dd>") {
			t.Fatalf("the page: %d %s", got.Status, got.Body)
		}
	}
	late := newClient(t, f.addr)
	if got := late.ask(http.MethodPost, "/api", ""); got.Status != http.StatusTooManyRequests ||
		got.Header.Get("Content-Type") != "application/problem+json" || !strings.Contains(got.Body, `"code":"admission_required"`) {
		t.Errorf("an API without a session: %+v", got)
	}
	if got := late.ask(http.MethodPost, "/api", "", "Origin", partner); got.Status != http.StatusTooManyRequests ||
		got.Header.Get("Access-Control-Allow-Origin") != partner || got.Header.Get("Access-Control-Allow-Credentials") != "true" {
		t.Errorf("an API for the page of another origin: %+v", got)
	}
	if got := late.ask(http.MethodGet, "/", "", "User-Agent", "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)"); got.Status != http.StatusServiceUnavailable ||
		got.Header.Get("Retry-After") != "600" || !strings.Contains(got.Body, `"status":503`) {
		t.Errorf("a crawler: %+v", got)
	}
	if gateway != "Caddy" { // which refuses such a request itself, as net/http does
		if got := oddAgent(t, f.addr, "/"); got != http.StatusFound {
			t.Errorf("an odd User-Agent in a line: %d", got)
		}
		if got := oddAgent(t, f.addr, "/wait/SHOP?to=/"); got != http.StatusSeeOther {
			t.Errorf("an odd User-Agent at the page: %d", got)
		}
	}
	if got := late.ask(http.MethodGet, "/assets/a.css", ""); got.Status != http.StatusOK {
		t.Errorf("an asset: %+v", got)
	}
	if got := late.ask(http.MethodGet, "/", "", "X-Forwarded-Uri", "/assets/a.css", "X-Original-URI", "/assets/a.css"); got.Status != http.StatusTooManyRequests {
		t.Errorf("with invented headers: %+v", got)
	}
	f.others(t, http.StatusTooManyRequests, "60")
	f.observes(t)
	f.server.Operate(t, http.MethodPatch, "/admin/zones/SHOP", `{"perMinute":6000}`)
	var withPass string
	room.Await(t, "it is the visitor's turn", func() bool {
		got := waits.open(page)
		withPass = got.Header.Get("Location")
		return got.Status == http.StatusSeeOther
	})
	if !strings.HasPrefix(withPass, "http://"+f.addr+link+"&waiting_room_pass=") {
		t.Fatalf("led to %s", withPass)
	}
	if clean := waits.led(waits.open(withPass), http.StatusFound); clean != "http://"+f.addr+link {
		t.Errorf("led to %s", clean)
	}
	if got := waits.open(link); got.Body != "the shop: GET "+link {
		t.Errorf("in the shop: %+v", got)
	}
	// The back button, with the session.
	if clean := waits.led(waits.open(withPass), http.StatusFound); clean != "http://"+f.addr+link {
		t.Errorf("back: led to %s", clean)
	}

	// The link with the pass, in another browser: a place of its own.
	copies := newClient(t, f.addr)
	got := copies.led(copies.ask(http.MethodGet, withPass, "", "Sec-Fetch-Mode", "navigate", "User-Agent", "another"), http.StatusFound)
	if !strings.HasPrefix(got, "http://"+f.addr+"/wait/SHOP?to=") || !strings.HasSuffix(got, "&again=1") {
		t.Errorf("a pass used twice: led to %s", got)
	}

	// The gate knows for up to a second that there was a line.
	room.Await(t, "a newcomer need not line up", func() bool {
		return newClient(t, f.addr).ask(http.MethodGet, "/orders", "", "User-Agent", "the first").Status == http.StatusOK
	})
	f.others(t, http.StatusOK, "")

	// An app joins by itself, and shows its pass in a header; another zone's is none.
	app := newClient(t, f.addr)
	for zoneID, good := range map[string]bool{"SHOP": true, "OTHER": false} {
		shown := f.join(t, zoneID)
		got := app.ask(http.MethodPost, "/api", "", "X-Waiting-Room-Pass", shown, "Origin", partner)
		session := got.Header.Get("X-Waiting-Room-Session")
		if exposed := got.Header.Get("Access-Control-Expose-Headers"); good && exposed != "X-Waiting-Room-Session" {
			t.Errorf("the page of another origin can read %q", exposed)
		}
		if (session != "") != good {
			t.Errorf("a pass of %s: %+v", zoneID, got)
		} else if kept := strings.Join(got.Header.Values("Cache-Control"), ", "); session != "" && kept != "private, no-store" {
			t.Errorf("caches may keep what hands a session to an app: %q", kept)
		}
	}
	if n := f.passes.Load(); n != 0 {
		t.Errorf("the shop saw %d passes", n)
	}

	// Without Redis those inside notice nothing; others see the page, which says so.
	f.redis.Kill()
	if got := inside.open("/checkout"); got.Body != "the shop: GET /checkout" {
		t.Errorf("inside, without Redis: %+v", got)
	}
	newcomer := newClient(t, f.addr)
	page = newcomer.led(newcomer.open("/"), http.StatusFound)
	page = newcomer.led(newcomer.open(page), http.StatusSeeOther)
	if got := newcomer.open(page); got.Status != http.StatusServiceUnavailable || !strings.Contains(got.Body, "<h1") {
		t.Errorf("the page without Redis: %d %s", got.Status, got.Body)
	}

	f.server.Stop(t)
	if gateway == box {
		return
	}
	if got := newcomer.open("/"); got.Status != gateways[gateway].withoutServer || (got.Body == "the shop: GET /") != (got.Status == http.StatusOK) {
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
	f.server.Put(t, z)
	f.server.Signal(syscall.SIGSTOP)
	t.Cleanup(func() { f.server.Signal(syscall.SIGCONT) })
	room.Await(t, "queue-server hangs", func() bool { // on a busy machine not at once
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := room.Ask(ctx, nil, http.MethodGet, f.server.Public+"/healthz", "")
		return err != nil
	})
	if got := newClient(t, f.addr).open("/"); got.Status != http.StatusServiceUnavailable || !soon.MatchString(got.Header.Get("Refresh")) || !strings.Contains(got.Body, "<h1 id=\"heading\" tabindex=\"-1\">Very many people are here</h1>") || f.asked.Load() != 0 {
		t.Errorf("%+v, and %d requests reached the shop", got, f.asked.Load())
	}
	if got := newClient(t, f.addr).ask(http.MethodPost, "/pay", "", "Sec-Fetch-Mode", "navigate", "Accept", "text/html"); got.Status != http.StatusServiceUnavailable || got.Header.Get("Refresh") != "" || !strings.Contains(got.Body, "Nothing was sent") {
		t.Errorf("a form is sent again, as something else: %+v", got)
	}
}

// join joins through the API, where there is room, and returns the pass.
func (f *shopfront) join(t *testing.T, zoneID string) string {
	t.Helper()
	var told room.Answer
	r := room.Request(t, http.MethodPost, f.server.Public+"/traffic/wait", `{"zoneId":"`+zoneID+`"}`)
	if err := json.Unmarshal([]byte(r.Body), &told); err != nil || told.Admission.Pass == "" {
		t.Fatalf("%+v, %v", r, err)
	}
	return told.Admission.Pass
}
