package browser

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/token"
)

// shop is a site behind Debian's nginx, by TLS, with the example of deploy/site, and the gate.
type shop struct {
	*room.Server
	t       *testing.T
	backend string // host:port
	keys    *token.Keys
	// certificate is nginx's, with its key.
	certificate string

	mu    sync.Mutex
	asked []string // what reached the site, as "POST /pay"
}

// shopZones are what the site's tests wait in, each behind an nginx of its own. Windows are of a
// second. Places, passes and sessions outlive any test, however busy the machine is.
var shopZones = func() string {
	all := "zones:\n"
	for zoneID, perMinute := range map[string]int{
		"QUIET": 6000, "LINK": 0, "PLAIN": 0, "TILL": 6000, "TABS": 0, "CDN": 0, "WORKER": 0, "MODULE": 0, "DEEP": 0, "BARE": 0, "HOSTS": 0,
	} {
		all += fmt.Sprintf("  - {zoneId: %s, perMinute: %d, windowSeconds: 1, idleTimeoutSeconds: 3600, passTtlSeconds: 3600, sessionSeconds: 7200, bypassPaths: [/assets/*]}\n",
			zoneID, perMinute)
	}
	return all + "  - {zoneId: GUESTS, perMinute: 6000, invitation: spring, cookieDomain: shop.example}\n"
}()

// apex is a host of the site that leads to another, www.shop.example.
const apex = "shop.example"

// shopSecret signs the sessions, and tests sign some of their own with it.
var shopSecret = bytes.Repeat([]byte("a shop's secret. "), 2)

// shopTickets signs tickets of invitations.
var shopTickets = ed25519.NewKeyFromSeed(shopSecret[:ed25519.SeedSize])

