//go:build alerts

package fault

import (
	"context"
	"testing"
	"time"
)

// presses has a client ask so many times a second whether it may go on, of both
// servers by turns, until the test is over.
func (a *alarmed) presses(t *testing.T, policy string, perSecond int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	a.running.Go(func() {
		tick := time.NewTicker(time.Second / time.Duration(perSecond))
		defer tick.Stop()
		for i := 0; ctx.Err() == nil; i++ {
			select {
			case <-ctx.Done():
			case <-tick.C:
				// What is not answered, Prometheus sees, too.
				_, _, _ = a.servers[i%len(a.servers)].asks(ctx, policy, "ip:203.0.113.9")
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		a.running.Wait()
	})
}

// policy makes a policy, and waits until both servers have it.
func (a *alarmed) policy(t *testing.T, name, text string) {
	t.Helper()
	a.servers[0].limit(t, name, text)
	for _, s := range a.servers {
		await(t, settleTimeout, "both servers know the policy", func() bool {
			_, _, err := s.asks(t.Context(), name, "ip:198.51.100.1")
			return err == nil
		})
	}
}

// nearlyUsed is what every experiment raises besides, in which a client is refused.
const nearlyUsed = "QueueLimitsNearlyUsed"

var limitAlarms = []alarm{
	{
		fault: "a client asks ten times a second, and may five times", zone: busy("BUSY"), options: shared,
		breaks: func(t *testing.T, a *alarmed) {
			t.Helper()
			a.policy(t, "api", `{"rules":[{"algorithm":"sliding_log","limit":5,"windowSeconds":1}]}`)
			a.broke = time.Now()
			a.presses(t, "api", 10)
		},
		must: []string{"QueueLimitsRefusing"}, may: []string{nearlyUsed},
	},
	{
		fault: "a client asks ten times a second, which is all that it may", zone: busy("BUSY"), options: shared,
		breaks: func(t *testing.T, a *alarmed) {
			t.Helper()
			a.policy(t, "api", `{"rules":[{"algorithm":"sliding_log","limit":20,"windowSeconds":2}]}`)
			a.broke = time.Now()
			a.presses(t, "api", 10)
		},
		must: []string{nearlyUsed}, may: []string{"QueueLimitsRefusing"},
	},
	{
		fault: "a client asks 50 times a second, and may once a minute", zone: busy("BUSY"), options: shared,
		breaks: func(t *testing.T, a *alarmed) {
			t.Helper()
			a.policy(t, "api", limitOf(1, "local"))
			a.broke = time.Now()
			a.presses(t, "api", 50)
		},
		must: []string{"QueueLimitsFlood"}, may: []string{"QueueLimitsRefusing", nearlyUsed},
	},
	{
		fault: "Redis is killed, while a service asks about limits", zone: busy("BUSY"), options: shared,
		breaks: func(t *testing.T, a *alarmed) {
			t.Helper()
			a.policy(t, "api", limitOf(10_000, "local"))
			a.presses(t, "api", 5)
			a.broke = time.Now()
			a.engine.Kill()
		},
		must: []string{"QueueLimitsStoreFailing"},
		may:  []string{"QueueStoreFailing", "QueueStoreErrors", "QueueServerNotReady", "QueueSweepOld", "QueueRefusals"},
	},
}
