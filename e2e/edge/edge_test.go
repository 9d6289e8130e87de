package edge

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/check/process"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	folder = "../../clients/edge/"
	// key signs the sessions of the edge.
	key = "f3b5c1d2e4a697887766554433221100"
)

// config is a Worker as wrangler deploys it, with what Cloudflare has around it: the room's name leads to the room, and the site's
// to a cache with the shop behind it.
const config = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "edge", worker = (
      modules = [
        (name = "worker.js", esModule = embed "worker.js"), (name = "@openqueue/edge", esModule = embed "index.js"),
        (name = "@openqueue/pass.js", esModule = embed "pass.js"), (name = "@openqueue/path.js", esModule = embed "path.js"),
        (name = "pages.js", esModule = embed "pages.js"),
      ],
      compatibilityDate = "2026-11-01",
      bindings = [
        (name = "ROOM", text = "http://queue.shop.example"), (name = "ZONE", text = "SHOP"), (name = "EDGE_KEY", text = "%[1]s"),
        (name = "ON_FAILURE", text = "%[2]s"),
      ],
      globalOutbound = "names")),
    (name = "names", worker = (
      modules = [(name = "names.js", esModule = "export default { fetch: (r, { ROOM, SITE }) => (new URL(r.url).hostname === 'queue.shop.example' ? ROOM : SITE).fetch(r) };")],
      compatibilityDate = "2026-11-01",
      bindings = [(name = "ROOM", service = "room"), (name = "SITE", service = "site")])),
    (name = "room", external = (address = "%[3]s", http = ())),
    (name = "site", external = (address = "%[4]s", http = ())),
  ],
  sockets = [(name = "http", address = "%[5]s", http = (), service = "edge")],
);
`

// cache stands for that of a CDN: it keeps what the shop allows, whoever asks, and adds no header.
const cache = `proxy_cache_path CACHE keys_zone=pages:1m;
server {
    listen 80;
    location / {
        proxy_pass http://SHOP;
        proxy_cache pages;
        proxy_cache_key $uri;
        proxy_set_header Host $host;
    }
}
`

// visit is a request that reached the shop.
type visit struct{ path, session string }

// shopfront is a shop behind a cache, behind the edge, with a room.
type shopfront struct {
	room  *room.Server
	edge  string // host:port
	cache string

	mu     sync.Mutex
	visits []visit
}

// startShopfront starts all of it, the room with a zone and further settings by their variables.
func startShopfront(t *testing.T, onFailure string, z zone.Settings, env map[string]string) *shopfront {
	t.Helper()
	f := &shopfront{room: startRoom(t, z, env)}
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.visits = append(f.visits, visit{r.URL.Path, sessionOf(r.Header.Get("Cookie"))})
		f.mu.Unlock()
		if strings.HasPrefix(r.URL.Path, "/cached") {
			w.Header().Set("Cache-Control", "public, max-age=600")
		}
		_, _ = fmt.Fprint(w, "the shop")
	}))
	t.Cleanup(shop.Close)
	f.cache = room.StartNginxOf(t, cache, room.Others{"CACHE": t.TempDir(), "SHOP": shop.Listener.Addr().String()}, "")
	f.edge = startEdge(t, f.room, onFailure, f.cache)
	return f
}

func startRoom(t *testing.T, z zone.Settings, env map[string]string) *room.Server {
	t.Helper()
	all := map[string]string{"QUEUE_TRUSTED_PROXIES": "127.0.0.1"}
	maps.Copy(all, env)
	r := room.Start(t, all)
	r.Put(t, z)
	return r
}

// startEdge starts workerd with the program that the README shows.
func startEdge(t *testing.T, r *room.Server, onFailure, site string) (addr string) {
	t.Helper()
	dir, addr := t.TempDir(), room.FreeAddr(t)
	files := map[string]string{"worker.js": shown(t, "export default {"), "config.capnp": fmt.Sprintf(config, key, onFailure, strings.TrimPrefix(r.Public, "http://"), site, addr)}
	files["pages.js"] = room.Read(t, filepath.Join(r.Export(t, "SHOP", "edge"), "pages.js"))
	for _, name := range []string{"index.js", "pass.js", "path.js"} {
		files[name] = room.Read(t, folder+name)
	}
	for name, text := range files {
		room.Write(t, filepath.Join(dir, name), text)
	}
	return room.StartListener(t, addr, &process.Process{Name: room.NPMTool(t, "WORKERD", "workerd"), Args: []string{"serve", "config.capnp"}, Dir: dir})
}

// shown returns the program of the README that has this line.
func shown(t *testing.T, line string) string {
	t.Helper()
	for _, part := range strings.Split(room.Read(t, folder+"README.md"), "```js\n")[1:] {
		code, _, _ := strings.Cut(part, "```")
		if strings.Contains(code, line) {
			return strings.ReplaceAll(code, "\n   ", "\n") // it stands in a list
		}
	}
	t.Fatalf("the README shows no program with %q", line)
	return ""
}

// sessionOf returns the edge's session in a header Cookie or Set-Cookie.
func sessionOf(cookies string) string {
	_, value, _ := strings.Cut(cookies, "waitingroom_session-SHOP=")
	value, _, _ = strings.Cut(value, ";")
	return value
}

// browser is a visitor's, who keeps cookies, and follows nothing by itself.
type browser struct {
	t       *testing.T
	client  *http.Client
	address string
	// late counts how often the room did not answer in 300 ms, as on a slow machine, and the browser came again.
	late int
}

// newBrowser returns one. All names lead to the edge, as DNS has it.
func newBrowser(t *testing.T, edge, address string) *browser {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, edge)
	}}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t: t, address: address, client: &http.Client{
		Transport: transport, Jar: jar, Timeout: room.Patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// open opens a page of the shop.
func (b *browser) open(uri string) room.Reply {
	b.t.Helper()
	return b.ask(http.MethodGet, uri, "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")
}

// ask sends a request, and again while the edge is told nothing in time.
func (b *browser) ask(method, uri string, header ...string) room.Reply {
	b.t.Helper()
	const most = 1000
	for {
		got := b.once(method, uri, header...)
		if got.Status != http.StatusServiceUnavailable || b.late == most {
			return got
		}
		b.late++
	}
}

// once sends a request once.
func (b *browser) once(method, uri string, header ...string) room.Reply {
	b.t.Helper()
	if strings.HasPrefix(uri, "/") {
		uri = "http://shop.example" + uri
	}
	// As Cloudflare tells the Worker. Visitors cannot write it there.
	r, err := room.Ask(b.t.Context(), b.client, method, uri, "", append(header, "CF-Connecting-IP", b.address)...)
	if err != nil {
		b.t.Error(err)
	}
	return r
}

// session returns the session that a browser has.
func (b *browser) session() string {
	for _, c := range b.client.Jar.Cookies(&url.URL{Scheme: "http", Host: "shop.example", Path: "/"}) {
		if c.Name == "waitingroom_session-SHOP" {
			return c.Value
		}
	}
	return ""
}

// led returns where an answer leads, as the browser would open it.
func led(t *testing.T, r room.Reply) *url.URL {
	t.Helper()
	to, err := url.Parse(r.Header.Get("Location"))
	if err != nil || r.Status != http.StatusFound {
		t.Errorf("led nowhere: %d %v %s", r.Status, r.Header, r.Body)
		return &url.URL{}
	}
	return to
}
