package browser

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/openqueue/waitingroom/e2e/room"
)

// flooded is five in a minute, counted exactly.
const flooded = `limits:
  - name: api
    rules: [{algorithm: sliding_log, limit: 5, windowSeconds: 60}]
    tiers:
      pro: [{algorithm: token_bucket, limit: 50, windowSeconds: 1}]
`

// deluge is a client that asks on and on, whatever it is told, until it is ended.
type deluge struct {
	paused, allowed, refused, unknown atomic.Int64
	end                               func()
}

// pour asks of the policy, 200 times a second at most.
func pour(t *testing.T, s *room.Server) *deluge {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	d := &deluge{}
	client := &http.Client{Transport: &http.Transport{}}
	var work sync.WaitGroup
	work.Go(func() {
		for tick := time.Tick(5 * time.Millisecond); ctx.Err() == nil; <-tick {
			if d.paused.Load() != 0 {
				continue
			}
			r, err := room.Ask(ctx, client, http.MethodPost, s.Limits+"/limits/api/check", `{"key":"ip:203.0.113.9"}`, "Content-Type", "application/json")
			switch {
			case err != nil:
			case r.Status == http.StatusOK:
				d.allowed.Add(1)
			case r.Status == http.StatusTooManyRequests:
				d.refused.Add(1)
			default:
				d.unknown.Add(1)
			}
		}
	})
	d.end = func() {
		cancel()
		work.Wait()
		client.CloseIdleConnections()
	}
	t.Cleanup(d.end)
	return d
}

// TestLimitsInABrowser is an operator who sees a flood, in a real browser on a real
// server, and does something about it.
func TestLimitsInABrowser(t *testing.T) {
	t.Parallel()
	s := room.Start(t, map[string]string{"QUEUE_CONFIG": room.Config(t, flooded)})
	b := openBrowser(t)
	o := &operatorAt{b, t, s}
	o.start(t, s.Operators+"/")
	o.until(t, "the log in", `location.pathname === "/console/login"`)
	o.do(t, "log in", chromedp.SendKeys(css("#who"), "Anna"), chromedp.SendKeys(css("#token"), room.OperatorToken),
		chromedp.Click(css("button.main")), chromedp.WaitVisible(css("#zones")))
	o.do(t, "limits", chromedp.Click(css(`nav a[href="/console/limits"]`)), chromedp.WaitVisible(css("#limits")))
	o.until(t, "live figures", `document.querySelector("#live").dataset.liveState === "live"`)

	d := pour(t, s)
	const api = `document.querySelector("tr[data-row=api]")`
	o.until(t, "a flood", `+`+api+`.querySelector("[data-f=refusals]").textContent.replaceAll(",", "") > 100`)
	o.until(t, "its state", api+`.querySelector(".word").textContent === "Refusing many"`)
	o.check(t, "limits")
	o.do(t, "the policy", chromedp.Click(css(`tr[data-row=api] a`)), chromedp.WaitVisible(css("#limit-page")))
	o.do(t, "all of it", chromedp.Evaluate[chromedp.Void](`for (const el of document.querySelectorAll("details")) el.open = true;`))
	o.fitsItsTiles()
	o.check(t, "policy")
	o.agreesOnTheFlood(d)

	o.raisesTheLimit(d)
	o.undoesTheLimit(d)
	o.deletesThePolicy(d)
	if complaints := o.errors(); len(complaints) > 0 {
		t.Errorf("the browser complains: %q", complaints)
	}
}

// decisions are how many questions to the policy had an outcome, as Prometheus is
// told.
func (o *operatorAt) decisions(metrics, outcome string) float64 {
	o.t.Helper()
	var all float64
	for _, found := range regexp.MustCompile(`(?m)^queue_limit_decisions_total\{outcome="`+outcome+`",policy="api",tier="\w+"\} (\S+)$`).
		FindAllStringSubmatch(metrics, -1) {
		n, err := strconv.ParseFloat(found[1], 64)
		if err != nil {
			o.t.Fatal(err)
		}
		all += n
	}
	return all
}

