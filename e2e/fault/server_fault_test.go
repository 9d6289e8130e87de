//go:build faults

package fault

import (
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/zone"
)

// slowReply is how long replies take to the server that is killed: so long that
// polls queue up for the next batch, and not so long that calls fail.
const slowReply = 100 * time.Millisecond

// TestServerKilled kills one of two servers when Redis has run a batch of its
// calls and the replies are still under way: its visitors go to the other.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	e := startEngine(t)
	p := startProxy(t, e.addr())
	zones := []zone.Settings{busy("BUSY"), strict("STRICT")}
	s := setUpOn(t, "server killed in mid-batch", zones,
		startServer(t, serverOptions{redisURL: e.url()}), startServer(t, serverOptions{redisURL: p.url()}))
	s.engines, s.loses = append(s.engines, e), losesNothing
	s.fill(t, aCrowd, aFew)
	// More come, so that there is a batch to be in the middle of.
	p.slow(slowReply)
	s.crowd.arrive(t.Context(), "BUSY", aCrowd, time.Second/2)
	there := s.joined()
	await(t, settleTimeout, "joins and a reply are under way", func() bool {
		return s.joined() > there+aCrowd/4 && p.holds() > 0
	})
	s.breaks()
	s.servers[1].Kill()
	s.mends(time.Now())
	p.slow(0)
	s.settle(t)
	if n := s.refused(); n == 0 {
		t.Error("nobody's connection broke off: the server was not in the middle of anything")
	}
	s.servers[1].start(t)
	s.finish(t)
}
