//go:build pictures

package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/openqueue/waitingroom/e2e/room"
)

// TestPicturesOfTheStates takes the contact sheet of the console: all states of the page, in a language and a scheme.
func TestPicturesOfTheStates(t *testing.T) {
	s := room.Start(t, map[string]string{"QUEUE_CONFIG": room.Config(t, `zones:
  - {zoneId: SHOP, pageTitle: Riverside Tickets, pageColor: "#0f766e", pageLogo: "`+shopLogo+`",
     message: {default: "The second show is on sale as well.", de: "Auch für die zweite Vorstellung gibt es Karten."},
     messageNear: {default: "Have your card ready.", de: "Halten Sie Ihre Karte bereit."},
     pageLinks: [{url: "https://shop.example/imprint", text: {default: Imprint, de: Impressum}}]}
`)})
	o := &operatorAt{openBrowser(t), t, s}
	o.start(t, s.Operators+"/")
	o.do(t, "log in", chromedp.SendKeys(css("#who"), "Anna"), chromedp.SendKeys(css("#token"), room.OperatorToken),
		chromedp.Click(css("button.main")), chromedp.WaitVisible(css("#zones")))
	for _, p := range []struct {
		language, scheme string
		width            int64
	}{{"en", "light", 1280}, {"de", "dark", 1280}, {"ar", "light", 1280}} {
		o.look(t, p.width, p.scheme)
		o.do(t, "the form", chromedp.Navigate(s.Operators+"/console/zones/SHOP?tab=page"), chromedp.WaitVisible(css("#preview-state")))
		o.until(t, "a preview", `document.querySelector("iframe").contentDocument === null`)
		o.do(t, "all states", chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`{
			const form = document.querySelector("form[data-part=page]"), all = form.querySelector("[name=previewAll]");
			form.elements.previewLanguage.value = %q; form.elements.previewScheme.value = %q; all.formTarget = "_self"; form.requestSubmit(all); }`, p.language, p.scheme)),
			chromedp.WaitVisible(css("figure:last-child iframe")))
		<-time.After(time.Second)
		picture, err := chromedp.Run(o.ctx, chromedp.FullScreenshot(100))
		must(t, err)
		must(t, os.WriteFile(filepath.Join("..", "..", "docs", "img", fmt.Sprintf("page-states-%s-%s-%d.png", p.language, p.scheme, p.width)), picture, 0o644))
	}
}
