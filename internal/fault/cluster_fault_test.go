//go:build faults

package fault

import (
	"net/http"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

func TestClusterMasterKilled(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	dies := c.shard(t, zonesKey)
	lives := (dies + 1) % shards
	s := play(t, "cluster: master killed", c.url(),
		busy(c.zoneOn(t, dies, "DIES")), strict(c.zoneOn(t, dies, "STRICT")), busy(c.zoneOn(t, lives, "LIVES")))
	s.engines = append(s.engines, c.nodes[lives], c.nodes[dies+shards])
	s.fill(t, aCrowd, aFew, aCrowd)
	s.breaks()
	c.nodes[dies].kill()
	s.staysReady(t, func() { s.mends(c.awaitTakeover(t, dies)) })
	s.settle(t)
	s.curtain(t)
	s.untouched(t, s.zones[2])
}

func TestClusterMasterHangs(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	hangs := c.shard(t, zonesKey)
	lives := (hangs + 1) % shards
	s := play(t, "cluster: master hangs, and comes back as a replica", c.url(),
		busy(c.zoneOn(t, hangs, "HANGS")), strict(c.zoneOn(t, hangs, "STRICT")), busy(c.zoneOn(t, lives, "LIVES")))
	s.engines = append(s.engines, c.nodes...)
	s.fill(t, aCrowd, aFew, aCrowd)
	s.breaks()
	c.nodes[hangs].hang()
	s.staysReady(t, func() {
		// An operator can change the other zone all the same.
		began := time.Now()
		s.servers[1].operate(t, http.MethodPatch, s.zones[2].ZoneID, `{"maxWaiting":100000}`, http.StatusOK)
		t.Logf("a change took %v", time.Since(began))
		s.mends(c.awaitTakeover(t, hangs))
	})
	await(t, settleTimeout, "the zone is served by its new master", func() bool {
		return s.crowd.answered(s.zones[0].ZoneID, s.back) > aCrowd/10
	})
	c.nodes[hangs].goOn()
	s.settle(t)
	s.curtain(t)
	s.untouched(t, s.zones[2])
}

// atOnce is how soon nine of ten are answered by a zone that is well, on a
// machine that is not late itself: far below the time-out of a call.
const atOnce = 100 * time.Millisecond

// untouched fails the test if a zone on a node that is well had its rate or its
// latency changed by the fault of another.
func (s *scene) untouched(t *testing.T, z zone.Settings) {
	t.Helper()
	over := s.broke.Add(z.Window())
	limit := int(window.RatesOf(z).Limit)
	in := s.crowd.count(func(v *visitor) bool {
		return v.zoneID == z.ZoneID && v.admitted > s.broke.UnixMilli() && v.admitted <= over.UnixMilli()
	})
	if in < limit*9/10 {
		t.Errorf("%s: %d were let in within the window after the fault, want %d", z.ZoneID, in, limit)
	}
	took := s.crowd.latency(z.ZoneID, s.broke, s.back)
	t.Logf("%s: %d of %d let in, nine of ten answered within %v", z.ZoneID, in, limit, took)
	if took > atOnce+s.slack {
		t.Errorf("%s: nine of ten were answered within %v, want %v", z.ZoneID, took, atOnce)
	}
}
