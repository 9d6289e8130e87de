package browser

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// challengeZones ask for work before they give a place; QUIET only while there is a line.
const challengeZones = `zones:
  - {zoneId: WORK, perMinute: 0, challenge: work, challengeWhen: always, challengeMillis: 500}
  - {zoneId: TWO, perMinute: 0, challenge: work, challengeWhen: always, challengeMillis: 500}
  - {zoneId: OFFLINE, perMinute: 0, challenge: work, challengeWhen: always, challengeMillis: 500}
  - {zoneId: HARD, perMinute: 0, challenge: work, challengeWhen: always, challengeMillis: 5000}
  - {zoneId: QUIET, perMinute: 600, challenge: work}
  - {zoneId: SLOW, perMinute: 0, challenge: work, challengeWhen: always, challengeMillis: 5000}
`

// TestChallengeInABrowser: the page does the work by itself and takes a place, in any language, in two tabs, on the way back,
// and after the connection was gone in the middle. On a quiet day nobody is asked.
func TestChallengeInABrowser(t *testing.T) {
	t.Parallel()
	s := openShopFrontWith(t, challengeZones)
	g := &guest{openBrowser(t), t, s}
	g.start(t, s.url+"/shop")
	g.speaks("en")
	g.visit("QUIET")
	g.until(t, "the shop on a quiet day", `document.title === "Shop"`)

	g.visit("HARD")
	g.sees("One moment")
	g.inspect("the work")
	if got := g.text(t, "#text"); got != "Your place is being taken. Your browser does a short calculation, which keeps bots out." {
		t.Errorf("it says %q", got)
	}
	for language, paused := range map[string]string{"en": "The line is paused", "de": "Die Schlange steht still", "ar": "الصف متوقف"} {
		g.speaks(language)
		g.visit("WORK")
		g.until(t, "a place, in "+language, `document.querySelector("#told").dataset.state === "paused"`)
		if got := g.text(t, "#heading"); language == "en" && got != paused {
			t.Errorf("in %s it says %q", language, got)
		}
	}
	g.speaks("en")
	was := g.text(t, "#place")
	g.do(t, "go elsewhere", chromedp.Navigate(s.url+"/shop"))
	g.do(t, "go back", chromedp.Evaluate[chromedp.Void](`history.back()`))
	g.until(t, "the place, on the way back", `document.querySelector("#told")?.dataset.state === "paused"`)
	if is := g.text(t, "#place"); is != was {
		t.Errorf("place %s, and on the way back %s", was, is)
	}

	g.visit("TWO")
	tab, cancel := chromedp.NewContext(g.ctx)
	defer cancel()
	second := &guest{&browser{ctx: tab}, t, s}
	second.start(t, s.url+"/wait/TWO?to=/shop")
	for _, one := range []*guest{g, second} {
		one.until(t, "a place in each of two tabs", `document.querySelector("#told").dataset.state === "paused" && document.querySelector("#place").textContent === "1"`)
	}
	cancel()

	g.visit("OFFLINE")
	g.offline(true)
	g.sees("No connection")
	g.offline(false)
	g.until(t, "a place after the connection was gone", `document.querySelector("#told").dataset.state === "paused"`)
	if complaints := g.errors(); len(complaints) > 40 { // the browser notes each 403 and each call without a connection
		t.Errorf("the browser complains: %q", complaints)
	}
}

// TestChallengeWithoutJIT: a browser that compiles no scripts, as in a phone's locked mode, has a place though it cannot do the work in
// time, also where browsers without scripts get none.
func TestChallengeWithoutJIT(t *testing.T) {
	t.Parallel()
	s := openShopFrontWith(t, challengeZones)
	b := openBrowser(t, chromedp.Flag("js-flags", "--jitless"))
	began := time.Now()
	b.start(t, s.url+"/wait/SLOW?to=/shop")
	b.until(t, "a place without the work", `document.querySelector("#told").dataset.state === "paused"`)
	t.Logf("a place after %v", time.Since(began).Round(time.Second))
}
