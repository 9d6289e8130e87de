package fault

import (
	"strconv"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/check/process"
	"github.com/openqueue/waitingroom/internal/zone"
)

// aCrowd is how many come to the zone that a fault hits, aThousand where a whole line is to be put back, and
// aFew to the zone of the strict minute.
const (
	aCrowd    = 300
	aThousand = 1000
	aFew      = 12
)

// zonesKey is the key of the list of zones. It lies on a node like any other,
// and the node that dies here is that one.
const zonesKey = "zones"

// port is one of this machine that nobody listens on.
func port(t *testing.T) string {
	t.Helper()
	n, err := process.FreePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(n)
}

// after is a condition that holds after a time.
func after(d time.Duration) func() bool {
	at := time.Now().Add(d)
	return func() bool { return !time.Now().Before(at) }
}

// broken is what a fault has at hand: Redis, and a proxy before it.
type broken struct {
	*experiment
	engine *engine
	proxy  *proxy
}

// away has Redis be away until half of a crowd were refused.
func (b *broken) away(t *testing.T, goes, comes func()) {
	t.Helper()
	goes()
	room.Await(t, "both servers say that the store is away", b.storeIsAway)
	b.refusals(t, aCrowd/2)
	comes()
}

// restart kills Redis and starts it anew.
func restart(t *testing.T, b *broken) {
	t.Helper()
	b.away(t, b.engine.Kill, func() { b.engine.start(t) })
}

// faults hit the Redis that two servers share.
var faults = []struct {
	fault string
	// redis are its arguments.
	redis []string
	loses loss
	// crowd comes to the zone that is hit; 0 for aCrowd.
	crowd int
	// breaks makes the fault while the crowd is there, and returns when Redis is well again.
	breaks func(t *testing.T, b *broken)
}{
	{"SCRIPT FLUSH, again and again", nil, losesNothing, 0, func(t *testing.T, b *broken) {
		t.Helper()
		long := after(3 * time.Second)
		room.Await(t, "the scripts are flushed for a while", func() bool {
			b.engine.do(t, "SCRIPT", "FLUSH")
			return long()
		})
	}},
	{"Redis killed, with AOF (fsync always)", []string{"--appendonly", "yes", "--appendfsync", "always"}, losesNothing, 0, restart},
	{"Redis killed, with AOF (everysec)", []string{"--appendonly", "yes"}, losesLast, 0, restart},
	{"Redis killed, without persistence", nil, losesAll, 0, restart},
	{"Redis away for longer than the idle timeout", []string{"--appendonly", "yes"}, losesLast, 0, func(t *testing.T, b *broken) {
		t.Helper()
		b.engine.Kill()
		room.Await(t, "the outage lasts", after(b.zones[0].IdleTimeout()+2*time.Second))
		b.engine.start(t)
	}},
	{"Redis hangs for 3 s", nil, losesNothing, 0, func(t *testing.T, b *broken) {
		t.Helper()
		b.away(t, b.engine.hang, b.engine.goOn)
	}},
	{"READONLY", nil, losesNothing, 0, func(t *testing.T, b *broken) {
		t.Helper()
		b.engine.do(t, "REPLICAOF", "127.0.0.1", port(t)) // a replica of nobody keeps its data
		b.refusals(t, aCrowd/2)
		b.engine.do(t, "REPLICAOF", "NO", "ONE")
	}},
	{"FLUSHALL, 1,000 waiting", nil, losesAll, aThousand, func(t *testing.T, b *broken) {
		t.Helper()
		b.engine.do(t, "FLUSHALL")
		b.mends(time.Now())
		b.settle(t)
		// Who starts now has to find the zones in the store, which has lost its list of them once more.
		b.engine.do(t, "DEL", zonesKey)
		room.Await(t, "the list of zones is written anew", func() bool { return b.engine.do(t, "SCARD", zonesKey) == "2" })
	}},
	{"Redis out of memory", nil, losesNothing, 0, func(t *testing.T, b *broken) {
		t.Helper()
		b.engine.do(t, "CONFIG", "SET", "maxmemory", "1mb")
		in, there := b.crowd.admitted("BUSY"), b.joined()
		b.crowd.arrive("BUSY", aCrowd/3, time.Second)
		b.refusals(t, aCrowd/3)
		room.Await(t, "those who wait are let in", func() bool { return b.crowd.admitted("BUSY") >= in+aFew })
		if n := b.joined(); n != there {
			t.Errorf("%d joined a Redis without memory", n-there)
		}
		b.engine.do(t, "CONFIG", "SET", "maxmemory", "0")
	}},
	{"a reply lost after the script ran: connection cut", nil, losesNothing, 0, func(t *testing.T, b *broken) {
		t.Helper()
		loseReplies(t, b, true)
	}},
	{"a reply lost after the script ran: nothing comes", nil, losesNothing, 0, func(t *testing.T, b *broken) {
		t.Helper()
		loseReplies(t, b, false)
	}},
}

