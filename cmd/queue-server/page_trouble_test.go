package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// before has the browser run a program before each page's own, until the step has ended.
func (g *guest) before(program string, step func()) {
	g.t.Helper()
	added, err := chromedp.Call(g.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: program})
	must(g.t, err)
	step()
	_, err = chromedp.Call(g.ctx, page.RemoveScriptToEvaluateOnNewDocument, page.RemoveScriptToEvaluateOnNewDocumentParams{Identifier: added.Identifier})
	must(g.t, err)
}

// TestThePageOnOddDevices: what phones, old browsers, wrong clocks and second tabs do to a visitor.
func TestThePageOnOddDevices(t *testing.T) {
	s := openShopFrontWith(t, pageZones+fmt.Sprintf(
		"  - {zoneId: SOON, mode: closed, events: [{name: noon, preQueueAt: %s, opensAt: %s, settings: {mode: queue}}]}\n",
		time.Now().Add(30*time.Minute).UTC().Format(time.RFC3339), time.Now().Add(time.Hour).UTC().Format(time.RFC3339)))
	g := &guest{openBrowser(t), t, s}
	g.start(t, s.url+"/shop")
	g.speaks("en")
	g.goesOnWithAnOldBrowser()
}

// goesOnWithAnOldBrowser: one that cannot run the script does what one without scripts does.
func (g *guest) goesOnWithAnOldBrowser() {
	g.shop.lineUp(g.t, "QUICK", 2)
	g.before(`delete Intl.PluralRules`, func() {
		g.visit("QUICK")
		g.until(g.t, "the shop", `document.title === "Shop"`)
	})
}
