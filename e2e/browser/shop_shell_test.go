package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/openqueue/waitingroom/e2e/room"
)

// shellPage is a page that is the same at every address. Its heading is what its call of the site gets, one by fetch and one by
// XMLHttpRequest.
const shellPage = `<!doctype html><title>Shell</title><link rel="icon" href="data:,"><h1></h1><script nonce="n1" src="/traffic/site.js" data-call="/api/me"></script><script nonce="n1">
	const old = new XMLHttpRequest();
	old.open("POST", "/api/old");
	old.onload = () => fetch("/api/items", { method: "POST" }).then((r) => r.text()).then((text) => {
		document.querySelector("h1").textContent = old.status + " " + text;
	});
	old.send();
</script>`

// inShell is the heading of a page whose calls reach the site.
const inShell = "200 POST /api/items"

// worker is a service worker that answers for every page with the shell, and for nothing else.
const worker = `importScripts("/traffic/site.js");
	self.addEventListener("install", () => self.skipWaiting());
	self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
	self.addEventListener("fetch", (event) => {
		if (event.request.mode === "navigate") event.respondWith(fetch("/shell/"));
	});`

// shell serves what no gateway asks about: the shell, as a CDN would, the worker, and a page that brings it.
func shell(w http.ResponseWriter, r *http.Request) bool {
	var text string
	kind := "text/html"
	switch {
	case r.URL.Path == "/shell/worker.js":
		text, kind = worker, "text/javascript"
		w.Header().Set("Service-Worker-Allowed", "/")
	case r.URL.Path == "/shell/module.js":
		text, kind = strings.Replace(worker, `importScripts("/traffic/site.js")`, `import "/traffic/site.js"`, 1), "text/javascript"
		w.Header().Set("Service-Worker-Allowed", "/")
	case r.URL.Path == "/shell/bring":
		text = `<!doctype html><h1></h1><script>const module = location.search === "?module";
			navigator.serviceWorker.register(module ? "/shell/module.js" : "/shell/worker.js", { scope: "/", type: module ? "module" : "classic" });
			navigator.serviceWorker.oncontrollerchange = () => document.querySelector("h1").textContent = "it is there";</script>`
	case strings.HasPrefix(r.URL.Path, "/shell/"):
		text = shellPage
		w.Header().Set("Content-Security-Policy", "script-src 'nonce-n1'; object-src 'none'; base-uri 'none'")
	default:
		return false
	}
	w.Header().Set("Content-Type", kind)
	_, _ = fmt.Fprint(w, text)
	return true
}

// beforeShell starts an nginx that does not ask about /shell/, without TLS: Chromium takes no worker with a made-up certificate.
func (s *shop) beforeShell(t *testing.T, zoneID string) (url string) {
	t.Helper()
	return "http://" + s.NginxSite(t, zoneID, "enter", room.Others{
		"server 127.0.0.1:8000;":       "server " + s.backend + ";",
		"    location @shop_streams {": "    location /shell/ { auth_request off; proxy_pass http://shop; }\n    location @shop_streams {",
	}, "")
}

// pagesOfACDN: a page that no gateway saw is led to the waiting page when its call is refused, and back. Its pass becomes a session
// that scripts do not see, for one admission.
func (s *shop) pagesOfACDN(t *testing.T, b *browser) {
	t.Helper()
	const link = "/shell/list?item=7&n=a%20b#reviews"
	c := s.customer(t, b, s.beforeShell(t, "CDN"))
	c.opens(link)
	c.sees("The line is paused")
	s.set(t, "CDN", `{"perMinute":6000}`)
	c.sees(inShell)
	if held := c.cookie("waitingroom_session-CDN"); c.at() != link || !held.HTTPOnly || held.SameSite != network.CookieSameSiteLax {
		t.Errorf("at %s with %+v", c.at(), held)
	}
	s.set(t, "CDN", `{"perMinute":0}`)
	c.opens("/shell/other")
	c.sees(inShell)
	s.has(t, "CDN", 1, 0)
}

// serviceWorker: as pagesOfACDN, where a worker answers for all pages of the site.
func (s *shop) serviceWorker(t *testing.T, b *browser) {
	t.Helper()
	s.worker(t, b, "WORKER", "/shell/bring")
}

// moduleWorker: the same, where the worker is a module, which has no importScripts.
func (s *shop) moduleWorker(t *testing.T, b *browser) {
	t.Helper()
	s.worker(t, b, "MODULE", "/shell/bring?module")
}

func (s *shop) worker(t *testing.T, b *browser, zoneID, bring string) {
	t.Helper()
	c := s.customer(t, b, s.beforeShell(t, zoneID))
	c.opens(bring)
	c.sees("it is there")
	c.opens("/list?item=7")
	c.sees("The line is paused")
	s.set(t, zoneID, `{"perMinute":6000}`)
	c.sees(inShell)
	if c.at() != "/list?item=7" {
		t.Errorf("at %s", c.at())
	}
	c.do(t, "again", chromedp.Reload())
	c.sees(inShell)
	s.has(t, zoneID, 1, 0)
}
