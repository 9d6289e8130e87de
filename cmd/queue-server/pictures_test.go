//go:build pictures

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
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
	r := s.admin(t, "PATCH", "/admin/zones/SLOW", `{"perMinute":1,"pageTitle":"Riverside Tickets","pageColor":"#0f766e","pageLogo":"`+shopLogo+
		`","message":"The second show is on sale as well. There are seats for everybody in this line."}`)
	if r.status != 200 {
		t.Fatal(r.body)
	}
	for _, p := range pictured {
		g.speaks(p.language)
		g.look(t, p.width, p.scheme)
		g.visit("SLOW")
		picture, err := chromedp.Run(g.ctx, chromedp.FullScreenshot(100))
		must(t, err)
		file := fmt.Sprintf("page-%s-%s-%d.png", p.language, p.scheme, p.width)
		must(t, os.WriteFile(filepath.Join("..", "..", "docs", "img", file), picture, 0o644))
	}
}
