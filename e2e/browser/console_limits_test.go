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
// server.
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
	o.agreesOnTheFlood(d)

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
		n, err := strconv.ParseFloat(strings.ReplaceAll(o.text(o.t, `tr[data-row=api] [data-f="`+key+`"]`), ",", ""), 64)
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
