package browser

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/schedule"

	"github.com/openqueue/waitingroom/e2e/room"
)

// eventZones are zones in each state that an event has. People gather for DRAWN 40 s from now; when its draw closes and
// when it opens, which lets nobody in even then, is for who moves it. The others are soon in a state in which they stay.
func eventZones(now time.Time) string {
	at := func(seconds int) string {
		return now.Add(time.Duration(seconds) * time.Second).UTC().Format(time.RFC3339Nano)
	}
	const texts = `texts: {before: {default: Soon., en: The doors open at noon.}, during: {default: Now., en: The doors are open.}, after: {default: It was., en: See you next year.}}`
	return fmt.Sprintf(`zones:
  - {zoneId: DRAWN, mode: closed, events: [{name: noon, order: draw, preQueueAt: %[1]s, opensAt: %[2]s, drawClosesSeconds: 600, settings: {mode: queue, perMinute: 0}, %[8]s}]}
  - {zoneId: FAR, mode: closed, events: [{name: noon, preQueueAt: %[3]s, opensAt: %[4]s, %[8]s}]}
  - {zoneId: GATHERS, events: [{name: noon, preQueueAt: %[1]s, opensAt: %[4]s, %[8]s}]}
  - {zoneId: SETTLED, events: [{name: noon, preQueueAt: %[1]s, opensAt: %[5]s, drawClosesSeconds: 3600, %[8]s}]}
  - {zoneId: OVER, mode: closed, events: [{name: noon, opensAt: %[1]s, closesAt: %[6]s, endsAt: %[7]s, %[8]s}]}
  - {zoneId: PAST, events: [{name: noon, opensAt: %[1]s, closesAt: %[6]s, %[8]s}]}
`, at(40), at(3670), at(3*86_400), at(3*86_400+3600), at(3643), at(41), at(42), texts)
}

// TestEventsInABrowser is a visitor's way through an event, on a device whose clock is three hours slow.
func TestEventsInABrowser(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	b.start(t, "about:blank")
	began := time.Now()
	s := openShopFrontWith(t, eventZones(began))
	room.Until(t, "GET", s.Public+"/traffic/zones/DRAWN", `"announced"`)
	opens := func(in time.Duration) {
		t.Helper()
		body := fmt.Sprintf(`{"step":"opens","to":%q}`, time.Now().Add(in).Format(time.RFC3339Nano))
		if got := s.Admin(t, "POST", "/admin/zones/DRAWN/events/noon/move", body); got.Status != http.StatusOK {
			t.Fatalf("moved: %+v", got)
		}
	}
	g := &guest{b, t, s}
	g.speaks("en")
	_, err := chromedp.Call(g.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: `{ const now = Date.now; Date.now = () => now() - 3 * 3600_000; }`,
	})
	must(t, err)
	g.visit("DRAWN")
	g.sees("Not open yet")
	g.has("#opens", `^1:0[01]:\d\d$`)
	g.has("#when", `^Opening: \w+, \w+ \d+, \d+ at `)
	g.has("#news", `^The doors open at noon\.$`)
	g.sees("You are in the waiting room") // by itself
	g.has("#text", "random place")
	before := time.Until(began.Add(3670 * time.Second))
	left := value[string](t, g.browser, `document.querySelector("#opens").textContent`)
	after := time.Until(began.Add(3670 * time.Second))
	shown, err := time.Parse("15:04:05", "0"+left)
	if is := shown.Sub(shown.Truncate(24 * time.Hour)); err != nil || is > before+3*time.Second || is < after-3*time.Second {
		t.Errorf("it counts %q down, and opens in %v", left, after)
	}
	for i := range 40 {
		room.Request(t, "POST", s.Public+"/traffic/wait", fmt.Sprintf(`{"zoneId":"DRAWN","clientId":"other-%d"}`, i))
	}
	for _, at := range []struct{ zoneID, heading, id, shows string }{
		{"SETTLED", "You are in line", "#text", "From the opening on"},
		{"GATHERS", "You are in the waiting room", "#text", "Who came first goes in first"},
	} {
		g.visit(at.zoneID)
		g.sees(at.heading)
		g.has(at.id, at.shows)
		g.inspect(at.zoneID)
	}
	opens(603 * time.Second) // the draw closes at once
	room.Until(t, "GET", s.Public+"/traffic/zones/DRAWN/events/noon/draw", `"listHash"`)
	g.visit("DRAWN")
	g.sees("Your number is drawn")
	place := g.text(t, "#place")
	g.do(t, "reload", chromedp.Reload())
	g.sees("Your number is drawn")
	g.has("#place", "^"+place+"$")
	g.inspect("a number that is drawn")
	for zoneID, heading := range map[string]string{"FAR": "Not open yet", "OVER": "It is over", "PAST": "The line is closed"} {
		g.visit(zoneID)
		g.sees(heading)
		g.has("#news", map[string]string{"FAR": "at noon"}[zoneID])
		g.inspect(zoneID)
	}
	opens(3 * time.Second)
	g.visit("DRAWN")
	g.until(t, "the opening", `!document.querySelector("#check").hidden`)
	g.has("#news", `^The doors are open\.$`)
	g.checksTheNumber(place)
	g.saysWhatIsWrong()
	for _, line := range g.errors() {
		if !strings.Contains(line, "Failed to load resource") {
			t.Errorf("the browser complains: %s", line)
		}
	}
}

