package browser

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/zone"
)

// before has the browser run a program before each page's own, until the step has ended.
func (g *guest) before(program string, step func()) {
	g.t.Helper()
	added, err := chromedp.Call(g.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: program})
	must(g.t, err)
	step()
	_, err = chromedp.Call(g.ctx, page.RemoveScriptToEvaluateOnNewDocument, page.RemoveScriptToEvaluateOnNewDocumentParams(added))
	must(g.t, err)
}

// later has an hour pass on the device's clock: whatever the page was to do in this time it does now.
const later = `{ const now = Date.now; Date.now = () => now() + 3600_000; }`

// TestThePageOnOddDevices: what phones, old browsers, wrong clocks and second tabs do to a visitor.
func TestThePageOnOddDevices(t *testing.T) {
	t.Parallel()
	// One a second enters OLD and INSECURE.
	const quick = "  - {zoneId: OLD, perMinute: 60, windowSeconds: 1}\n  - {zoneId: INSECURE, perMinute: 60, windowSeconds: 1}\n" +
		"  - {zoneId: NAP, perMinute: 0, idleTimeoutSeconds: 5}\n"
	s := openShopFrontWith(t, pageZones+quick+fmt.Sprintf(
		"  - {zoneId: SOON, mode: closed, events: [{name: noon, preQueueAt: %s, opensAt: %s, settings: {mode: queue}}]}\n",
		time.Now().Add(30*time.Minute).UTC().Format(time.RFC3339), time.Now().Add(time.Hour).UTC().Format(time.RFC3339)))
	g := &guest{openBrowser(t, chromedp.Flag("host-resolver-rules", "MAP shop.example 127.0.0.1")), t, s}
	g.start(t, s.url+"/shop")
	g.speaks("en")
	g.leavesWithoutScripts()
	g.saysThatItKeepsNoCookies()
	g.goesOnWithAnOldBrowser()
	g.goesOnWithoutAWorker()
	g.keepsTheTurnOnAPhone()
	g.sleepsInAPocket()
	g.leavesTheOtherTabItsPlace()
	g.saysThatItIsBack()
	g.countsDownWithoutAnswers()
}

// leavesWithoutScripts: without TLS a browser says of a form no more than the origin of its page, as older ones do.
func (g *guest) leavesWithoutScripts() {
	forbid := func(is bool) {
		_, err := chromedp.Call(g.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: is})
		must(g.t, err)
	}
	forbid(true)
	g.do(g.t, "visit without TLS", chromedp.Navigate(strings.Replace(g.shop.url, "127.0.0.1", "shop.example", 1)+"/wait/STILL"))
	g.sees("The line is paused")
	g.do(g.t, "leave", chromedp.Click(css("#leave")))
	g.sees("You have left the line")
	forbid(false)
}

// saysThatItKeepsNoCookies: nor does it keep the place then.
func (g *guest) saysThatItKeepsNoCookies() {
	for _, forbidden := range []bool{true, false} {
		_, err := chromedp.Call(g.ctx, emulation.SetDocumentCookieDisabled, emulation.SetDocumentCookieDisabledParams{Disabled: forbidden})
		must(g.t, err)
		g.visit("STILL")
		g.until(g.t, "the script goes on", `!document.querySelector("#sound").closest("p").hidden`)
		if says := strings.HasPrefix(g.text(g.t, "#keep"), "This browser keeps no cookies"); says != forbidden {
			g.t.Errorf("cookies are forbidden: %t, and the page says so: %t", forbidden, says)
		}
	}
}

// goesOnWithAnOldBrowser: one that cannot run the script does what one without scripts does.
func (g *guest) goesOnWithAnOldBrowser() {
	g.shop.lineUp(g.t, "OLD", 2)
	g.before(`delete Intl.PluralRules`, func() {
		g.visit("OLD")
		g.until(g.t, "the shop", `document.title === "Shop"`)
	})
}

// goesOnWithoutAWorker: to some browsers the page's policy forbids its clock.
func (g *guest) goesOnWithoutAWorker() {
	g.shop.lineUp(g.t, "INSECURE", 4)
	g.before(`window.Worker = class { constructor() { throw new DOMException("The operation is insecure.", "SecurityError"); } }`, func() {
		g.visit("INSECURE")
		g.until(g.t, "the shop", `document.title === "Shop"`)
	})
}

