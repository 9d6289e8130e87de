//go:build alerts

package fault

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/zone"
)

// asks has a gateway ask about a site, ten times a second, until the test is over, and notes
// when that began. header is name, value, name, value.
func (a *alarmed) asks(t *testing.T, zoneID string, header ...string) {
	t.Helper()
	a.broke = time.Now()
	ctx, cancel := context.WithCancel(context.Background())
	a.running.Go(func() {
		tick := time.NewTicker(time.Second / 10)
		defer tick.Stop()
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-tick.C:
				s := a.servers[0]
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.site+"/site/"+zoneID, http.NoBody)
				if err != nil {
					t.Error(err)
					return
				}
				for i := 0; i+1 < len(header); i += 2 {
					req.Header.Set(header[i], header[i+1])
				}
				// What is not answered, Prometheus sees, too.
				_, _, _ = s.do(req)
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		a.running.Wait()
	})
}

var siteAlarms = []alarm{
	{
		fault: "a gateway asks about a zone whose name is misspelt", zone: busy("BUSY"), options: shared,
		breaks: func(t *testing.T, a *alarmed) {
			t.Helper()
			a.asks(t, "BUSSY", "X-Forwarded-Uri", "/")
		},
		must: []string{"QueueSiteZoneUnknown"},
	},
	{
		fault: "a gateway does not say what its visitors ask for", zone: busy("BUSY"), options: shared,
		breaks: func(t *testing.T, a *alarmed) {
			t.Helper()
			a.asks(t, "BUSY")
		},
		must: []string{"QueueSiteUnreadable"}, may: []string{"QueueRefusals"},
	},
	{
		fault: "passes of another installation are shown to a site", zone: busy("BUSY"), options: shared,
		breaks: func(t *testing.T, a *alarmed) {
			t.Helper()
			a.asks(t, "BUSY", "Sec-Fetch-Mode", "navigate", "X-Original-URI", "/cart?waiting_room_pass=made.up.pass")
		},
		must: []string{"QueueSitePassesRefused"}, may: []string{"QueueSiteSendsAway"},
	},
	{
		fault: "a webhook calls a site, and is not in bypassPaths", zone: busy("BUSY"), options: shared,
		breaks: func(t *testing.T, a *alarmed) {
			t.Helper()
			a.asks(t, "BUSY", "X-Forwarded-Uri", "/hook")
		},
		must: []string{"QueueSiteSendsAway"},
	},
	{
		fault: "a gateway keeps the cookie to itself", zone: func() zone.Settings {
			z := busy("BUSY")
			z.PerMinute = 6000
			return z
		}(), options: shared,
		breaks: func(t *testing.T, a *alarmed) {
			t.Helper()
			a.asks(t, "BUSY", "Sec-Fetch-Mode", "navigate", "X-Forwarded-Uri", "/")
		},
		must: []string{"QueueSiteSessionsLost"},
	},
}
