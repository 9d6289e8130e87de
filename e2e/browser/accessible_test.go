package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/openqueue/waitingroom/e2e/room"
)

// spaced sets the text as WCAG 2.2 wants it to be possible (1.4.12).
const spaced = `{ const s = new CSSStyleSheet(); s.replaceSync("* { line-height: 1.5 !important; letter-spacing: .12em !important; word-spacing: .16em !important } p { margin-block-end: 2em !important }");
	document.adoptedStyleSheets = [s]; }`

// cut are the parts of a page whose text is cut off, or that need scrolling from side to side. What scrolls by itself, as a table in
// the console, may be wider.
const cut = `[...document.querySelectorAll("body *")].filter((el) => el.checkVisibility() && !el.closest(".spoken, .hidden, thead, [tabindex='0'], script, style, .skip, svg, canvas, .plot, .scroll")
	&& (el.getBoundingClientRect().right > innerWidth + 1 || getComputedStyle(el).overflow === "hidden" && el.scrollHeight > el.clientHeight + 1 && el.clientHeight > 0))
	.map((el) => el.tagName + "#" + el.id + "." + el.className).join(" ")`

// small are targets of less than 24 by 24 CSS pixels (2.5.8). Links within a sentence are exempt.
const small = `[...document.querySelectorAll("a, button, input, select, textarea, summary")].filter((el) => el.checkVisibility() && !el.closest("p:not(#go):not(#rejoin) > a, td > a, .skip"))
	.map((el) => [el, (el.closest("label") ?? el).getBoundingClientRect()]).filter(([, r]) => r.width > 0 && (r.width < 24 || r.height < 24))
	.map(([el, r]) => el.outerHTML.slice(0, 80) + " " + Math.round(r.width) + "x" + Math.round(r.height)).join("\n")`

// holds has a page in a window as wide as a phone, which is what a zoom of 400 % leaves of 1280 pixels: with text that is spaced,
// nothing is cut off, and targets are large enough.
func (b *browser) holds(t *testing.T, what string) {
	t.Helper()
	b.look(t, 320, "light")
	if got := value[string](t, b, small); got != "" {
		t.Errorf("%s: targets are too small: %s", what, got)
	}
	b.do(t, "space the text", chromedp.Evaluate[chromedp.Void](spaced))
	if got := value[string](t, b, cut); got != "" {
		t.Errorf("%s: cut off at 320 pixels: %s", what, got)
	}
	b.look(t, 1280, "light")
}

// TestAccessible is what docs/explain/accessibility.md says was tested, beside the ways of a visitor and of an operator: zoom, spaced
// text, targets, forced colours, and the pages of a gateway.
func TestAccessible(t *testing.T) {
	t.Parallel()
	s := openShopFront(t)
	g := &guest{openBrowser(t), t, s}
	g.start(t, s.url+"/shop")
	g.speaks("de")
	for _, zoneID := range []string{"PAUSED", "SHUT", "NONE"} {
		g.visit(zoneID)
		g.do(t, zoneID, chromedp.WaitVisible(css("h1")))
		g.holds(t, zoneID)
	}

	// With forced colours the bar shows how far it is, and what has the focus has an outline.
	g.visit("STILL")
	g.has("#place", "1")
	g.do(t, "a bar", chromedp.Evaluate[chromedp.Void](`document.querySelector("#gone").hidden = false; document.querySelector("#gone").value = 40; document.querySelector("#notify").focus()`), chromedp.KeyEvent("\t"))
	_, err := chromedp.Call(g.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "forced-colors", Value: "active"}}})
	must(t, err)
	if got := value[string](t, g.browser, `(() => { const bar = getComputedStyle(document.querySelector("#gone")), at = getComputedStyle(document.querySelector("#leave"));
		return [matchMedia("(forced-colors: active)").matches, bar.borderStyle, bar.color !== bar.backgroundColor, at.outlineStyle].join(); })()`); got != "true,solid,true,solid" {
		t.Errorf("with forced colours: %s", got)
	}

	dir := t.TempDir()
	if status, said := room.Run(t, map[string]string{"QUEUE_ADMIN_URL": s.Operators, "QUEUE_ADMIN_TOKEN": room.OperatorToken}, "page", "export", "PAUSED", dir, "--for", "nginx"); status != 0 {
		t.Fatal(said)
	}
	files := httptest.NewServer(http.FileServer(http.Dir(dir + "/pages")))
	t.Cleanup(files.Close)
	for _, name := range []string{"busy-ar", "away-de", "room-ja", "unsent-en"} {
		g.do(t, name, chromedp.Navigate(files.URL+"/"+name+".html"), chromedp.WaitVisible(css("h1")))
		g.check(t, name)
		g.holds(t, name)
	}

	o := &operatorAt{openBrowser(t), t, s.Server}
	o.start(t, s.Operators+"/")
	o.do(t, "log in", chromedp.SendKeys(css("#who"), "Anna"), chromedp.SendKeys(css("#token"), room.OperatorToken), chromedp.Click(css("button.main")), chromedp.WaitVisible(css("#zones")))
	for _, path := range []string{"", "limits", "tokens", "changes", "new", "zones/PAUSED", "zones/PAUSED?tab=events", "zones/PAUSED?tab=page", "zones/PAUSED?tab=settings", "zones/PAUSED?tab=gate", "zones/PAUSED?tab=report", "zones/PAUSED?tab=visitor&ref=0W000000000004"} {
		o.do(t, path, chromedp.Navigate(fmt.Sprintf("%s/console/%s", s.Operators, path)), chromedp.WaitVisible(css("main h1")))
		o.holds(t, "console/"+path)
	}
}
