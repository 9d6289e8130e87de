package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	permissions "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/openqueue/waitingroom/e2e/room"
)

// shopFront is a shop and its waiting room at one address, as behind a gateway.
type shopFront struct {
	*room.Server
	url string
	// away: the room's calls get what a server answers whose store is away.
	away atomic.Bool
}

// pageZones are what the page's tests wait in. In QUICK one enters a second; in SLOW and MOVES one
// enters at once and the next after a minute; in STILL and PAUSED nobody.
const pageZones = `zones:
  - {zoneId: QUICK, perMinute: 60, windowSeconds: 1}
  - {zoneId: HIDDEN, perMinute: 60, windowSeconds: 1}
  - {zoneId: SLOW, perMinute: 1, windowSeconds: 60, idleTimeoutSeconds: 3600}
  - {zoneId: STILL, perMinute: 0}
  - {zoneId: MOVES, perMinute: 1, windowSeconds: 60, idleTimeoutSeconds: 3600}
  - {zoneId: PAUSED, perMinute: 0, message: "The doors open at 12:10."}
  - {zoneId: SHUT, mode: closed}
  - {zoneId: FULL, perMinute: 1, windowSeconds: 60, maxWaiting: 1}
  - {zoneId: OPEN, mode: open}
`

func openShopFront(t *testing.T) *shopFront {
	t.Helper()
	return openShopFrontWith(t, pageZones)
}

// openShopFrontWith has these zones.
func openShopFrontWith(t *testing.T, zones string) *shopFront {
	t.Helper()
	s := &shopFront{Server: room.Start(t, map[string]string{"QUEUE_CONFIG": room.Config(t, zones)})}
	to, err := url.Parse(s.Public)
	must(t, err)
	proxy := &httputil.ReverseProxy{
		Transport: room.Transport,
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host },
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/shop", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, `<!doctype html><title>Shop</title><h1>The shop</h1>`)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if s.away.Load() && r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/wait/") {
			w.Header().Set("Content-Type", "application/problem+json")
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = fmt.Fprint(w, `{"code":"store_unavailable"}`)
			return
		}
		proxy.ServeHTTP(w, r)
	})
	front := httptest.NewServer(mux)
	t.Cleanup(front.Close)
	s.url = front.URL
	return s
}

// lineUp has so many join a zone who never come back.
func (s *shopFront) lineUp(t *testing.T, zoneID string, n int) {
	t.Helper()
	for i := range n {
		room.Request(t, "POST", s.Public+"/traffic/wait", fmt.Sprintf(`{"zoneId":%q,"clientId":"gone-%d"}`, zoneID, i))
	}
}

// guest is somebody at the waiting page in a browser.
type guest struct {
	*browser
	t    *testing.T
	shop *shopFront
}

// visit opens the page of a zone.
func (g *guest) visit(zoneID string) {
	g.t.Helper()
	g.do(g.t, "visit "+zoneID, chromedp.Navigate(g.shop.url+"/wait/"+zoneID+"?to="+url.QueryEscape("/shop?a=1#there")))
}

// sees waits for the page's heading to be this.
func (g *guest) sees(heading string) {
	g.t.Helper()
	g.until(g.t, heading, fmt.Sprintf(`document.querySelector("h1")?.textContent === %q`, heading))
}

// speaks has the browser ask for a language.
func (g *guest) speaks(language string) {
	g.t.Helper()
	_, err := chromedp.Call(g.ctx, network.SetExtraHTTPHeaders,
		network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Accept-Language": language}})
	must(g.t, err)
}

// inspect has axe look at the page at both widths, and wants all of it to be in sight,
// also with text twice as large.
func (g *guest) inspect(what string) {
	g.t.Helper()
	g.check(g.t, what)
	for _, size := range []string{"16px", "32px"} {
		g.do(g.t, "text size", chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`document.documentElement.style.fontSize = %q`, size)))
		for _, width := range []int64{320, 1280} {
			g.look(g.t, width, "dark")
			if over := value[int](g.t, g.browser, `Math.max(...[...document.querySelectorAll("body *:not(.spoken, script)")].filter((el) => el.checkVisibility())
				.map((el) => { const r = el.getBoundingClientRect(); return Math.ceil(Math.max(-r.left, r.right - innerWidth)); }))`); over > 0 {
				g.t.Errorf("%s: at %d wide and %s, %d pixels are out of sight", what, width, size, over)
			}
			text := value[string](g.t, g.browser, `axe.run().then((r) => r.violations.map((v) => v.id + ": " + v.nodes.map((n) => n.html)).join("\n"))`)
			if text != "" {
				g.t.Errorf("%s, at %d wide and %s: %s", what, width, size, text)
			}
		}
	}
	g.do(g.t, "text size", chromedp.Evaluate[chromedp.Void](`document.documentElement.style.fontSize = ""`))
	g.look(g.t, 1280, "light")
}