// keepsTheTurnOnAPhone: pages show no notifications there, and its clock is an hour fast.
func (g *guest) keepsTheTurnOnAPhone() {
	const phone = `window.Notification = class { constructor() { throw new TypeError("Illegal constructor."); } }; Notification.permission = "%s";` + later
	g.before(fmt.Sprintf(phone, "default"), func() {
		g.visit("STILL")
		g.until(g.t, "no notifications are offered", `!document.querySelector("#sound").closest("p").hidden && document.querySelector("#notify").closest("p").hidden`)
	})
	g.shop.lineUp(g.t, "HIDDEN", 2)
	g.before(fmt.Sprintf(phone, "granted"), func() {
		g.visit("HIDDEN")
		g.do(g.t, "hide the page, and ask for sound and a notification", chromedp.Evaluate[chromedp.Void](hide),
			chromedp.Evaluate[chromedp.Void](`document.querySelector("#notify").checked = true; window.tones = 0;
				const start = OscillatorNode.prototype.start;
				OscillatorNode.prototype.start = function (at) { tones++; return start.call(this, at); };`),
			chromedp.Click(css("#sound")))
		g.sees("It is your turn")
		g.has("#text", `^Your turn is kept for [45] minutes\.$`)
		g.until(g.t, "the sound", `window.tones === 3`)
	})
	// Another tab may have used the turn: who comes back another day has no place that was lost.
	g.do(g.t, "let the turn pass", chromedp.Evaluate[chromedp.Void](later))
	g.sees("Your place is gone")
	if cookie := value[string](g.t, g.browser, `document.cookie`); !strings.HasSuffix(cookie, ".") {
		g.t.Errorf("the cookie is %q", cookie)
	}
}

// sleepsInAPocket: the system freezes the page. The place is taken out of the line, and the page has it again as soon as it goes on.
func (g *guest) sleepsInAPocket() {
	g.shop.lineUp(g.t, "NAP", 1)
	g.visit("NAP")
	g.sees("The line is paused")
	g.state(page.SetWebLifecycleStateStateFrozen)
	stats := func() string { return g.shop.Admin(g.t, "GET", "/admin/zones/NAP/stats", "").Body }
	// On a slow machine the sweeper takes nobody for two minutes.
	if !room.Soon(g.t, 2*room.Patience, func() bool { return strings.Contains(stats(), `"setAside":2`) }) {
		g.t.Fatalf("the place is not set aside: %s", stats())
	}
	g.state(page.SetWebLifecycleStateStateActive)
	woke := time.Now()
	room.Await(g.t, "the page has its place again", func() bool {
		return strings.Contains(stats(), `"returned":1`)
	})
	g.t.Logf("a page that was frozen has its place again %v after it woke", time.Since(woke).Round(time.Millisecond))
	g.until(g.t, "the first place", `document.querySelector("#place").textContent === "1"`)
}

// leavesTheOtherTabItsPlace: a tab whose place is gone does not forget the one that another tab took since.
func (g *guest) leavesTheOtherTabItsPlace() {
	g.visit("STILL")
	g.sees("The line is paused")
	taken := strings.Repeat("f", 32) + ".token"
	g.do(g.t, "lose the place", chromedp.Evaluate[chromedp.Void](`document.cookie = "waitingroom-STILL=`+taken+`; path=/wait/STILL";
		window.fetch = async () => new Response(JSON.stringify({ type: "#token_expired", code: "token_expired",
			html: '<div id="told" data-state="lost"><h1 id="heading">Your place is gone</h1><p id="text"></p></div>' }), { status: 410 });`+later))
	g.sees("Your place is gone")
	if got := value[string](g.t, g.browser, `document.cookie`); got != "waitingroom-STILL="+taken {
		g.t.Errorf("the cookie is %q", got)
	}
	g.do(g.t, "forget it", chromedp.Evaluate[chromedp.Void](`document.cookie = "waitingroom-STILL=; max-age=0; path=/wait/STILL"`))
}

// saysThatItIsBack: who had no place when the connection went away hears of it when it is back.
func (g *guest) saysThatItIsBack() {
	g.visit("SHUT")
	g.sees("The line is closed")
	g.offline(true)
	g.do(g.t, "ask again", chromedp.Evaluate[chromedp.Void](later))
	g.sees("No connection")
	if got := value[string](g.t, g.browser, `window.dispatchEvent(new Event("online")), document.title`); got != "One moment, please" {
		g.t.Errorf("the page is titled %q", got)
	}
	g.offline(false)
	g.sees("The line is closed")
}

// countsDownWithoutAnswers: whatever comes instead of the zone's state, the page keeps what it knows of the event.
func (g *guest) countsDownWithoutAnswers() {
	room.Until(g.t, http.MethodGet, g.shop.Public+"/traffic/zones/SOON", `"announced"`)
	for _, answers := range []string{
		`new Response('{"code":"store_unavailable"}', { status: 503 })`,
		`Promise.reject(new TypeError("Failed to fetch"))`,
		`new Promise((_, reject) => o?.signal?.addEventListener("abort", reject))`, // none, until who asks gives up
	} {
		g.visit("SOON")
		g.sees("Not open yet")
		g.has("#opens", `^\d:\d\d:\d\d$`)
		g.do(g.t, "watch", chromedp.Evaluate[chromedp.Void](`{
			const heading = document.querySelector("h1"), opens = document.querySelector("#opens");
			const left = () => opens.textContent.split(":").reduce((all, n) => 60 * all + Number(n), 0);
			window.passed = (first => () => first - left())(left());
			window.wrong = [];
			let last = left();
			new MutationObserver(() => {
				if (heading.textContent !== "Not open yet") wrong.push(heading.textContent);
				if (left() > last) wrong.push(last + " s left, then " + left());
				last = left();
			}).observe(document.querySelector("main"), { childList: true, characterData: true, subtree: true });
			window.asked = window.ended = 0;
			window.fetch = async (url, o) => {
				asked++;
				try { return await `+answers+`; } finally { ended++; }
			};
		}`))
		g.until(g.t, "two seconds", `passed() >= 2`)
		for i := range 2 {
			g.do(g.t, "ask again", chromedp.Evaluate[chromedp.Void](`window.before = asked;`+later)) // it may have asked by itself since
			g.until(g.t, "it asks", `asked > before || wrong.length > 0`)
			g.until(g.t, "it goes on", fmt.Sprintf(`ended === asked && passed() >= %d || wrong.length > 0`, 6+4*i))
		}
		if wrong := value[string](g.t, g.browser, `wrong.join(", ")`); wrong != "" {
			g.t.Errorf("answered with %s, it says: %s", answers, wrong)
		}
	}
}

