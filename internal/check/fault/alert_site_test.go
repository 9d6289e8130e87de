//go:build alerts

package fault

import (
	"context"
	"net/http"
	"testing"
	"time"
)

// passes has a browser ask for a page of a site, ten times a second, until the test is over.
func (a *alarmed) passes(t *testing.T, zone string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	a.running.Go(func() {
		tick := time.NewTicker(time.Second / 10)
		defer tick.Stop()
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-tick.C:
				s := a.servers[0]
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.site+"/site/"+zone, http.NoBody)
				if err != nil {
					t.Error(err)
					return
				}
				req.Header.Set("X-Forwarded-Uri", "/")
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
			a.broke = time.Now()
			a.passes(t, "BUSSY")
		},
		must: []string{"QueueSiteZoneUnknown"},
	},
}