// lostReplies is how many replies are lost, one of ten.
const lostReplies = 15

// loseReplies has more join meanwhile.
func loseReplies(t *testing.T, b *broken, cut bool) {
	t.Helper()
	lost := b.proxy.swallow(lostReplies, cut)
	b.crowd.arrive("BUSY", aCrowd/3, time.Second)
	room.Await(t, "replies are lost", func() bool { return lost() == lostReplies })
}

// TestFaults plays each fault while a crowd goes through two zones.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, tt := range faults {
		t.Run(tt.fault, func(t *testing.T) {
			t.Parallel()
			e := startEngine(t, tt.redis...)
			p := startProxy(t, e.Addr())
			b := &broken{setUp(t, tt.fault, p.url(), busy("BUSY"), strict("STRICT")), e, p}
			b.loses = tt.loses
			b.fill(t, max(tt.crowd, aCrowd), aFew)
			b.breaks()
			tt.breaks(t, b)
			b.mends(time.Now())
			b.settle(t)
			b.finish(t)
			if tt.crowd > aCrowd {
				b.inOrder(t)
			}
		})
	}
}

// TestTwoServers is no fault: it shows what the others are held to.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	six, one := busy("SIX"), busy("ONE")
	one.WindowSeconds = 1 // 10 in any second
	e := startEngine(t)
	s := setUp(t, "none: two servers", e.URL(), six, one, strict("STRICT"))
	s.loses = losesNothing
	for _, z := range s.zones[:2] {
		s.crowd.arrive(z.ZoneID, 200, time.Second)
	}
	s.crowd.arrive("STRICT", aFew, time.Second)
	s.breaks()
	s.mends(time.Now())
	room.Await(t, "windows and a minute were filled", func() bool {
		return s.crowd.admitted("SIX") >= 170 && s.crowd.admitted("ONE") >= 170 && s.crowd.admitted("STRICT") >= 6
	})
	s.finish(t)
	// However long that took on this machine: that many were admitted within the
	// first minute, and nobody else.
	if v := s.verdicts[2]; v.MostMinute != 6 {
		t.Errorf("%d entered within a minute, want 6", v.MostMinute)
	}
}

// TestEmbeddedKilled kills the one server of an embedded store and starts it on
// the same data folder.
func TestEmbeddedKilled(t *testing.T) {
	t.Parallel()
	zones := []zone.Settings{busy("BUSY"), strict("STRICT")}
	s := setUpOn(t, "embedded store: server killed, 1,000 waiting", zones, startServer(t, "", nil))
	s.fill(t, aThousand, aFew)
	s.breaks()
	s.servers[0].Kill()
	s.refusals(t, aThousand/4)
	s.servers[0].Launch(t)
	s.mends(time.Now())
	s.settle(t)
	s.finish(t)
	s.inOrder(t)
}

// TestServerKilled kills one of two servers while it waits for Redis, with calls of its visitors under way: they go
// to the other.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	e := startEngine(t)
	p := startProxy(t, e.Addr())
	zones := []zone.Settings{busy("BUSY"), strict("STRICT")}
	s := setUpOn(t, "server killed in mid-batch", zones, startServer(t, e.URL(), nil), startServer(t, p.url(), nil))
	s.loses = losesNothing
	s.fill(t, aCrowd, aFew)
	p.slow(100 * time.Millisecond) // so long that calls queue up, and not so long that they fail
	s.crowd.arrive("BUSY", aCrowd, time.Second/2)
	there := s.joined()
	room.Await(t, "joins are under way", func() bool { return s.joined() > there+aCrowd/4 })
	s.breaks()
	s.servers[1].Kill()
	s.mends(time.Now())
	p.heal()
	s.settle(t)
	if s.refused() == 0 {
		t.Error("nobody's connection broke off: the server was not in the middle of anything")
	}
	s.servers[1].Launch(t)
	s.finish(t)
}