// tree is what a screen reader is told, in order: role and name of each part.
func (g *guest) tree() []string {
	g.t.Helper()
	r, err := chromedp.Call(g.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	must(g.t, err)
	spoken := []string{"main", "banner", "heading", "image", "paragraph", "term", "definition", "region", "checkbox", "button", "link", "status"}
	var all []string
	text := func(v *accessibility.Value) (s string) {
		if v != nil {
			_ = json.Unmarshal(v.Value, &s)
		}
		return s
	}
	nodes := map[accessibility.NodeID]*accessibility.Node{}
	for _, n := range r.Nodes {
		nodes[n.NodeID] = n
	}
	var walk func(n *accessibility.Node)
	walk = func(n *accessibility.Node) {
		if n == nil {
			return
		}
		role, name := text(n.Role), text(n.Name)
		switch {
		case n.Ignored:
		case role == "StaticText":
			all = append(all, name)
		case slices.Contains(spoken, role):
			all = append(all, strings.TrimSpace(role+" "+name))
		}
		for _, child := range n.ChildIDs {
			walk(nodes[child])
		}
	}
	walk(r.Nodes[0])
	return all
}

// TestPageInABrowser is the visitor's way in a real browser, on a real server.
func TestPageInABrowser(t *testing.T) {
	t.Parallel()
	s := openShopFront(t)
	g := &guest{openBrowser(t), t, s}
	g.start(t, s.url+"/shop")
	g.speaks("en")
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"is led into the shop", g.isLedIn}, {"keeps the turn of who is away", g.keepsTheTurn}, {"keeps the place", g.keepsThePlace},
		{"goes on after a bad network", g.goesOn}, {"hears how long, and why", g.hearsWhy}, {"hears of a change", g.hearsOfAChange}, {"is heard and read", g.isHeard}, {"leaves by keyboard", g.leavesByKeyboard},
		{"says what else there is", g.saysWhatElse},
	} {
		began := time.Now()
		step.do()
		t.Logf("%s: %v", step.name, time.Since(began).Round(time.Millisecond))
	}
}

func (g *guest) isLedIn() {
	g.shop.lineUp(g.t, "QUICK", 2)
	g.visit("QUICK")
	g.sees("You are in line")
	g.until(g.t, "the shop", `document.title === "Shop"`)
	there := value[string](g.t, g.browser, `location.pathname + location.search + location.hash`)
	before, pass, found := strings.Cut(there, "&waiting_room_pass=")
	if pass, ok := strings.CutSuffix(pass, "#there"); !found || !ok || before != "/shop?a=1" || strings.Count(pass, ".") != 2 {
		g.t.Errorf("led to %s", there)
	}
	// The page is not in the way back.
	g.do(g.t, "go back", chromedp.Evaluate[chromedp.Void](`history.back()`))
	g.until(g.t, "the page before the wait", `location.pathname + location.search === "/shop"`)
}

// hide makes the page one in the background, as far as it can tell.
const hide = `Object.defineProperty(document, "visibilityState", { value: "hidden" })`

// notes has the page note what it plays and shows, which nobody hears or sees in a browser without
// a window. It really plays, and the browser says that it really shows.
const notes = `window.heard = { tones: 0, audio: [], shown: 0 };
	const start = OscillatorNode.prototype.start;
	OscillatorNode.prototype.start = function (at) { heard.tones++; heard.audio = [this.context.state]; return start.call(this, at); };
	const Shows = Notification;
	window.Notification = class extends Shows { constructor(...all) { super(...all); this.addEventListener("show", () => heard.shown++); } };`

