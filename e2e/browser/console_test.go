package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/openqueue/waitingroom/e2e/room"
)

func css(selector string) chromedp.CSS { return chromedp.CSS(selector) }

// operatorAt is somebody at the console in a browser.
type operatorAt struct {
	*browser
	t      *testing.T
	server *room.Server
}

// ask presses what leads to the dialog, and waits for it.
func (o *operatorAt) ask(what string, steps ...act) {
	o.t.Helper()
	o.do(o.t, what, append(steps, chromedp.WaitVisible(css("dialog[open] form")))...)
}

// confirm says yes in the dialog, and waits for the page to say that it is done.
func (o *operatorAt) confirm(what string) {
	o.t.Helper()
	o.do(o.t, what, chromedp.Click(css("dialog[open] button.main")),
		chromedp.WaitNotPresent(css("dialog[open]")), chromedp.WaitVisible(css("[data-part=done] .banner.ok")))
}

// setLimit types a limit and confirms it.
func (o *operatorAt) setLimit(perMinute string) {
	o.t.Helper()
	o.ask("type a limit", chromedp.SetValue(css("#limit"), perMinute), chromedp.Click(css("#limit + button")))
	o.confirm("set the limit")
}

// zoneIs reports the zone's settings, as the API has them.
func (o *operatorAt) zoneIs(name string) any {
	return o.server.Admin(o.t, "GET", "/admin/zones/EVENT", "").Value(o.t, name)
}

// TestConsoleInABrowser is the operator's day, in a real browser on a real
// server, with 500 visitors over HTTP.
func TestConsoleInABrowser(t *testing.T) {
	t.Parallel()
	s := room.Start(t, map[string]string{"QUEUE_TRUSTED_PROXIES": "127.0.0.0/8"})
	b := openBrowser(t)
	o := &operatorAt{b, t, s}

	o.start(t, s.Operators+"/")
	o.until(t, "the log in", `location.pathname === "/console/login"`)
	o.check(t, "log in")
	o.do(t, "log in with a wrong token", chromedp.SendKeys(css("#who"), "Anna"),
		chromedp.SendKeys(css("#token"), "not-the-operators-token"), chromedp.Click(css("button.main")),
		chromedp.WaitVisible(css("#token-fault")))
	if got := o.text(t, "#token-fault"); !strings.Contains(got, "That is not the operators’ token.") &&
		!strings.Contains(got, "That is no token of an operator.") {
		t.Errorf("a wrong token: %q", got)
	}
	o.check(t, "log in refused")
	if complaints := o.errors(); len(complaints) > 1 || len(complaints) == 1 && !strings.Contains(complaints[0], "401") {
		t.Errorf("the browser complains of more than the 401: %q", complaints)
	}
	o.do(t, "log in", chromedp.SendKeys(css("#token"), room.OperatorToken), chromedp.Click(css("button.main")),
		chromedp.WaitVisible(css("#zones")))

	o.do(t, "make a zone", chromedp.Click(css(`nav a[href="/console/new"]`)), chromedp.WaitVisible(css("#f-zoneId")))
	o.check(t, "new zone")
	o.do(t, "make a zone", chromedp.SendKeys(css("#f-zoneId"), "EVENT"), chromedp.SetValue(css("#f-perMinute"), "600"),
		chromedp.Click(css("details summary")), chromedp.SetValue(css("#f-windowSeconds"), "1"),
		chromedp.Click(css("main button.main")), chromedp.WaitVisible(css("#zone")))
	o.until(t, "live figures", `document.querySelector("#live").dataset.liveState === "live"`)
	o.until(t, "one plot in each chart of a zone that has no past",
		`[...document.querySelectorAll("[data-plot]")].every((el) => el.querySelectorAll(".uplot").length === 1)`)

	visitors := invite(t, s.Public, "EVENT", 500)
	o.until(t, "a long line", `+document.querySelector("[data-f=waiting]").textContent > 400`)
	o.until(t, "the limit in use", `+document.querySelector("[data-f=window]").textContent === 10`)
	o.doublesTheLimit()
	o.pausesAndUndoes(visitors)
	o.refusesANetwork()
	o.refusesOtherSites()
	o.looksAtThePages()
	o.deletes(visitors)
	if complaints := o.errors(); len(complaints) > 0 {
		t.Errorf("the browser complains: %q", complaints)
	}
}