// ticket is an invitation of a name to GUESTS.
func ticket(name string) string {
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"EdDSA"}`)) + "." + base64.RawURLEncoding.EncodeToString(
		fmt.Appendf(nil, `{"aud":"GUESTS","event":"spring","sub":%q,"exp":%d}`, name, time.Now().Add(time.Hour).Unix()))
	return text + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(shopTickets, []byte(text)))
}

func openShop(t *testing.T) *shop {
	t.Helper()
	keys, err := token.NewKeys(shopSecret)
	must(t, err)
	s := &shop{t: t, keys: keys}
	dir := t.TempDir()
	site := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate, which is of 127.0.0.1
	certificate := site.TLS.Certificates[0]
	site.Close()
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	must(t, err)
	s.certificate = filepath.Join(dir, "site.pem")
	must(t, os.WriteFile(s.certificate, append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})...), 0o600))
	s.Server = room.Start(t, map[string]string{
		"QUEUE_CONFIG": room.Config(t, shopZones), "QUEUE_TRUSTED_PROXIES": "127.0.0.1", "QUEUE_DOOR_LIMITS": "off",
		"QUEUE_SECRET": base64.StdEncoding.EncodeToString(shopSecret), "QUEUE_TICKETS_JWKS": room.Config(t, fmt.Sprintf(
			`{"keys":[{"kty":"OKP","crv":"Ed25519","x":%q}]}`, base64.RawURLEncoding.EncodeToString(shopTickets[ed25519.SeedSize:]))),
	})
	backend := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(backend.Close)
	s.backend = backend.Listener.Addr().String()
	return s
}

// serve is the site itself: each of its pages has a link and a form.
func (s *shop) serve(w http.ResponseWriter, r *http.Request) {
	if shell(w, r) {
		return
	}
	what := r.Method + " " + r.URL.String()
	s.mu.Lock()
	s.asked = append(s.asked, what)
	from := r.Referer()
	if strings.HasPrefix(r.UserAgent(), "Go-") { // which tells where a redirect came from, as no browser does
		from = ""
	}
	if strings.Contains(what+from, "waiting_room_pass") || strings.Contains(from, "token=") {
		s.t.Errorf("the site saw %s, from %s", what, from)
	}
	s.mu.Unlock()
	if strings.HasPrefix(r.Host, apex) {
		http.Redirect(w, r, "https://www."+r.Host+r.URL.String(), http.StatusMovedPermanently)
		return
	}
	if strings.HasPrefix(r.URL.Path, "/api/") {
		_, _ = fmt.Fprint(w, what)
		return
	}
	w.Header().Set("Content-Type", "text/html")
	_, _ = fmt.Fprintf(w, `<!doctype html><title>Shop</title><link rel="icon" href="data:,"><h1>%s</h1>
		<a id="next" href="/checkout?step=2">On</a> <form method="post" action="/pay"><button id="pay">Pay</button></form>`, html.EscapeString(what))
}

// saw reports whether a request reached the site.
func (s *shop) saw(what string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.asked, what)
}

// before starts an nginx that asks about a zone, and returns where it is.
func (s *shop) before(t *testing.T, zoneID string) (url string) {
	t.Helper()
	return "https://" + s.NginxSite(t, zoneID, "enter", room.Others{
		"server 127.0.0.1:8000;": "server " + s.backend + ";",
	}, s.certificate)
}

// set changes a zone.
func (s *shop) set(t *testing.T, zoneID, change string) {
	t.Helper()
	s.Operate(t, http.MethodPatch, "/admin/zones/"+zoneID, change)
}

// customer is somebody with a browser of an own.
type customer struct {
	*browser
	t    *testing.T
	site string // https://127.0.0.1:port
}

// customer comes to the site of a zone with cookies of an own, and opens nothing yet.
func (s *shop) customer(t *testing.T, b *browser, site string) *customer {
	t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	c := &customer{&browser{ctx: ctx}, t, site}
	c.start(t, "about:blank")
	return c
}

// opens goes to an address of the site.
func (c *customer) opens(path string) {
	c.t.Helper()
	c.do(c.t, "open "+path, chromedp.Navigate(c.site+path))
}

// sees waits for a heading: of a page of the site, what was asked for.
func (c *customer) sees(heading string) {
	c.t.Helper()
	c.until(c.t, heading, fmt.Sprintf(`document.querySelector("h1")?.textContent === %q`, heading))
}

// at is where the browser is, without the site.
func (c *customer) at() string {
	c.t.Helper()
	return value[string](c.t, c.browser, `location.pathname + location.search + location.hash`)
}

// pays sends the form, and waits for a heading.
func (c *customer) pays(heading string) {
	c.t.Helper()
	c.do(c.t, "pay", chromedp.Click(css("#pay")))
	c.sees(heading)
}

// cookie is the value of one of the browser's, also of one that scripts do not see.
func (c *customer) cookie(name string) *network.Cookie {
	c.t.Helper()
	got, err := chromedp.Call(c.ctx, network.GetCookies, network.GetCookiesParams{URLs: []string{c.site}})
	must(c.t, err)
	for _, one := range got.Cookies {
		if one.Name == name {
			return one
		}
	}
	c.t.Fatalf("%s has no cookie %s", c.at(), name)
	return nil
}

// take puts a session into the browser.
func (c *customer) take(zoneID, session string) {
	c.t.Helper()
	_, err := chromedp.Call(c.ctx, network.SetCookie, network.SetCookieParams{
		Name: "__Host-waitingroom-" + zoneID, Value: session, URL: c.site, Path: "/", Secure: new(true), HTTPOnly: new(true),
	})
	must(c.t, err)
}

// outlive makes the browser's session one whose time is over.
func (s *shop) outlive(t *testing.T, c *customer, zoneID string) {
	t.Helper()
	held, err := s.keys.VerifySession(zoneID, c.cookie("__Host-waitingroom-"+zoneID).Value)
	must(t, err)
	held.Begun, held.Issued = held.Begun.Add(-2*held.Length), held.Issued.Add(-2*held.Length)
	c.take(zoneID, s.keys.SignSession(zoneID, held))
}

// TestAShopInBrowsers is a site behind the gate, as people in real browsers see it.
func TestAShopInBrowsers(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	b := openBrowser(t, chromedp.IgnoreCertErrors)
	b.start(t, "about:blank")
	for name, step := range map[string]func(*testing.T, *browser){
		"a normal day": s.aNormalDay, "a deep link, and the way back": s.aDeepLink, "without JavaScript": s.withoutJavaScript,
		"in mid-checkout": s.inMidCheckout, "ten tabs": s.tabs, "before the pass": s.beforeThePass,
		"pages of a CDN": s.pagesOfACDN, "a service worker": s.serviceWorker, "a module worker": s.moduleWorker,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			step(t, b)
		})
	}
}

// aNormalDay: one request, no page, and a session that scripts do not see.
func (s *shop) aNormalDay(t *testing.T, b *browser) {
	t.Helper()
	site := s.before(t, "QUIET")
	c := s.customer(t, b, site)
	c.opens("/cart?item=7#reviews")
	c.sees("GET /cart?item=7")
	hops := value[int](t, c.browser, `performance.getEntriesByType("navigation")[0].redirectCount`)
	held := c.cookie("__Host-waitingroom-QUIET")
	if hops != 0 || c.at() != "/cart?item=7#reviews" || !held.HTTPOnly || !held.Secure || held.SameSite != network.CookieSameSiteLax {
		t.Errorf("%d redirects to %s, the session %+v", hops, c.at(), held)
	}
	c.until(t, "the page's own request", `fetch("/api", {method: "PUT"}).then((r) => r.status === 200 && document.cookie === "")`)
}

// aDeepLink: whoever waited is where the link led, and the way back leads over no waiting page.
func (s *shop) aDeepLink(t *testing.T, b *browser) {
	t.Helper()
	const link = "/cart?item=7&name=a%20b+c&empty="
	site := s.before(t, "LINK")
	c := s.customer(t, b, site)
	c.opens(link + "#part")
	c.sees("The line is paused")
	s.set(t, "LINK", `{"perMinute":6000}`)
	c.sees("GET " + link)
	if at := c.at(); at != link+"#part" {
		t.Errorf("led to %s", at)
	}
	c.do(t, "go on", chromedp.Click(css("#next")))
	c.sees("GET /checkout?step=2")
	for _, way := range []struct{ to, sees string }{{"back", "GET " + link}, {"forward", "GET /checkout?step=2"}, {"back", "GET " + link}} {
		c.do(t, way.to, chromedp.Evaluate[chromedp.Void]("void setTimeout(() => history."+way.to+"())"))
		c.sees(way.sees)
	}
	c.do(t, "back to before the link", chromedp.Evaluate[chromedp.Void]("void setTimeout(() => history.back())"))
	c.until(t, "what was open before", `location.href === "about:blank"`)
	// The address of the waiting page, once more: it leads back in.
	c.opens("/wait/LINK?to=%2Fagain")
	c.sees("GET /again")
}

// withoutJavaScript: the page asks to be loaded again, until it leads on.
func (s *shop) withoutJavaScript(t *testing.T, b *browser) {
	t.Helper()
	site := s.before(t, "PLAIN")
	c := s.customer(t, b, site)
	_, err := chromedp.Call(c.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	must(t, err)
	c.opens("/cart?item=7")
	c.sees("The line is paused")
	s.set(t, "PLAIN", `{"perMinute":6000}`)
	c.sees("GET /cart?item=7")
	if at := c.at(); at != "/cart?item=7" {
		t.Errorf("led to %s", at)
	}
}

// inMidCheckout: the session ends while a form is filled in.
func (s *shop) inMidCheckout(t *testing.T, b *browser) {
	t.Helper()
	c := s.customer(t, b, s.before(t, "TILL"))
	c.opens("/checkout?step=2")
	c.sees("GET /checkout?step=2")
	s.outlive(t, c, "TILL")
	// Where there is room the form goes through, with a new session.
	c.pays("POST /pay")
	// In a line its visitor comes back to the page with the form, and nothing is sent twice.
	s.mu.Lock()
	s.asked = nil
	s.mu.Unlock()
	c.opens("/checkout?step=2")
	c.sees("GET /checkout?step=2")
	s.outlive(t, c, "TILL")
	s.set(t, "TILL", `{"perMinute":0}`)
	c.pays("The line is paused")
	// What the page of a site asks by script is told so, and can say it.
	other := s.customer(t, b, c.site)
	var admission [16]byte // it begins with its time, as that of a pass: one from before the zone was made is refused
	binary.BigEndian.PutUint64(admission[:], uint64(time.Now().UnixMilli())<<16)
	other.take("TILL", s.keys.SignSession("TILL", token.Session{Admission: admission, Begun: time.Now(), Issued: time.Now(), Length: time.Hour}))
	other.opens("/shelf")
	other.sees("GET /shelf")
	s.outlive(t, other, "TILL")
	other.until(t, "what a script is told when the session is over",
		`fetch("/api").then(async (r) => r.status === 429 && (await r.json()).code === "admission_required")`)
	// A link leads to the page, and then on.
	other.do(t, "go on", chromedp.Click(css("#next")))
	other.sees("The line is paused")
	s.set(t, "TILL", `{"perMinute":6000}`)
	c.sees("GET /checkout?step=2")
	other.sees("GET /checkout?step=2")
	if s.saw("POST /pay") || s.saw("GET /pay") {
		t.Errorf("what was sent without a session reached the site: %q", s.asked)
	}
}
