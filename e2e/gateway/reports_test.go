package gateway

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/zone"
)

// TestReports is what people have reported of gateways that ask about each request, tried behind each gateway. The
// comments name the reports.
func TestReports(t *testing.T) {
	t.Parallel()
	for name := range gateways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n := asked.Add(1)
				switch r.URL.Path {
				case "/film.mp4":
					w.Header().Set("ETag", `"7"`)
					http.ServeContent(w, r, "film.mp4", time.Time{}, strings.NewReader("0123456789"))
				case "/kept":
					w.Header().Set("Cache-Control", "max-age=600")
					_, _ = fmt.Fprint(w, n)
				default:
					body, _ := io.ReadAll(r.Body)
					_, _ = fmt.Fprintf(w, "%s %s %d %v", r.Method, r.URL, len(body), r.TransferEncoding)
				}
			}))
			t.Cleanup(shop.Close)
			others := shopAt(name, shop.Listener.Addr().String())
			if name == "nginx" {
				for was, is := range others {
					if was == "recursive_error_pages on;" {
						others[was] = is + " proxy_cache kept; proxy_cache_valid 200 10m;"
					}
				}
				others["upstream queue_room {"] = "proxy_cache_path " + t.TempDir() + " keys_zone=kept:1m;\nupstream queue_room {"
			}
			f := startShopfrontOf(t, name, others)
			f.server.Put(t, zone.Defaults("SHOP"))
			inside := newClient(t, f.addr)
			inside.open("/")

			// A cache of the gateway itself: each visitor has a session of its own, and those inside get none of another's.
			cookies := map[string]bool{}
			for range 3 {
				got := newClient(t, f.addr).open("/kept")
				cookies[got.Header.Get("Set-Cookie")] = true
				if got.Header.Get("Cache-Control") != "private, no-store" {
					t.Errorf("a kept page with a session: %+v", got)
				}
			}
			if got := inside.open("/kept"); len(cookies) != 3 || cookies[""] || got.Header.Get("Set-Cookie") != "" || got.Header.Get("Cache-Control") != "max-age=600" {
				t.Errorf("a kept page: %v, %+v", cookies, got)
			}

			// Safari asks for a film in ranges; a browser that has a page asks whether it has changed.
			for _, visitor := range []*client{inside, newClient(t, f.addr)} {
				if got := visitor.ask(http.MethodGet, "/film.mp4", "", "Range", "bytes=2-4", "Sec-Fetch-Site", "same-origin"); got.Status != http.StatusPartialContent || got.Body != "234" {
					t.Errorf("a range: %+v", got)
				}
			}
			if got := newClient(t, f.addr).ask(http.MethodGet, "/film.mp4", "", "If-None-Match", `"7"`, "Sec-Fetch-Mode", "navigate"); got.Status != http.StatusNotModified || got.Header.Get("Set-Cookie") == "" {
				t.Errorf("not modified: %+v", got)
			}

			// An upload whose length nobody says (nginx-openid-connect #100, with a length).
			held, _, _ := strings.Cut(newClient(t, f.addr).open("/").Header.Get("Set-Cookie"), ";")
			piece := fmt.Sprintf("%x\r\n%s\r\n", 2<<20, strings.Repeat("x", 2<<20))
			_, answers := dial(t, f.addr, "POST /upload HTTP/1.1\r\nHost: "+f.addr+"\r\nCookie: "+held+"\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"+piece+"0\r\n\r\n")
			if text, err := io.ReadAll(answers); err != nil || !strings.Contains(string(text), fmt.Sprint("POST /upload ", 2<<20)) {
				t.Errorf("an upload in chunks: %q, %v", text, err)
			}

			f.server.Operate(t, http.MethodPatch, "/admin/zones/SHOP", `{"perMinute":0}`)
			late := newClient(t, f.addr)
			// A preflight has no cookie; the call after it is refused.
			if got := late.ask(http.MethodOptions, "/api", "", "Origin", "https://a.example", "Access-Control-Request-Method", "POST"); got.Status != http.StatusOK || got.Body != "OPTIONS /api 0 []" {
				t.Errorf("a preflight: %+v", got)
			}
			// JSON by POST hangs where the question has its length (oauth2_proxy #514, authelia #132).
			for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
				if got := inside.ask(method, "/api", `{"a":1}`, "Content-Type", "application/json"); !strings.HasPrefix(got.Body, method+" /api 7") {
					t.Errorf("JSON: %+v", got)
				}
				if got := late.ask(method, "/api", `{"a":1}`, "Content-Type", "application/json"); got.Status != http.StatusTooManyRequests {
					t.Errorf("JSON without a session: %+v", got)
				}
			}
			// Many cookies of the site itself (authelia #3506, #2331).
			many := make([]string, 0, 10)
			for i := range 4 {
				many = append(many, fmt.Sprintf("a%d=%s", i, strings.Repeat("x", 1800)))
			}
			if got := late.ask(http.MethodGet, "/", "", "Cookie", strings.Join(many, "; "), "Sec-Fetch-Mode", "navigate"); got.Status != http.StatusFound {
				t.Errorf("7 KB of cookies: %d %s", got.Status, got.Body)
			}
			if got := late.ask(http.MethodGet, "/", "", "Cookie", "a="+strings.Repeat("x", 90_000), "Sec-Fetch-Mode", "navigate"); got.Status != 431 && got.Status != 400 {
				t.Errorf("90 KB of cookies: %d %.100s", got.Status, got.Body)
			}
			// Letters that differ in case do not lead past the room (a page of Cloudflare's says that they do there).
			for _, path := range []string{"/Sale", "/sale", "/SALE/", "/%73ale"} {
				if got := late.open(path); got.Status != http.StatusFound {
					t.Errorf("%s: %+v", path, got)
				}
			}
		})
	}
}
