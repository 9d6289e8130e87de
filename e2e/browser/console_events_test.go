package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/openqueue/waitingroom/e2e/room"
)

// TestEventInABrowser lists a sale that opens in some seconds, holds its opening and frees it, in
// a browser in another time zone than the server, with 20 visitors over HTTP.
func TestEventInABrowser(t *testing.T) {
	t.Parallel()
	s := room.Start(t, nil)
	b := openBrowser(t)
	o := &operatorAt{b, t, s}
	o.start(t, s.Operators+"/")
	o.until(t, "the log in", `location.pathname === "/console/login"`)
	o.do(t, "log in", chromedp.SendKeys(css("#who"), "Anna"), chromedp.SendKeys(css("#token"), room.OperatorToken),
		chromedp.Click(css("button.main")), chromedp.WaitVisible(css("#zones")))
	if _, err := chromedp.Call(b.ctx, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Kolkata"}); err != nil {
		t.Fatal(err)
	}
	s.Admin(t, "PUT", "/admin/zones/EVENT", `{"perMinute":600,"windowSeconds":1}`)

	o.do(t, "the form", chromedp.Navigate(s.Operators+"/console/zones/EVENT/new-event"), chromedp.WaitVisible(css("#f-name")),
		chromedp.Evaluate[chromedp.Void](`for (const el of document.querySelectorAll("details")) el.open = true;`))
	o.check(t, "event form")
	if got := o.text(t, "[data-timezone]"); got != "Asia/Kolkata" && got != "Asia/Calcutta" {
		t.Errorf("times are those of %q", got)
	}
	gathers := time.Now().Add(10 * time.Second).Truncate(time.Second)
	opens := gathers.Add(20 * time.Second)
	o.writes("#f-preQueueAt", gathers)
	o.writes("#f-opensAt", opens)
	o.do(t, "a name and a limit", chromedp.SetValue(css("#f-name"), "noon"), chromedp.SetValue(css(`[name="during.perMinute"]`), "1,200"))
	o.ask("what it does", chromedp.Click(css("main form button.main")))
	if got := o.text(t, "dialog .effects"); !strings.Contains(got, "people gather, and nobody is admitted, with perMinute=1,200.") {
		t.Errorf("before it is listed the page says %q", got)
	}
	o.check(t, "dialog of an event")
	o.do(t, "list it", chromedp.Click(css("dialog[open] button.main")), chromedp.WaitVisible(css("#zone")))
	listed := fmt.Sprint(o.zoneIs("events"))
	if want := "+05:30"; !strings.Contains(listed, "opensAt:"+opens.In(kolkata).Format("2006-01-02T15:04:05")+want) {
		t.Errorf("listed %s, want it to open at %v", listed, opens.In(kolkata))
	}
	o.until(t, "the event on the zone's page", `document.querySelector(".next-event .until")?.textContent.endsWith(" s") === true`)
	o.do(t, "the event", chromedp.Click(css(".next-event a.button")), chromedp.WaitVisible(css("#event-page")))
	o.until(t, "a countdown that runs", `(window.first ??= document.querySelector(".countdown").textContent.trim()) !== document.querySelector(".countdown").textContent.trim()`)

	o.until(t, "gathering", `document.querySelector("#state .word").textContent === "Places fixed" && document.querySelector("#next-title").textContent.startsWith("It opens")`)
	visitors := invite(t, s.Public, "EVENT", 20)
	o.until(t, "20 have gathered", `document.querySelector("[data-f=waiting]").textContent === "20"`)
	o.ask("hold", chromedp.Click(css(`.upnext button[value=hold]`)))
	if got := o.text(t, "dialog .effects"); !strings.Contains(got, "Visitors who wait (20) keep their places") {
		t.Errorf("before holding the page says %q", got)
	}
	o.check(t, "dialog of a step")
	o.confirm("hold")
	o.do(t, "it is loud", chromedp.WaitVisible(css(".upnext.loud")))
	o.check(t, "event, held")
	o.until(t, "its time is past", fmt.Sprintf(`Date.now() > %d`, opens.Add(time.Second).UnixMilli()))
	if _, admitted := visitors.count(t); admitted > 0 {
		t.Errorf("%d were admitted while the opening was held", admitted)
	}

	o.writes("#to-opens", time.Now().Add(8*time.Second).Truncate(time.Second))
	o.ask("move", chromedp.Click(css(".upnext .move .row:last-child button")))
	o.confirm("move")
	if got := o.text(t, "#next-title"); !strings.HasPrefix(got, "It opens") {
		t.Errorf("after the move the page says %q", got)
	}
	o.until(t, "it is open", `document.querySelector("#state .word").textContent === "Open" && document.querySelector("#next-title").textContent === "Nothing further"`)
	o.until(t, "all are in", `document.querySelector("[data-f=waiting]").textContent === "0"`)
	if _, admitted := visitors.count(t); admitted != 20 {
		t.Errorf("%d were admitted", admitted)
	}
	for _, what := range []string{"Anna", "event noon"} {
		if got := o.text(t, "[data-part=record]"); !strings.Contains(got, what) {
			t.Errorf("the record does not name %s: %s", what, got)
		}
	}
	o.check(t, "event, open")
	o.do(t, "the zone's page", chromedp.Navigate(s.Operators+"/console/zones/EVENT"), chromedp.WaitVisible(css("#zone .live")))
	o.check(t, "zone with events")
	if complaints := o.errors(); len(complaints) > 0 {
		t.Errorf("the browser complains: %q", complaints)
	}
}

// kolkata is where the operator is: half an hour off the full hours, all year.
var kolkata = time.FixedZone("Asia/Kolkata", int((5*time.Hour + 30*time.Minute).Seconds()))

// writes puts a time into a field that shows those of the operator's zone.
func (o *operatorAt) writes(field string, at time.Time) {
	o.t.Helper()
	o.do(o.t, "type a time", chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`{
		const el = document.querySelector(%q);
		if (el.type !== "datetime-local") throw new Error("no field of the browser's own zone");
		el.value = %q;
		el.dispatchEvent(new Event("input", {bubbles: true}));
	}`, field, at.In(kolkata).Format("2006-01-02T15:04:05"))))
}