// TestRaced has one fault after the other hit servers that have the race detector.
func TestRaced(t *testing.T) {
	t.Parallel()
	e := startEngine(t, "--appendonly", "yes")
	p := startProxy(t, e.Addr())
	servers := make([]*room.Server, 2)
	for i := range servers {
		servers[i] = room.New(t, settings(p.url(), nil))
		servers[i].Name = room.RacedProgram(t)
		servers[i].Launch(t)
		servers[i].AwaitReady(t)
	}
	s := setUpOn(t, "one after the other: cut, slow, hung, killed, emptied", []zone.Settings{busy("BUSY")}, servers...)
	b := &broken{s, e, p}
	s.fill(t, aThousand)
	s.breaks()
	for _, breaks := range []func(){
		func() {
			for range 10 {
				e.do(t, "SCRIPT", "FLUSH")
				p.cut()
			}
		},
		func() { p.slow(100 * time.Millisecond) },
		func() {
			p.heal()
			b.away(t, e.hang, e.goOn)
		},
		func() { restart(t, b) },
		func() { e.do(t, "FLUSHALL") },
	} {
		breaks()
		s.mends(time.Now())
		s.answered(t)
	}
	s.settle(t)
	s.finish(t)
}

// TestPromotion: the replica that is promoted misses the last second of writes.
func TestPromotion(t *testing.T) {
	t.Parallel()
	master := startEngine(t)
	replica := startReplica(t, master)
	p := startProxy(t, master.Addr())
	s := setUp(t, "replica promoted, the last second of writes missing", p.url(), busy("BUSY"), strict("STRICT"))
	s.loses = losesLast
	s.fill(t, 2*aCrowd, aFew)
	// A log of some windows survives, and must not be held against the zone
	// together with what may have been lost.
	room.Await(t, "two windows pass", func() bool { return s.crowd.admitted("BUSY") > 125 })
	// The replica stops following; people are admitted and join for a second.
	s.follows = time.Now()
	replica.do(t, "REPLICAOF", "127.0.0.1", port(t))
	in, there := s.crowd.admitted("BUSY"), s.joined()
	s.crowd.arrive("BUSY", 50, time.Second)
	room.Await(t, "writes that the replica misses", func() bool {
		return s.crowd.admitted("BUSY") > in && s.joined() == there+50
	})
	s.breaks()
	master.Kill()
	room.Await(t, "both servers say that the store is away", s.storeIsAway)
	s.refusals(t, aCrowd/2)
	replica.do(t, "REPLICAOF", "NO", "ONE")
	p.retarget(replica.Addr())
	s.mends(time.Now())
	s.settle(t)
	s.finish(t)
}

// TestSentinel: the master dies while a quarter of a crowd is asleep, their places set aside. All come back to the new master.
func TestSentinel(t *testing.T) {
	t.Parallel()
	w := startWatched(t)
	s := setUp(t, "Sentinel fail-over", w.url(), busy("BUSY"), strict("STRICT"))
	s.loses = losesLast
	naps := s.naps(15*time.Second, 20*time.Second, 40*time.Second)
	s.fill(t, 2*aCrowd, aFew)
	room.Await(t, "places are set aside", func() bool {
		aside, _ := s.servers[0].Admin(t, "GET", "/admin/zones/BUSY/stats", "").Value(t, "totals", "setAside").(float64)
		return aside > aCrowd/5
	})
	s.breaks()
	w.master.Kill()
	s.mends(w.awaitTakeover(t))
	s.settle(t)
	// Numbers that may not rise say nothing of the order of others: it is judged by who enters.
	if !room.Soon(t, 5*time.Minute, func() bool { return s.crowd.admitted("BUSY") == 2*aCrowd }) {
		t.Errorf("%d of %d are in", s.crowd.admitted("BUSY"), 2*aCrowd)
	}
	t.Logf("%d slept", naps())
	s.finish(t)
}