// freezesVariable names how long systems freeze pages in TestFreezes. At 30s,90s,300s,800s,1200s it takes 21 minutes.
const freezesVariable = "FREEZES"

// TestFreezes: a line of 2,000 who poll as they are told, and pages with 20 minutes and more before them that the system freezes. Each
// asks as soon as it goes on, and its number has not risen; unless it slept for longer than its place is kept.
func TestFreezes(t *testing.T) {
	t.Parallel()
	s := openShopFrontWith(t, "zones:\n  - {zoneId: POCKET, perMinute: 60}\n")
	b := openBrowser(t)
	b.start(t, "about:blank")
	ctx, end := context.WithCancel(t.Context())
	var line sync.WaitGroup
	defer line.Wait()
	defer end()
	var served atomic.Int64
	joins := func(from, upto int) {
		for i := from; i < upto; i++ {
			line.Go(func() { served.Add(waits(ctx, s.Server, fmt.Sprint("other-", i))) })
			if i%50 == 0 {
				<-time.After(100 * time.Millisecond)
			}
		}
	}
	joins(0, 1400)
	type sleeper struct {
		*guest
		asleep time.Duration
		was    int
	}
	var sleepers []*sleeper
	for text := range strings.SplitSeq(cmp.Or(os.Getenv(freezesVariable), "3s"), ",") {
		asleep, err := time.ParseDuration(text)
		must(t, err)
		tab, cancel := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
		t.Cleanup(cancel)
		g := &guest{&browser{ctx: tab}, t, s}
		g.start(t, s.url+"/wait/POCKET?to=/shop")
		g.sees("You are in line")
		sleepers = append(sleepers, &sleeper{guest: g, asleep: asleep})
	}
	joins(1400, 2000)
	for _, g := range sleepers {
		g.was = g.place()
		g.state(page.SetWebLifecycleStateStateFrozen)
	}
	from, kept := time.Now(), zone.Defaults("POCKET").KeepPlace()
	for _, g := range sleepers { // in the order of their times
		<-time.After(time.Until(from.Add(g.asleep)))
		g.state(page.SetWebLifecycleStateStateActive)
		woke := time.Now()
		g.until(t, "it has asked", fmt.Sprintf(`document.querySelector("#place")?.textContent.replace(",", "") !== "%d"`, g.was))
		is, heading := g.place(), g.text(t, "h1")
		t.Logf("frozen for %v at place %d: %q, place %d, %v after it woke", g.asleep, g.was, heading, is, time.Since(woke).Round(time.Millisecond))
		if g.asleep < kept && (is == 0 && heading != "It is your turn" || is > g.was) {
			t.Errorf("frozen for %v at place %d: %q, place %d", g.asleep, g.was, heading, is)
		}
	}
	end()
	line.Wait()
	t.Logf("of the others %d were admitted; %s", served.Load(), room.Machine())
}

// place is the number that the page shows, 0 for none.
func (g *guest) place() (n int) {
	g.t.Helper()
	_, _ = fmt.Sscan(strings.ReplaceAll(g.text(g.t, "#place"), ",", ""), &n)
	return n
}

// state has the system freeze the page, or go on with it.
func (g *guest) state(s page.SetWebLifecycleStateState) {
	g.t.Helper()
	_, err := chromedp.Call(g.ctx, page.SetWebLifecycleState, page.SetWebLifecycleStateParams{State: s})
	must(g.t, err)
}

// waits joins POCKET and polls as it is told. It returns 1 if it is admitted.
func waits(ctx context.Context, s *room.Server, who string) int64 {
	_, told, err := room.Join(ctx, nil, s.Public, "POCKET", map[string]string{"clientId": who})
	for ctx.Err() == nil {
		switch {
		case told.CanEnter:
			return 1
		case err != nil || told.Token == "":
			return 0
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(told.Waiting.PollingPeriod) * time.Millisecond):
			var r room.Reply
			r, err = room.Ask(ctx, nil, http.MethodPost, s.Public+"/traffic/entry", fmt.Sprintf(`{"zoneId":"POCKET","token":%q}`, told.Token))
			if err == nil {
				err = json.Unmarshal([]byte(r.Body), &told)
			}
		}
	}
	return 0
}