// has waits for a part of the page to have a text like this.
func (g *guest) has(selector, like string) {
	g.t.Helper()
	g.until(g.t, selector+" "+like, fmt.Sprintf(`new RegExp(%q).test(document.querySelector(%q).textContent)`, like, selector))
}

// checksTheNumber: what the page says of its number is what the list says, and the commitment that it saw
// has outlived what the page was loaded for.
func (g *guest) checksTheNumber(place string) {
	g.t.Helper()
	tok := value[string](g.t, g.browser, `document.cookie.match(/waitingroom-DRAWN=[^.]*\.([^;]*)/)[1]`)
	raw, err := base64.RawURLEncoding.DecodeString(tok)
	must(g.t, err)
	ticket := event.TicketOf("DRAWN", "noon", [8]byte(raw[2:10]))
	tickets, err := schedule.ReadTickets([]byte(room.Request(g.t, "GET", g.shop.Public+"/traffic/zones/DRAWN/events/noon/draw/list", "").Body))
	must(g.t, err)
	number := 1 + slices.Index(tickets, ticket)
	if len(tickets) != 41 || strconv.Itoa(number) != place {
		g.t.Errorf("number %d of %d, and the page was told %s", number, len(tickets), place)
	}
	g.do(g.t, "ask", chromedp.Click(css("summary")), chromedp.Click(css("#now")))
	g.has("#checked", fmt.Sprintf(`^✓ Number %d of 41, drawn and verified\. It follows from the secret to which`, number))
	if at := value[string](g.t, g.browser, `document.querySelector("#list").getAttribute("href")`); at != "/traffic/zones/DRAWN/events/noon/draw/list" {
		g.t.Errorf("it leads to %q", at)
	}
	g.inspect("a number that was verified")
}

// saysWhatIsWrong: a commitment that is another one, and a list without the number.
func (g *guest) saysWhatIsWrong() {
	for _, tt := range []struct{ before, after, says string }{
		{`void 0`, `{ const real = window.fetch; window.fetch = async (url, o) => {
			const answer = await real(url, o);
			return String(url).endsWith("/list") ? new Response(new Uint8Array((await answer.arrayBuffer()).byteLength)) : answer;
		}; }`, "not on the published list"},
		{`localStorage["waitingroom-DRAWN"] = JSON.stringify({ ...JSON.parse(localStorage["waitingroom-DRAWN"]), commitment: "f".repeat(64) })`, `void 0`,
			"not the one to which the organiser was committed"},
	} {
		g.do(g.t, "load it again", chromedp.Evaluate[chromedp.Void](tt.before), chromedp.Reload())
		g.until(g.t, "the check", `!document.querySelector("#check").hidden`)
		g.do(g.t, "ask", chromedp.Evaluate[chromedp.Void](tt.after), chromedp.Click(css("summary")), chromedp.Click(css("#now")))
		g.has("#checked", tt.says)
		g.inspect(tt.says)
	}
}