// doublesTheLimit wants the rate to follow.
func (o *operatorAt) doublesTheLimit() {
	o.t.Helper()
	o.setLimit("1,200")
	o.until(o.t, "more than the old limit", `+document.querySelector("[data-f=window]").textContent > 10`)
	if got := o.zoneIs("perMinute"); got != 1200.0 {
		o.t.Errorf("the limit is %v", got)
	}
}

// pausesAndUndoes pauses, and takes the pause back with one click.
func (o *operatorAt) pausesAndUndoes(visitors *party) {
	o.t.Helper()
	o.look(o.t, 390, "light")
	if bottom := value[float64](o.t, o.browser, `document.querySelector("button[name=perMinute][value='0']").getBoundingClientRect().bottom + scrollY`); bottom > 844 {
		o.t.Errorf("on a phone the pause ends %.0f px down", bottom)
	}
	o.look(o.t, 1280, "light")
	o.ask("pause", chromedp.Click(css(`button[name=perMinute][value="0"]`)))
	if got := o.text(o.t, "dialog .effects"); !strings.Contains(got, "Nobody is admitted. Visitors who wait (") {
		o.t.Errorf("before pausing the page says %q", got)
	}
	o.check(o.t, "dialog")
	o.confirm("pause")
	o.until(o.t, "nobody is admitted", `document.querySelector("[data-f=window]").textContent === "0" &&
		document.querySelector("#state .word").textContent === "Paused"`)
	o.check(o.t, "zone, paused, after a change")

	_, before := visitors.count(o.t)
	o.do(o.t, "undo", chromedp.Click(css("[data-part=done] form button")))
	o.until(o.t, "people are admitted again", `document.querySelector("#state .word").textContent === "Admitting" &&
		+document.querySelector("[data-f=window]").textContent > 0`)
	if got := o.zoneIs("perMinute"); got != 1200.0 {
		o.t.Errorf("after undoing, the limit is %v", got)
	}
	if _, now := visitors.count(o.t); now <= before {
		o.t.Errorf("after undoing, nobody came in: %d, then %d", before, now)
	}
}

// refusesOtherSites has a page of another origin, in the same browser with the
// same cookies, send the console's own form.
func (o *operatorAt) refusesOtherSites() {
	o.t.Helper()
	o.do(o.t, "another origin's page", chromedp.Navigate(o.server.Public+"/healthz"),
		chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`{
			const form = document.createElement("form");
			form.method = "post"; form.action = %q;
			const field = document.createElement("input");
			field.name = "confirm"; field.value = "EVENT";
			form.append(field); document.body.append(form); form.submit();
		}`, o.server.Operators+"/console/zones/EVENT/delete")), chromedp.WaitVisible(css("body.page-error")))
	if got := o.text(o.t, "h1"); got != "The request comes from another site" {
		o.t.Errorf("another origin's form: %q", got)
	}
	if got := o.zoneIs("zoneId"); got != "EVENT" {
		o.t.Errorf("the zone is %v", got)
	}
	if complaints := o.errors(); len(complaints) > 1 || len(complaints) == 1 && !strings.Contains(complaints[0], "403") {
		o.t.Errorf("the browser complains of more than the 403: %q", complaints)
	}
}

