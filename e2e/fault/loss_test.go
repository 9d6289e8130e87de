package fault

import (
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/zone"
)

// aCrowd is how many come to the zone that a fault hits, and aFew to the zone
// of the strict minute.
const (
	aCrowd = 300
	aFew   = 12
)

// zonesKey is the key of the list of zones. It lies on a node like any other,
// and the node that dies here is that one.
const zonesKey = "zones"

// TestTwoServers is no fault: it shows what the others are held to.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	six, one := busy("SIX"), busy("ONE")
	one.WindowSeconds = 1 // 10 in any second
	e := startEngine(t)
	s := setUp(t, "none: two servers", e.url(), six, one, strict("STRICT"))
	s.engines, s.loses = append(s.engines, e), losesNothing
	for _, z := range s.zones[:2] {
		s.crowd.arrive(t.Context(), z.ZoneID, 200, time.Second)
	}
	s.crowd.arrive(t.Context(), "STRICT", aFew, time.Second)
	s.breaks()
	s.mends(time.Now())
	await(t, settleTimeout, "windows and a minute were filled", func() bool {
		return s.crowd.admitted("SIX") >= 170 && s.crowd.admitted("ONE") >= 170 && s.crowd.admitted("STRICT") >= 6
	})
	s.finish(t)
	// However long that took on this machine: that many were let in within the
	// first minute, and nobody else.
	if v := s.verdicts[2]; v.mostMinute != 6 {
		t.Errorf("%d entered within a minute, want 6", v.mostMinute)
	}
}

func TestFlushAll(t *testing.T) {
	t.Parallel()
	e := startEngine(t)
	s := setUp(t, "FLUSHALL, 1,000 waiting", e.url(), busy("BUSY"), strict("STRICT"))
	s.engines = append(s.engines, e)
	s.fill(t, aThousand, aFew)
	s.breaks()
	e.do(t, "FLUSHALL")
	s.mends(time.Now())
	s.settle(t)
	// Who starts now has to find the zones in the store, which has lost its
	// list of them once more.
	e.do(t, "DEL", zonesKey)
	emptied := time.Now()
	await(t, settleTimeout, "the list of zones is written anew", func() bool {
		return e.do(t, "SCARD", zonesKey) == "2"
	})
	if took, late := time.Since(emptied), s.baseline.slack(); took > recovery+late {
		t.Errorf("the list of zones was written anew after %v, want %v; the machine was %v late", took, recovery, late)
	}
	s.finish(t)
	s.inOrder(t)
}

// aThousand wait where a whole line is to be put back.
const aThousand = 1000

// TestEmbeddedKilled kills the one server of an embedded store and starts it on
// the same data folder.
func TestEmbeddedKilled(t *testing.T) {
	t.Parallel()
	zones := []zone.Settings{busy("BUSY"), strict("STRICT")}
	s := setUpOn(t, "embedded store: server killed, 1,000 waiting", zones, startServer(t, serverOptions{}))
	s.fill(t, aThousand, aFew)
	s.breaks()
	s.servers[0].Kill()
	s.refusals(t, aThousand/4)
	s.servers[0].start(t)
	s.mends(time.Now())
	s.settle(t)
	s.finish(t)
	s.inOrder(t)
}
