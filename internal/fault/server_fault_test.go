//go:build faults

package fault

import (
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/zone"
)

// TestServerKilled kills one of two servers while calls of both are under way:
// its visitors go to the other.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	e := startEngine(t)
	s := play(t, "server killed in mid-batch", e.url(), busy("BUSY"), strict("STRICT"))
	s.engines, s.lossless = append(s.engines, e), true
	s.fill(t, aCrowd, aFew)
	s.breaks()
	// More come, so that there is a batch to be in the middle of.
	s.crowd.arrive(t.Context(), "BUSY", aCrowd, time.Second/2)
	there := s.joined()
	await(t, settleTimeout, "joins are under way", func() bool { return s.joined() > there+aCrowd/4 })
	s.servers[1].kill()
	s.mends(time.Now())
	s.settle(t)
	s.servers[1].start(t)
	s.curtain(t)
}

// TestClocks has two servers whose clocks differ by 10 s. Only the store's
// clock may count.
func TestClocks(t *testing.T) {
	t.Parallel()
	e := startEngine(t)
	zones := []zone.Settings{busy("BUSY"), strict("STRICT")}
	s := stage(t, "clocks of two servers differ by 10 s", zones,
		startServer(t, serverOptions{redisURL: e.url()}),
		startServer(t, serverOptions{redisURL: e.url(), clockAhead: 10 * time.Second}))
	s.engines, s.lossless = append(s.engines, e), true
	s.breaks()
	s.mends(time.Now())
	s.fill(t, aCrowd, aFew)
	for i, ahead := range []time.Duration{0, 10 * time.Second} {
		if off := time.Until(s.servers[i].clock(t)) - ahead; off.Abs() > 2*time.Second {
			t.Errorf("the clock of server %d is %v off its own error", i, off)
		}
	}
	s.settle(t)
	s.curtain(t)
}