// refusesANetwork refuses a network from the list of networks, and sees its share there.
func (o *operatorAt) refusesANetwork() {
	o.t.Helper()
	const network = "2001:db8:1234:5678::/64"
	if got, err := room.Ask(o.t.Context(), nil, http.MethodPost, o.server.Public+"/traffic/wait", `{"zoneId":"EVENT"}`, "X-Forwarded-For", "2001:db8:1234:5678::1"); err != nil || got.Status != http.StatusOK {
		o.t.Fatalf("%+v, %v", got, err)
	}
	o.do(o.t, "the networks", chromedp.Click(css(`.tabs a[href$="tab=networks"]`)), chromedp.WaitVisible(css("#networks-title")))
	o.check(o.t, "zone, with a network")
	o.ask("refuse a network", chromedp.Click(css(`button[name=share][value="0"]`)))
	o.confirm("refuse a network")
	o.until(o.t, "the share in the list", `document.querySelector("[data-part=networks] button[value='']") !== null`)
	if got := fmt.Sprint(o.zoneIs("networkShares")); got != "["+network+"=0]" {
		o.t.Errorf("the shares are %s", got)
	}
}

// looksAtThePages has axe look at the pages that were not looked at yet.
func (o *operatorAt) looksAtThePages() {
	o.t.Helper()
	for page, path := range map[string]string{
		"all zones": "", "limits": "limits", "tokens": "tokens", "record": "changes", "zone": "zones/EVENT",
		"zone, events": "zones/EVENT?tab=events", "zone, page": "zones/EVENT?tab=page", "zone, networks": "zones/EVENT?tab=networks",
		"zone, settings": "zones/EVENT?tab=settings", "zone, record": "zones/EVENT?tab=record", "confirm": "zones/EVENT/change?perMinute=3000",
		"delete": "zones/EVENT/delete",
	} {
		o.do(o.t, page, chromedp.Navigate(o.server.Operators+"/console/"+path), chromedp.WaitVisible(css("main h1")))
		if page == "zone" {
			o.until(o.t, "a chart", `document.querySelector(".plot canvas") !== null`)
			o.do(o.t, "the table", chromedp.Evaluate[chromedp.Void](
				`for (const el of document.querySelectorAll("details")) el.open = true;`))
		}
		if page == "zone, page" {
			o.look(o.t, 390, "light")
			// The preview is sandboxed: once it is there, this page cannot look into it.
			o.until(o.t, "a preview", `document.querySelector("iframe").contentDocument === null`)
		}
		o.check(o.t, page)
	}
}

// deletes takes the zone away, in the dialog, by its name.
func (o *operatorAt) deletes(visitors *party) {
	o.t.Helper()
	o.do(o.t, "the zone", chromedp.Navigate(o.server.Operators+"/console/zones/EVENT?tab=settings"),
		chromedp.WaitVisible(css("#zone")), chromedp.Click(css("[data-part=settings] > details summary")))
	o.ask("delete", chromedp.Click(css("[data-part=settings] > details a")))
	o.do(o.t, "a wrong name", chromedp.SendKeys(css("dialog #confirm"), "OTHER"),
		chromedp.Click(css("dialog button.danger")), chromedp.WaitVisible(css("#confirm-fault")))
	if complaints := o.errors(); len(complaints) > 1 || len(complaints) == 1 && !strings.Contains(complaints[0], "422") {
		o.t.Errorf("the browser complains of more than the 422: %q", complaints)
	}
	if got := o.zoneIs("zoneId"); got != "EVENT" {
		o.t.Fatalf("the zone is %v", got)
	}
	o.do(o.t, "its name", chromedp.SendKeys(css("dialog #confirm"), "EVENT"),
		chromedp.Click(css("dialog button.danger")), chromedp.WaitVisible(css("#zones .live")))
	if got := o.server.Admin(o.t, "GET", "/admin/zones/EVENT", ""); got.Status != http.StatusNotFound {
		o.t.Errorf("the zone answers %d", got.Status)
	}
	visitors.end()
	joined, admitted := visitors.count(o.t)
	if joined != 500 {
		o.t.Errorf("%d joined, %d were admitted", joined, admitted)
	}
}