func (g *guest) keepsTheTurn() {
	g.shop.lineUp(g.t, "HIDDEN", 2)
	g.shop.Admin(g.t, "PATCH", "/admin/zones/HIDDEN", `{"perMinute":0}`) // until the page is asked, however slow the browser is
	g.visit("HIDDEN")
	_, err := chromedp.Call(g.ctx, permissions.SetPermission, permissions.SetPermissionParams{
		Permission: &permissions.PermissionDescriptor{Name: "notifications"}, Setting: permissions.PermissionSettingGranted, Origin: g.shop.url,
	})
	must(g.t, err)
	g.do(g.t, "hide the page, and ask for sound and a notification", chromedp.Evaluate[chromedp.Void](hide), chromedp.Evaluate[chromedp.Void](notes),
		chromedp.Click(css("#sound")), chromedp.Click(css("#notify")))
	g.shop.Admin(g.t, "PATCH", "/admin/zones/HIDDEN", `{"perMinute":60}`)
	g.sees("It is your turn")
	g.until(g.t, "the notification", `window.heard.shown === 1`)
	if got := value[string](g.t, g.browser, `window.heard.audio.join() + ", " + window.heard.tones + " tones"`); got != "running, 3 tones" {
		g.t.Errorf("the sound: %s", got)
	}
	if got := value[string](g.t, g.browser, `[document.title, document.querySelector("#text").textContent, document.querySelector("#spoken").textContent].join("|")`); got !=
		"★ It is your turn|Your turn is kept for 5 minutes.|It is your turn. Your turn is kept for 5 minutes." {
		g.t.Errorf("the page says %q", got)
	}
	g.inspect("the turn")
	g.do(g.t, "enter", chromedp.Click(css("#enter")))
	g.until(g.t, "the shop", `document.title === "Shop" && location.search.includes("waiting_room_pass=")`)
}

func (g *guest) keepsThePlace() {
	g.shop.lineUp(g.t, "SLOW", 4)
	place := func() string { return g.text(g.t, "#place") }
	g.visit("SLOW")
	g.sees("You are in line")
	was := place()
	g.do(g.t, "reload", chromedp.Reload())
	if is := place(); is != was || is != "4" {
		g.t.Errorf("%s, and after a reload %s", was, is)
	}
	g.do(g.t, "go elsewhere", chromedp.Navigate(g.shop.url+"/shop"))
	g.visit("SLOW")
	if is := place(); is != was {
		g.t.Errorf("%s, and later %s", was, is)
	}
	tab, cancel := chromedp.NewContext(g.ctx)
	defer cancel()
	second := &guest{&browser{ctx: tab}, g.t, g.shop}
	second.start(g.t, g.shop.url+"/wait/SLOW?to=/shop")
	if is := second.text(g.t, "#place"); is != "4" {
		g.t.Errorf("a second tab has place %q", is)
	}
	cookies, err := chromedp.Call(g.ctx, network.GetCookies, network.GetCookiesParams{})
	must(g.t, err)
	if len(cookies.Cookies) != 1 || time.Until(time.Unix(int64(cookies.Cookies[0].Expires), 0)) < 24*time.Hour {
		g.t.Errorf("the cookie is gone when the browser is: %+v", cookies.Cookies)
	}
}

// emulateNetwork takes the connection away: the command that all editions of Chromium know.
var emulateNetwork = cdp.Command[network.OverrideNetworkStateParams, cdp.Empty]{Method: "Network.emulateNetworkConditions"}

func (g *guest) offline(is bool) {
	g.t.Helper()
	_, err := chromedp.Call(g.ctx, emulateNetwork, network.OverrideNetworkStateParams{Offline: is, DownloadThroughput: -1, UploadThroughput: -1})
	must(g.t, err)
}

func (g *guest) goesOn() {
	g.offline(true)
	g.sees("No connection")
	g.inspect("offline")
	g.offline(false)
	g.sees("You are in line")
	g.shop.lineUp(g.t, "QUICK", 4)
	g.visit("QUICK")
	g.do(g.t, "forget the pass", chromedp.Evaluate[chromedp.Void](`document.cookie = "waitingroom-QUICK=; max-age=0; path=/wait/QUICK"`))
	g.visit("QUICK")
	g.shop.away.Store(true)
	g.sees("One moment, please")
	g.inspect("the store is away")
	g.shop.away.Store(false)
	g.until(g.t, "the shop", `document.title === "Shop"`)
}

// scripted has the page's polls answered with what window.told says, at once and then ever again: the answer's waiting, and
// what the server has rendered, by the id of the part that it stands in.
const scripted = `{
	const now = Date.now;
	Date.now = () => now() + 60_000;
	window.fetch = async () => {
		const { html, spoken = "", why = "", ...waiting } = window.told;
		const page = document.querySelector("#told").cloneNode(true);
		Object.assign(page.dataset, { spoken, why, state: html.heading.includes("paused") ? "paused" : "inLine", seated: "" });
		Object.entries({ text: "", ...html, place: waiting.position }).forEach(([id, text]) => {
			const part = page.querySelector("#" + id);
			part.textContent = text;
			(part.tagName === "DD" ? part.parentElement : part).hidden = text === "";
		});
		return new Response(JSON.stringify({
			zoneId: "STILL", token: document.cookie.split(".").at(-1), canEnter: false, html: page.outerHTML,
			waiting: { total: 90, estimatedWait: 300_000, pollingPeriod: 200, arrivedAtMicros: 1, ...waiting },
		}));
	};
}`

