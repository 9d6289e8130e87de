//go:build pictures

package browser

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/openqueue/waitingroom/e2e/room"
)

// pictured are the pictures of the waiting page: in which language, light or dark, and
// how wide.
var pictured = []struct {
	language, scheme string
	width            int64
}{{"en", "light", 1280}, {"ko", "light", 390}, {"ar", "light", 390}, {"ja", "dark", 390}, {"de", "dark", 390}}

// shopLogo is a ticket.
const shopLogo = "data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIHdpZHRoPSI0OCIgaGVpZ2h0PSI0OCI+PHBhdGggZmlsbD0iIzBmNzY2ZSIgZD0iTTQgMTJoNDB2OGE0IDQgMCAwIDAgMCA4djhINHYtOGE0IDQgMCAwIDAgMC04eiIvPjxwYXRoIHN0cm9rZT0iI2ZmZiIgc3Ryb2tlLXdpZHRoPSIyIiBzdHJva2UtZGFzaGFycmF5PSIzIDMiIGQ9Ik0zMCAxMnYyNCIvPjwvc3ZnPg=="

// TestPictures takes the pictures of the waiting page, for docs/img. It is run by make
// pictures, and whoever runs it looks at them.
func TestPictures(t *testing.T) {
	s := openShopFront(t)
	g := &guest{openBrowser(t), t, s}
	g.start(t, s.url+"/shop")
	s.lineUp(t, "SLOW", 13)
	r := s.Admin(t, "PATCH", "/admin/zones/SLOW", `{"perMinute":1,"pageTitle":"Riverside Tickets","pageColor":"#0f766e","pageLogo":"`+shopLogo+
		`","message":"The second show is on sale as well. There are seats for everybody in this line."}`)
	if r.Status != 200 {
		t.Fatal(r.Body)
	}
	for _, p := range pictured {
		g.speaks(p.language)
		g.look(t, p.width, p.scheme)
		g.visit("SLOW")
		g.has("#wait", "[0-9][^0-9]+[0-9]")
		picture, err := chromedp.Run(g.ctx, chromedp.FullScreenshot(100))
		must(t, err)
		file := fmt.Sprintf("page-%s-%s-%d.png", p.language, p.scheme, p.width)
		must(t, os.WriteFile(filepath.Join("..", "..", "docs", "img", file), picture, 0o644))
	}
}

// picturedEvent are the pictures of the page while people gather, and of a number that it has verified.
var picturedEvent = []struct {
	language, scheme string
	width            int64
	is               string // what the visitor sees, and so the file's name
}{
	{"en", "light", 1280, "gathering"}, {"ja", "dark", 390, "gathering"}, {"en", "light", 390, "verified"}, {"de", "dark", 390, "verified"},
	{"ar", "light", 390, "announced"},
}

// TestPicturesOfAnEvent takes them of one that opens 38 s after the server has begun.
func TestPicturesOfAnEvent(t *testing.T) {
	const crowd = 600
	began := time.Now()
	at := func(in time.Duration) string { return began.Add(in).UTC().Format(time.RFC3339Nano) }
	const look = `perMinute: 10, pageTitle: Riverside Tickets, pageColor: "#0f766e", pageLogo: "` + shopLogo + `"`
	const texts = `texts: {before: {default: "The river stage, 9 July. Two tickets for each visitor.", de: "Die Flussbühne, 9. Juli. Zwei Karten für alle.", ja: "リバーステージ、7月9日。お一人様2枚まで。", ar: "مسرح النهر، 9 يوليو. تذكرتان لكل زائر."}}`
	s := openShopFrontWith(t, fmt.Sprintf(`zones:
  - {zoneId: LATER, %[1]s, events: [{name: july, order: draw, preQueueAt: %[3]s, opensAt: %[4]s, settings: {perMinute: 600}, %[2]s}]}
  - {zoneId: SOON, mode: closed, %[1]s, events: [{name: july, order: draw, preQueueAt: %[5]s, opensAt: %[6]s, settings: {mode: queue}, %[2]s}]}
  - {zoneId: NOW, %[1]s, events: [{name: july, order: draw, preQueueAt: %[3]s, opensAt: %[7]s, drawClosesSeconds: 25, %[2]s}]}
`, look, texts, at(4*time.Second), at(754*time.Second), at(50*time.Hour), at(51*time.Hour), at(49*time.Second)))
	g := &guest{openBrowser(t), t, s}
	g.start(t, s.url+"/shop")
	room.Until(t, "GET", s.Public+"/traffic/zones/NOW", `"gathering"`)
	g.speaks("en")
	g.visit("NOW") // it has a number then, and has seen the commitment
	g.sees("You are in the waiting room")
	tokens := make([]string, crowd)
	for i := range tokens {
		tokens[i], _ = room.Request(t, "POST", s.Public+"/traffic/wait", `{"zoneId":"NOW"}`).Value(t, "token").(string)
	}
	var polling sync.WaitGroup
	polling.Go(func() { // lest the visitor of the pictures is admitted before those who are not there
		for t.Context().Err() == nil {
			for _, tok := range tokens {
				r, err := http.Post(s.Public+"/traffic/entry", "application/json", strings.NewReader(fmt.Sprintf(`{"zoneId":"NOW","token":%q}`, tok)))
				if err == nil {
					err = r.Body.Close()
				}
				if err != nil {
					return
				}
			}
		}
	})
	t.Cleanup(polling.Wait)
	s.lineUp(t, "LATER", crowd)
	shoot := func(is string) {
		for _, p := range picturedEvent {
			if p.is != is {
				continue
			}
			g.speaks(p.language)
			g.look(t, p.width, p.scheme)
			zoneID := map[string]string{"gathering": "LATER", "announced": "SOON", "verified": "NOW"}[is]
			g.visit(zoneID)
			g.until(t, "the countdown", `document.querySelector("#opens").textContent.includes(":") || document.querySelector("#told").dataset.state !== "gathering"`)
			if is == "verified" {
				g.until(t, "the check", `!document.querySelector("#check").hidden`)
				g.do(t, "check", chromedp.Click(css("summary")), chromedp.Click(css("#now")))
				g.has("#checked", "^✓")
			}
			picture, err := chromedp.Run(g.ctx, chromedp.FullScreenshot(100))
			must(t, err)
			file := fmt.Sprintf("page-%s-%s-%s-%d.png", is, p.language, p.scheme, p.width)
			must(t, os.WriteFile(filepath.Join("..", "..", "docs", "img", file), picture, 0o644))
		}
	}
	shoot("gathering")
	shoot("announced")
	for began := time.Now(); time.Since(began) < time.Minute && !strings.Contains(room.Until(t, "GET", s.Public+"/traffic/zones/NOW", `"phase":"open"`).Body, `"phase":"open"`); {
		t.Log("not open yet")
	}
	shoot("verified")
}