// agreesOnTheFlood wants Prometheus and the one who floods to say the same, while the flood pauses, and the page not to say
// more.
func (o *operatorAt) agreesOnTheFlood(d *deluge) {
	o.t.Helper()
	d.paused.Store(1)
	defer d.paused.Store(0)
	figure := func(key string) float64 {
		n, err := strconv.ParseFloat(strings.ReplaceAll(o.text(o.t, `[data-f="`+key+`"]`), ",", ""), 64)
		if err != nil {
			return -1
		}
		return n
	}
	var said string
	same := func() bool {
		metrics := room.Request(o.t, "GET", o.server.Operators+"/metrics", "").Body
		ok := true
		said = fmt.Sprintf("told: %d allowed, %d refused;", d.allowed.Load(), d.refused.Load())
		for key, counted := range map[string]float64{
			"let":      o.decisions(metrics, "allowed") - float64(d.allowed.Load()),
			"refusals": o.decisions(metrics, "refused") + o.decisions(metrics, "refused_from_memory") - float64(d.refused.Load()),
		} {
			page := figure(key) // of the last minute
			said += fmt.Sprintf(" %s: page %v, metrics %v more;", key, page, counted)
			ok = ok && counted == 0 && page > 0
		}
		return ok && figure("let") <= float64(d.allowed.Load()) && figure("refusals") <= float64(d.refused.Load())
	}
	deadline := time.Now().Add(room.Patience)
	for !same() {
		if time.Now().After(deadline) {
			o.t.Errorf("figures differ: %s", said)
			return
		}
		<-time.After(100 * time.Millisecond)
	}
	o.t.Logf("the same on all sides: %s", said)
}

// policyIs is the policy's limit, as the API has it.
func (o *operatorAt) policyIs() string {
	o.t.Helper()
	return room.Request(o.t, "GET", o.server.Operators+"/admin/limits/api", "", "Authorization", "Bearer "+room.OperatorToken).Body
}

// raisesTheLimit types another limit, sees what it does and confirms it, while the flood is on. It is let through then.
func (o *operatorAt) raisesTheLimit(d *deluge) {
	o.t.Helper()
	o.ask("a limit", chromedp.SetValue(css(`[name="default.1.sliding_log.limit"]`), "9,000"), chromedp.Click(css(".controls form button")))
	if got := o.text(o.t, "dialog .effects"); !strings.Contains(got, "A client may take 9,000 in any 60 s.") {
		o.t.Errorf("before the change the page says %q", got)
	}
	o.check(o.t, "dialog of a policy")
	before := d.allowed.Load()
	o.confirm("a limit")
	room.Await(o.t, "the limit is obeyed", func() bool { return d.allowed.Load() > before })
	o.until(o.t, "the page to see it", `+document.querySelector("[data-f=let]").textContent.replaceAll(",", "") > 100`)
}

// undoesTheLimit takes the change back with one click; what was taken counts, so
// the flood is refused at once.
func (o *operatorAt) undoesTheLimit(d *deluge) {
	o.t.Helper()
	if got := o.policyIs(); strings.Contains(got, `"limit":5,`) {
		o.t.Errorf("before undoing: %s", got)
	}
	o.do(o.t, "undo", chromedp.Click(css("[data-part=done] form button")))
	o.until(o.t, "the old limit", `document.querySelector('[name="default.1.sliding_log.limit"]').value === "5"`)
	if got := o.policyIs(); !strings.Contains(got, `"limit":5,`) {
		o.t.Errorf("after undoing: %s", got)
	}
	allowed, refused := d.allowed.Load(), d.refused.Load()
	room.Await(o.t, "the flood is refused", func() bool { return d.refused.Load() >= refused+50 })
	if n := d.allowed.Load() - allowed; n > 1 { // one may have been under way
		o.t.Errorf("after undoing, %d were let through", n)
	}
	o.do(o.t, "the record", chromedp.Click(css(`nav a[href="/console/changes"]`)), chromedp.WaitVisible(css("table.changes")))
	if got := o.text(o.t, "table.changes"); !strings.Contains(got, "Anna") || !strings.Contains(got, "Made the policy") {
		o.t.Errorf("the record: %q", got)
	}
}

// deletesThePolicy takes it away by its name: from then on there is none.
func (o *operatorAt) deletesThePolicy(d *deluge) {
	o.t.Helper()
	o.do(o.t, "the policy", chromedp.Navigate(o.server.Operators+"/console/limits/api"),
		chromedp.WaitVisible(css("#limit-page")), chromedp.Click(css(".controls details:last-of-type summary")))
	o.ask("delete", chromedp.Click(css(".controls details:last-of-type a")))
	o.do(o.t, "a wrong name", chromedp.SendKeys(css("dialog #confirm"), "other"),
		chromedp.Click(css("dialog button.danger")), chromedp.WaitVisible(css("#confirm-fault")))
	if complaints := o.errors(); len(complaints) > 1 || len(complaints) == 1 && !strings.Contains(complaints[0], "422") {
		o.t.Errorf("the browser complains of more than the 422: %q", complaints)
	}
	o.do(o.t, "its name", chromedp.SendKeys(css("dialog #confirm"), "api"),
		chromedp.Click(css("dialog button.danger")), chromedp.WaitVisible(css("#limits .live")))
	if got := o.text(o.t, ".banner.ok"); !strings.Contains(got, "api was deleted by Anna") {
		o.t.Errorf("after deleting: %q", got)
	}
	room.Await(o.t, "the policy is gone", func() bool { return d.unknown.Load() > 0 })
	d.end()
}