// hearsOfAChange: what an operator does is on the page, in words, with the next poll.
func (g *guest) hearsOfAChange() {
	others := invite(g.t, g.shop.Public, "MOVES", 30)
	defer others.end()
	room.Until(g.t, "GET", g.shop.Public+"/traffic/zones/MOVES", `"waiting":29`)
	g.visit("MOVES")
	g.has("#wait", "^[0-9]+ to [0-9]+ minutes$")
	for _, tt := range []struct{ perMinute, text string }{
		{"0", "^You keep your place"}, {"1", "^The line goes on"},
	} {
		if r := g.shop.Admin(g.t, "PATCH", "/admin/zones/MOVES", `{"perMinute":`+tt.perMinute+`}`); r.Status != http.StatusOK {
			g.t.Fatalf("%d %s", r.Status, r.Body)
		}
		g.has("#text", tt.text)
	}
}

// hearsWhy: a wait is said when there is a reason, or when it is longer than was said.
func (g *guest) hearsWhy() {
	g.visit("STILL")
	g.sees("The line is paused")
	g.do(g.t, "mark the parts", chromedp.Evaluate[chromedp.Void](`window.parts = [...document.querySelectorAll("#told *")]`))
	const faster, slower = "More people are let in now. Your wait is shorter.", "Fewer people are let in now. Your wait is longer."
	place, spoken := 40, ""
	for i, tt := range []struct {
		wide               string
		heading, why, wait string
		speaks             string
	}{
		{`{ low: 240_000, high: 360_000 }`, "You are in line", faster, "4 to 6 minutes", faster + " Place 40, 4 to 6 minutes."},
		{`{ low: 230_000, high: 373_000 }`, "You are in line", faster, "4 to 6 minutes", ""},
		{`{ low: 200_000, high: 330_000 }`, "You are in line", "", "3 to 6 minutes", ""},
		{`{ low: 600_000, high: 1_080_000 }`, "You are in line", slower, "10 to 20 minutes", slower + " Place 37, 10 to 20 minutes."},
		{`undefined`, "The line is paused", "", "not known at the moment", "The line is paused. You keep your place."},
		{`{ low: 20_000, high: 90_000 }`, "You are in line", "The line goes on.", "about 1 minute", "The line goes on. Place 35, about 1 minute."},
		{`{ low: 600_000, high: 840_000 }`, "You are in line", "", "10 to 15 minutes", "Place 34, 10 to 15 minutes."},
	} {
		text := tt.why
		if tt.heading == "The line is paused" {
			text = "You keep your place."
		}
		if tt.speaks != "" {
			spoken = tt.speaks
		}
		place := place - i
		told := fmt.Sprintf(`window.told = { position: %d, estimatedWaitRange: %s, why: %q, spoken: %q, html: { heading: %q, text: %q, wait: %q } };`,
			place, tt.wide, tt.why, strings.TrimSpace(fmt.Sprintf("%s Place %d, %s.", tt.why, place, tt.wait)), tt.heading, text, tt.wait)
		if i == 0 {
			told += scripted
		}
		g.do(g.t, "tell", chromedp.Evaluate[chromedp.Void](told))
		g.has("#place", fmt.Sprintf("^%d$", place))
		g.has("#spoken", "^"+regexp.QuoteMeta(spoken)+"$") // said a moment after it is shown
		const all = `["h1", "#text", "#wait", "#spoken"].map((id) => document.querySelector(id).textContent).join("|")`
		if got, want := value[string](g.t, g.browser, all), strings.Join([]string{tt.heading, text, tt.wait, spoken}, "|"); got != want {
			g.t.Errorf("told %s, it says\n%q, want\n%q", told, got, want)
		}
		if tt.why == slower {
			g.inspect("a reason")
		}
	}
	if !value[bool](g.t, g.browser, `[...document.querySelectorAll("#told *")].every((part, i) => part === window.parts[i])`) {
		g.t.Error("a poll has replaced parts of the page, and not only their texts")
	}
}

