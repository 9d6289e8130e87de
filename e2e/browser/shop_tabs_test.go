package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/openqueue/waitingroom/e2e/room"
)

// has wants so many admissions since the zone was made, and so many who wait.
func (s *shop) has(t *testing.T, zoneID string, admitted, waiting int64) {
	t.Helper()
	var stats struct {
		Waiting int64 `json:"waiting"`
		Totals  struct {
			Admitted int64 `json:"admitted"`
		} `json:"totals"`
	}
	got := s.Admin(t, http.MethodGet, "/admin/zones/"+zoneID+"/stats", "").Body
	must(t, json.Unmarshal([]byte(got), &stats))
	if stats.Totals.Admitted != admitted || stats.Waiting != waiting {
		t.Errorf("%s: want %d admissions, %d who wait: %s", zoneID, admitted, waiting, got)
	}
}

// tabs: ten tabs that are restored at once have one place, and one admission.
func (s *shop) tabs(t *testing.T, b *browser) {
	t.Helper()
	c := s.customer(t, b, s.before(t, "TABS"))
	c.opens("/assets/a") // what is never queued, and sets no cookie
	c.sees("GET /assets/a")
	c.do(t, "open the tabs", chromedp.Evaluate[chromedp.Void](`window.tabs = Array.from({ length: 10 }, (_, i) => window.open("/shelf/" + i)); undefined`))
	c.until(t, "all tabs to show the place", `tabs.every((tab) => tab.document.querySelector("#place")?.textContent === "1")`)
	s.has(t, "TABS", 0, 1)
	s.set(t, "TABS", `{"perMinute":6000}`)
	c.until(t, "all tabs to be in the shop, or to say that it is the visitor's turn", `tabs.every((tab) => {
		const heading = tab.document.querySelector("h1")?.textContent ?? "";
		if (heading === "It is your turn" && !tab.document.querySelector("#go").hidden) tab.document.querySelector("#enter").click();
		return heading.startsWith("GET /shelf/");
	})`)
	s.has(t, "TABS", 1, 0)
}

// beforeThePass: a visitor whose turn it is opens another page of the shop in a second tab, before the first one leads there.
func (s *shop) beforeThePass(t *testing.T, b *browser) {
	t.Helper()
	c := s.customer(t, b, s.before(t, "DEEP"))
	c.opens("/first")
	c.sees("The line is paused")
	c.do(t, "hide the page", chromedp.Evaluate[chromedp.Void](hide))
	s.set(t, "DEEP", `{"perMinute":6000}`)
	c.sees("It is your turn")
	s.set(t, "DEEP", `{"perMinute":0}`)
	c.do(t, "open a second tab", chromedp.Evaluate[chromedp.Void](`window.second = window.open("/deep?link=1"); undefined`))
	c.until(t, "the second tab to be in the shop", `second.document.querySelector("h1")?.textContent === "GET /deep?link=1"`)
	c.do(t, "enter in the first", chromedp.Click(css("#enter")))
	c.sees("GET /first")
	s.has(t, "DEEP", 1, 0)
}

// TestAShopWithoutCookies: a browser that keeps no cookies is told so when it shows its pass, and goes through the line once.
func TestAShopWithoutCookies(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	profile := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(profile, "Default"), 0o700))
	must(t, os.WriteFile(filepath.Join(profile, "Default", "Preferences"), []byte(`{"profile":{"default_content_setting_values":{"cookies":2}}}`), 0o600))
	b := openBrowser(t, chromedp.IgnoreCertErrors, chromedp.UserDataDir(profile))
	c := &customer{b, t, s.before(t, "BARE")}
	c.start(t, "about:blank")
	c.opens("/cart")
	c.sees("The line is paused")
	c.until(t, "what the page says of cookies", `document.querySelector("#keep").textContent.startsWith("This browser keeps no cookies")`)
	c.opens("/cart") // the place is given up with the page
	c.sees("The line is paused")
	room.Await(t, "one place", func() bool {
		var stats struct {
			Waiting int64 `json:"waiting"`
		}
		must(t, json.Unmarshal([]byte(s.Admin(t, http.MethodGet, "/admin/zones/BARE/stats", "").Body), &stats))
		return stats.Waiting == 1
	})
	s.set(t, "BARE", `{"perMinute":6000}`)
	for i := range 2 {
		c.sees("This browser keeps no cookies")
		c.until(t, "the way in", `document.querySelector("#enter")?.href.includes("/cart?waiting_room_pass=")`)
		s.has(t, "BARE", 1, 0)
		if i == 0 {
			c.do(t, "try again", chromedp.Evaluate[chromedp.Void](`document.querySelector("h1").textContent = ""; document.querySelector("#enter").click()`))
		}
	}
	if s.saw("GET /cart") {
		t.Error(fmt.Sprint("it is in the shop: ", s.asked))
	}
}

// TestAShopOfTwoHosts: the site leads from one host to another, after the wait and after the button of an invitation, too. That takes
// one wait and one admission.
func TestAShopOfTwoHosts(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.set(t, "HOSTS", `{"cookieDomain":"`+apex+`"}`)
	b := openBrowser(t, chromedp.IgnoreCertErrors, chromedp.Flag("host-resolver-rules", "MAP "+apex+" 127.0.0.1, MAP www."+apex+" 127.0.0.1"))
	b.start(t, "about:blank")
	site := strings.Replace(s.before(t, "HOSTS"), "127.0.0.1", apex, 1)
	waits, walksIn := s.customer(t, b, site), s.customer(t, b, site)
	waits.opens("/cart?item=7")
	waits.sees("The line is paused")
	s.set(t, "HOSTS", `{"perMinute":6000}`)
	waits.sees("GET /cart?item=7")
	s.has(t, "HOSTS", 1, 0)
	walksIn.opens("/shelf")
	walksIn.sees("GET /shelf")
	s.has(t, "HOSTS", 2, 0)
	guest := s.customer(t, b, strings.Replace(s.before(t, "GUESTS"), "127.0.0.1", apex, 1))
	guest.opens("/sale?item=7&waiting_room_ticket=" + ticket("alice"))
	guest.sees("You are invited")
	s.has(t, "GUESTS", 0, 0)
	guest.do(t, "accept the invitation", chromedp.Click(css("#accept")))
	guest.sees("GET /sale?item=7")
	s.has(t, "GUESTS", 1, 0)
	for _, c := range []*customer{waits, walksIn, guest} {
		if at := value[string](t, c.browser, `location.hostname`); at != "www."+apex {
			t.Errorf("at %s", at)
		}
	}
}
