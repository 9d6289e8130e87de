//go:build alerts

package fault

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// opensIn lists an event that opens so far from now, and waits until the servers have taken it
// up. It returns when it opens.
func (a *alarmed) opensIn(t *testing.T, d time.Duration) time.Time {
	t.Helper()
	at := time.Now().Add(d).Truncate(time.Second)
	a.set(t, fmt.Sprintf(`"events":[{"name":"noon","opensAt":%q}]`, at.UTC().Format(time.RFC3339)))
	await(t, settleTimeout, "the event is announced", func() bool {
		status, text, err := a.servers[0].get(t.Context(), a.servers[0].operators+"/admin/zones/"+a.zone.ZoneID)
		return err == nil && status == http.StatusOK && strings.Contains(text, `"phase":"announced"`)
	})
	return at
}

var eventAlarms = []alarm{
	{
		fault: "Redis hangs for 5 s when an event opens", zone: busy("BUSY"), options: shared,
		breaks: func(t *testing.T, a *alarmed) {
			t.Helper()
			a.broke = a.opensIn(t, 10*time.Second)
			past := func(at time.Time) func() bool { return func() bool { return time.Now().After(at) } }
			await(t, settleTimeout, "it opens in a second", past(a.broke.Add(-time.Second)))
			a.engine.hang()
			t.Cleanup(a.engine.goOn)
			await(t, settleTimeout, "it should have opened", past(a.broke.Add(4*time.Second)))
			a.engine.goOn()
		},
		must: []string{"QueueEventLate"}, may: []string{"QueueSweepOld", "QueueStoreErrors", "QueueStoreFailing", "QueueServerNotReady", "QueueScriptSlow"},
	},
	{
		fault: "an operator holds the opening of an event, and forgets", zone: busy("BUSY"), options: shared,
		breaks: func(t *testing.T, a *alarmed) {
			t.Helper()
			a.broke = a.opensIn(t, 10*time.Second)
			a.servers[0].send(t, http.MethodPost, "/admin/zones/BUSY/events/noon/steps/opens", `{"do":"hold"}`, http.StatusOK)
		},
		must: []string{"QueueEventHeld"},
	},
}