// isHeard walks the page as a screen reader does, and waits for the operator's word.
func (g *guest) isHeard() {
	g.visit("PAUSED")
	reference := strings.TrimPrefix(value[string](g.t, g.browser, `document.querySelector("#reference").textContent`), "Reference: ")
	if !regexp.MustCompile(`^[0-9A-Z]{14}$`).MatchString(reference) {
		g.t.Errorf("the page shows the reference %q", reference)
	}
	want := []string{
		"main", "heading The line is paused", "The line is paused", "paragraph", "You keep your place. It goes on by itself.",
		"term Your place", "Your place", "definition", "1", "term Expected wait", "Expected wait", "definition", "not known at the moment",
		"region From the organiser", "heading From the organiser", "From the organiser", "paragraph", "The doors open at 12:10.",
		"paragraph", "You do not have to do anything. Keep this page open: it takes you in when it is your turn. If you close it, come back within 16 minutes, and your place is still yours.",
		"paragraph", "Reference: " + reference,
		"paragraph", "checkbox Play a sound when it is my turn", "paragraph", "checkbox Notify me when it is my turn",
		"paragraph", "button Leave the line", "Leave the line", "status",
	}
	if got := g.tree(); !slices.Equal(got, want) {
		g.t.Errorf("a screen reader hears\n%q, want\n%q", got, want)
	}
	g.inspect("paused")
	const said = "The doors open at 12:30."
	g.do(g.t, "listen", chromedp.Evaluate[chromedp.Void](`window.said = []; new MutationObserver(() => window.said.push(document.querySelector("#spoken").textContent))
		.observe(document.querySelector("#spoken"), { childList: true, characterData: true, subtree: true })`))
	if r := g.shop.Admin(g.t, "PATCH", "/admin/zones/PAUSED", `{"message":{"default":"Um halb eins.","en":"`+said+`"}}`); r.Status != http.StatusOK {
		g.t.Fatalf("%d %s", r.Status, r.Body)
	}
	g.until(g.t, "the message", fmt.Sprintf(`document.querySelector("#notice").textContent === %q`, said))
	if got := value[string](g.t, g.browser, `window.said.join("|")`); got != "From the organiser: "+said {
		g.t.Errorf("said %q", got)
	}
}

// leavesByKeyboard uses the page without a mouse.
func (g *guest) leavesByKeyboard() {
	g.visit("PAUSED")
	var order []string
	for range 3 {
		g.do(g.t, "tab", chromedp.KeyEvent("\t"))
		order = append(order, value[string](g.t, g.browser, `document.activeElement.id + (getComputedStyle(document.activeElement).outlineStyle === "none" ? " unseen" : "")`))
	}
	if want := []string{"sound", "notify", "leave"}; !slices.Equal(order, want) {
		g.t.Errorf("the tab key goes to %q, want %q", order, want)
	}
	g.do(g.t, "press the button", chromedp.KeyEvent("\r"))
	g.sees("You have left the line")
	if at := value[string](g.t, g.browser, `document.activeElement.id`); at != "heading" {
		g.t.Errorf("afterwards the focus is on %q", at)
	}
	g.inspect("left")
	g.do(g.t, "join again", chromedp.KeyEvent("\t"), chromedp.KeyEvent("\r"))
	g.sees("The line is paused")
}

// saysWhatElse looks at the states that somebody meets who does not wait.
func (g *guest) saysWhatElse() {
	g.shop.lineUp(g.t, "FULL", 2)
	for zoneID, heading := range map[string]string{
		"SHUT": "The line is closed", "FULL": "The line is full", "NONE": "There is nothing to wait for here",
	} {
		g.visit(zoneID)
		g.sees(heading)
		g.inspect(heading)
	}
	g.visit("PAUSED")
	const why = "All seats are sold. The next show is on Sunday."
	if r := g.shop.Admin(g.t, "PATCH", "/admin/zones/PAUSED", `{"soldOut":{"default":"Ausverkauft.","en":"`+why+`"}}`); r.Status != http.StatusOK {
		g.t.Fatalf("%d %s", r.Status, r.Body)
	}
	for _, when := range []string{"while one waits", "for a newcomer"} {
		g.until(g.t, when, fmt.Sprintf(`document.querySelector("#heading").textContent === "Sold out" && document.querySelector("#text").textContent === %q`, why))
		if shown := value[int](g.t, g.browser, `document.querySelectorAll("dl:not([hidden]), form:not([hidden]), .button:not([hidden] *)").length`); shown != 0 {
			g.t.Errorf("%s, %d parts of a wait are shown", when, shown)
		}
		g.inspect("sold out " + when)
		g.visit("PAUSED")
	}
	for _, language := range []string{"ar", "he", "de", "ja"} {
		g.speaks(language)
		g.visit("STILL")
		g.do(g.t, "tell", chromedp.Evaluate[chromedp.Void](`window.told = { position: 2, html: { heading: document.querySelector("h1").textContent } };`+scripted))
		g.has("#place", "^2$")
		g.inspect(language)
	}
	for _, line := range g.errors() {
		if !strings.Contains(line, "Failed to load resource") { // the statuses that were asked for
			g.t.Errorf("the browser complains: %s", line)
		}
	}
}
