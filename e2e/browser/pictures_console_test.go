//go:build pictures

package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/openqueue/waitingroom/e2e/room"
)

// TestPicturesOfTheConsole takes those of an operator's morning: a crowd of 2,000 in one zone, a few in others, a
// policy that is flooded, and an event that opens in a while. It takes six minutes, for the charts to show something.
func TestPicturesOfTheConsole(t *testing.T) {
	at := func(in time.Duration) string { return time.Now().Add(in).UTC().Format(time.RFC3339) }
	s := room.Start(t, map[string]string{"QUEUE_DOOR_LIMITS": "off", "QUEUE_CONFIG": room.Config(t, fmt.Sprintf(`zones:
  - {zoneId: TICKETS-2026, perMinute: 240}
  - {zoneId: BANK.transfers, perMinute: 0}
  - {zoneId: museum-tours, perMinute: 120}
  - {zoneId: SALE, perMinute: 60, events: [{name: noon, order: draw, preQueueAt: %s, opensAt: %s, settings: {perMinute: "2400"}}]}
limits:
  - {name: api, rules: [{algorithm: sliding_log, limit: 600, windowSeconds: 60}]}
`, at(time.Minute), at(8*time.Minute)))})
	for zoneID, n := range map[string]int{"TICKETS-2026": 2000, "BANK.transfers": 120, "museum-tours": 300, "SALE": 400} {
		invite(t, s.Public, zoneID, n)
	}
	var flood sync.WaitGroup
	flood.Go(func() {
		for tick := time.Tick(5 * time.Millisecond); t.Context().Err() == nil; <-tick {
			_, _ = room.Ask(t.Context(), nil, "POST", s.Limits+"/limits/api/check", `{"key":"ip:203.0.113.9"}`, "Content-Type", "application/json")
		}
	})
	t.Cleanup(flood.Wait)
	o := &operatorAt{openBrowser(t), t, s}
	o.start(t, s.Operators+"/")
	o.do(t, "log in", chromedp.SendKeys(css("#who"), "Anna"), chromedp.SendKeys(css("#token"), room.OperatorToken),
		chromedp.Click(css("button.main")), chromedp.WaitVisible(css("#zones")))
	s.Operate(t, "PATCH", "/admin/zones/TICKETS-2026", `{"maxWaiting":50000}`)
	<-time.After(6 * time.Minute)
	for name, path := range map[string]string{
		"zones": "", "zone": "zones/TICKETS-2026", "limits": "limits", "event": "zones/SALE/schedule/noon",
	} {
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int64{1280, 390} {
				o.look(t, width, scheme)
				o.do(t, name, chromedp.Navigate(s.Operators+"/console/"+path), chromedp.WaitVisible(css(`[data-live-state=live]`)))
				<-time.After(time.Second)
				picture, err := chromedp.Run(o.ctx, chromedp.FullScreenshot(100))
				must(t, err)
				file := fmt.Sprintf("console-%s-%s-%d.png", name, scheme, width)
				must(t, os.WriteFile(filepath.Join("..", "..", "docs", "img", file), picture, 0o600))
			}
		}
	}
}
