//go:build pictures

package browser

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// elementPage is a shop's page around the element, which it styles by its parts.
const elementPage = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Riverside Tickets</title><link rel="icon" href="data:,">
<style>
body { margin: 0; font: 1rem/1.5 Georgia, serif; background: #f4efe6; color: #1d2a26; }
header { background: #0f4f4a; color: #fff; padding: 1rem 2rem; font-size: 1.25rem; }
main { display: grid; grid-template-columns: 1fr 18rem; gap: 2rem; padding: 2rem; max-width: 64rem; }
waiting-room { background: #fff; border-top: .5rem solid #0f766e; padding: 1.5rem 2rem; }
waiting-room::part(place), waiting-room::part(wait) { color: #0f766e; }
waiting-room::part(button) { background: #0f766e; color: #fff; border: 0; border-radius: 2rem; }
</style>
<header>Riverside Tickets</header>
<main><waiting-room zone="SLOW"><p slot="waiting">While you wait: doors open at 19:00, and the bar takes cards.</p></waiting-room>
<aside><h2>The river stage</h2><p>9 July, 20:00. Two tickets for each visitor.</p></aside></main>
<script type="module" src="/js/element.js"></script></html>`

// TestPicturesOfTheElement takes the element in a shop's own page, and the waiting page with the few colours of a system's own (forced colours).
func TestPicturesOfTheElement(t *testing.T) {
	s := openShopFront(t)
	s.lineUp(t, "SLOW", 13)
	s.Operate(t, "PATCH", "/admin/zones/SLOW", `{"perMinute":1,"pageTitle":"Riverside Tickets","message":"The second show is on sale as well."}`)
	g := &guest{openBrowser(t), t, s}
	shoot := func(file string) {
		t.Helper()
		picture, err := chromedp.Run(g.ctx, chromedp.FullScreenshot(100))
		must(t, err)
		must(t, os.WriteFile(filepath.Join("..", "..", "docs", "img", file), picture, 0o644))
	}
	g.start(t, ownShopWith(t, s.Server, elementPage, nil, "'unsafe-inline'"))
	g.look(t, 960, "light")
	g.until(t, "a wait", `/[0-9]/.test(document.querySelector("waiting-room").shadowRoot.querySelector("[part=wait]").textContent)`)
	shoot("element-en-light-960.png")

	g.visit("SLOW")
	_, err := chromedp.Call(g.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "forced-colors", Value: "active"}, {Name: "prefers-color-scheme", Value: "dark"}},
	})
	must(t, err)
	g.do(t, "a phone", chromedp.EmulateViewport(390, 800))
	g.has("#wait", "[0-9][^0-9]+[0-9]")
	shoot("page-en-forced-390.png")
}
