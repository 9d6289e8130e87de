package browser

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/openqueue/waitingroom/e2e/room"
)

// ownPage is a shop's page with the element, in German, that remembers its events and what its policy refuses.
const ownPage = `<!doctype html><html lang="de"><title>Shop</title><link rel="icon" href="data:,"><script src="/note.js"></script>
<script type="module" src="/js/element.js"></script>
<main><h1>Shop</h1><waiting-room zone="LINE" to="/checkout?a=1" texts='{"waiting":"Sie stehen an","paused":"Es ruht","place":"Ihr Platz"}'>
<p slot="paused">Gleich geht es weiter.</p><p slot="footer">Hilfe</p></waiting-room></main></html>`

const noteScript = `window.heard = []; window.refused = [];
for (const name of ['placed', 'moved', 'turn', 'gone']) addEventListener(name, (e) => heard.push(name + ' ' + (e.detail.position ?? e.detail.code ?? typeof e.detail.pass)));
addEventListener('securitypolicyviolation', (e) => refused.push(e.violatedDirective));`

// ownShop starts a shop on the room's own origin, with a page, files of its own and a strict policy, and returns its address.
func ownShop(t *testing.T, s *room.Server, page string, files map[string]string) (shop string) {
	t.Helper()
	return ownShopWith(t, s, page, files, "'self'")
}

// ownShopWith takes styles from there.
func ownShopWith(t *testing.T, s *room.Server, page string, files map[string]string, styles string) (shop string) {
	t.Helper()
	to, err := url.Parse(s.Public)
	must(t, err)
	mux := http.NewServeMux()
	mux.Handle("/traffic/", &httputil.ReverseProxy{Transport: room.Transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host }})
	mux.Handle("/js/", http.StripPrefix("/js/", http.FileServer(http.Dir("../../clients/js"))))
	script := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = fmt.Fprint(w, text)
		}
	}
	mux.HandleFunc("/note.js", script(noteScript))
	for name, text := range files {
		mux.HandleFunc(name, script(text))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src "+styles+"; connect-src 'self'; img-src data:")
		if r.URL.Path == "/checkout" {
			_, _ = fmt.Fprint(w, "<!doctype html><title>In</title><h1>In</h1>")
			return
		}
		_, _ = fmt.Fprint(w, page)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// TestElement has the custom element wait in a shop's own page with a strict policy: with the shop's texts and slots, up to the turn,
// and given up by keyboard. Together with the client it is small.
func TestElement(t *testing.T) {
	t.Parallel()
	var small bytes.Buffer
	z := gzip.NewWriter(&small)
	for _, file := range []string{"index.js", "element.js"} {
		_, err := z.Write([]byte(room.Read(t, "../../clients/js/"+file)))
		must(t, err)
	}
	must(t, z.Close())
	if small.Len() > 10_240 {
		t.Errorf("%d bytes compressed", small.Len())
	}

	s := room.Start(t, map[string]string{"QUEUE_CONFIG": room.Config(t, "zones:\n  - {zoneId: LINE, perMinute: 0, windowSeconds: 1}\n")})
	shop := ownShop(t, s, ownPage, nil)

	b := openBrowser(t)
	b.start(t, shop+"/")
	const of = `document.querySelector("waiting-room").shadowRoot.querySelector("[part~=%s]")`
	shows := func(part, text string) {
		t.Helper()
		b.until(t, part+" "+text, fmt.Sprintf(of+`.textContent === %q`, part, text))
	}
	shows("heading", "Es ruht")
	shows("place", "1")
	shows("label", "Ihr Platz")
	if got := value[string](t, b, `(() => { const room = document.querySelector("waiting-room"); return [room.getAttribute("state"), room.shadowRoot.querySelector("[part=state]").assignedElements()[0]?.textContent,
		heard.join("|"), refused.join("|"), /^Reference: [0-9A-Z]{14}$/.test(room.shadowRoot.querySelector("[part=reference]").textContent)].join("; "); })()`); got != "paused; Gleich geht es weiter.; placed 1; ; true" {
		t.Errorf("while it is paused: %s", got)
	}
	b.check(t, "the element")

	s.Operate(t, http.MethodPatch, "/admin/zones/LINE", `{"message":"Um zwölf."}`)
	shows("message", "Um zwölf.")
	b.do(t, "leave", chromedp.Evaluate[chromedp.Void](fmt.Sprintf(of+`.focus()`, "leave")), chromedp.KeyEvent("\r"))
	shows("heading", "You have left the line")
	if got := value[string](t, b, `document.querySelector("waiting-room").shadowRoot.activeElement?.part.value + " " + heard.at(-1)`); got != "heading gone left" {
		t.Errorf("afterwards: %s", got)
	}
	b.do(t, "again", chromedp.Evaluate[chromedp.Void](fmt.Sprintf(of+`.click()`, "again")))
	shows("place", "1")

	s.Operate(t, http.MethodPatch, "/admin/zones/LINE", `{"perMinute":6000}`)
	b.until(t, "the checkout", `document.title === "In"`)
	if at := value[string](t, b, `location.pathname + location.search`); !strings.HasPrefix(at, "/checkout?a=1&waiting_room_pass=ey") {
		t.Errorf("led to %s", at)
	}
	s.Operate(t, http.MethodPatch, "/admin/zones/LINE", `{"mode":"closed","perMinute":0}`)
	b.do(t, "a newcomer", chromedp.Evaluate[chromedp.Void](`localStorage.clear()`), chromedp.Navigate(shop+"/"))
	shows("heading", "The line is closed")
	b.until(t, "gone", `heard.join() === "gone zone_closed"`)
	if got := value[string](t, b, `refused.join()`); got != "" {
		t.Errorf("the policy refuses %s", got)
	}
	if complaints := b.errors(); len(complaints) > 1 { // the 423
		t.Errorf("the browser complains: %q", complaints)
	}
}
