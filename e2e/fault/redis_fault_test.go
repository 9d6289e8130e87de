//go:build faults

package fault

import (
	"strconv"
	"testing"
	"time"
)

func TestScriptFlush(t *testing.T) {
	t.Parallel()
	e := startEngine(t)
	s := setUp(t, "SCRIPT FLUSH, again and again", e.url(), busy("BUSY"), strict("STRICT"))
	s.engines, s.loses = append(s.engines, e), losesNothing
	s.fill(t, aCrowd, aFew)
	s.breaks()
	until := time.Now().Add(3 * time.Second)
	await(t, settleTimeout, "the scripts are flushed for a while", func() bool {
		e.do(t, "SCRIPT", "FLUSH")
		return time.Now().After(until)
	})
	s.mends(time.Now())
	s.settle(t)
	s.finish(t)
}

// lostReplies is how many replies are lost, one of ten.
const lostReplies = 15

func TestLostReply(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fault string
		cut   bool
	}{
		{"a reply lost after the script ran: connection cut", true},
		{"a reply lost after the script ran: nothing comes", false},
	} {
		t.Run(tt.fault, func(t *testing.T) {
			t.Parallel()
			e := startEngine(t)
			p := startProxy(t, e.addr())
			s := setUp(t, tt.fault, p.url(), busy("BUSY"), strict("STRICT"))
			s.engines, s.loses = append(s.engines, e), losesNothing
			s.breaks()
			// Joins and first admissions, too: every tenth call.
			p.swallow(lostReplies, 10, "evalsha", tt.cut)
			s.fill(t, aCrowd, aFew)
			await(t, settleTimeout, "replies are lost", func() bool { return p.swallowed() == lostReplies })
			s.mends(time.Now())
			s.settle(t)
			s.finish(t)
		})
	}
}

func TestKilled(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fault string
		args  []string
		loses loss
	}{
		{"Redis killed, with AOF (fsync always)", []string{"--appendonly", "yes", "--appendfsync", "always"}, losesNothing},
		{"Redis killed, with AOF (everysec)", []string{"--appendonly", "yes"}, losesLast},
		{"Redis killed, without persistence", nil, losesAll},
	} {
		t.Run(tt.fault, func(t *testing.T) {
			t.Parallel()
			e := startEngine(t, tt.args...)
			s := setUp(t, tt.fault, e.url(), busy("BUSY"), strict("STRICT"))
			s.engines, s.loses = append(s.engines, e), tt.loses
			s.fill(t, aCrowd, aFew)
			s.breaks()
			e.Kill()
			await(t, settleTimeout, "both servers say that they are not ready", s.noneReady)
			s.refusals(t, aCrowd/2)
			e.start(t)
			s.mends(time.Now())
			s.settle(t)
			s.finish(t)
		})
	}
}

// TestLongOutage has Redis away for longer than a visitor may be silent. Nobody
// was: they asked, and were refused.
func TestLongOutage(t *testing.T) {
	t.Parallel()
	e := startEngine(t, "--appendonly", "yes")
	z := busy("BUSY")
	z.IdleTimeoutSeconds = 5
	s := setUp(t, "Redis away for longer than the idle timeout", e.url(), z)
	s.engines, s.loses = append(s.engines, e), losesLast
	s.fill(t, aCrowd)
	s.breaks()
	e.Kill()
	long := time.Now().Add(time.Duration(z.IdleTimeoutSeconds+2) * time.Second)
	await(t, settleTimeout, "the outage lasts", func() bool { return time.Now().After(long) })
	e.start(t)
	s.mends(time.Now())
	s.settle(t)
	s.finish(t)
}

// TestOutOfMemory: newcomers are refused, and those who wait go on.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	e := startEngine(t)
	s := setUp(t, "Redis out of memory", e.url(), busy("BUSY"), strict("STRICT"))
	s.engines, s.loses = append(s.engines, e), losesNothing
	s.fill(t, aCrowd, aFew)
	s.breaks()
	e.do(t, "CONFIG", "SET", "maxmemory", "1mb")
	in, there := s.crowd.admitted("BUSY"), s.joined()
	s.crowd.arrive(t.Context(), "BUSY", aCrowd/3, time.Second)
	s.refusals(t, aCrowd/3)
	await(t, settleTimeout, "those who wait are let in", func() bool { return s.crowd.admitted("BUSY") >= in+aFew })
	if n := s.joined(); n != there {
		t.Errorf("%d joined a Redis without memory", n-there)
	}
	e.do(t, "CONFIG", "SET", "maxmemory", "0")
	s.mends(time.Now())
	s.settle(t)
	await(t, settleTimeout, "those who were refused join", func() bool { return s.joined() == there+aCrowd/3 })
	s.finish(t)
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	e := startEngine(t)
	s := setUp(t, "READONLY", e.url(), busy("BUSY"), strict("STRICT"))
	s.engines, s.loses = append(s.engines, e), losesNothing
	s.fill(t, aCrowd, aFew)
	s.breaks()
	// A replica of nobody keeps its data.
	e.do(t, "REPLICAOF", "127.0.0.1", strconv.Itoa(freePort(t)))
	s.refusals(t, aCrowd/2)
	e.do(t, "REPLICAOF", "NO", "ONE")
	s.mends(time.Now())
	s.settle(t)
	s.finish(t)
}

func TestHung(t *testing.T) {
	t.Parallel()
	e := startEngine(t)
	s := setUp(t, "Redis hangs for 3 s", e.url(), busy("BUSY"), strict("STRICT"))
	s.engines, s.loses = append(s.engines, e), losesNothing
	s.fill(t, aCrowd, aFew)
	s.breaks()
	e.hang()
	await(t, settleTimeout, "both servers say that they are not ready", s.noneReady)
	s.refusals(t, aCrowd/2)
	e.goOn()
	s.mends(time.Now())
	s.settle(t)
	s.finish(t)
}

func TestPromotion(t *testing.T) {
	t.Parallel()
	master := startEngine(t)
	replica := startReplica(t, master)
	p := startProxy(t, master.addr())
	s := setUp(t, "replica promoted, the last second of writes missing", p.url(), busy("BUSY"), strict("STRICT"))
	s.engines, s.loses = append(s.engines, replica), losesLast
	s.fill(t, 2*aCrowd, aFew)
	// A log of some windows survives, and must not be held against the zone
	// together with what may have been lost.
	await(t, settleTimeout, "two windows pass", func() bool { return s.crowd.admitted("BUSY") > 125 })
	// The replica stops following; people are let in and join for a second.
	s.follows = time.Now()
	replica.do(t, "REPLICAOF", "127.0.0.1", strconv.Itoa(freePort(t)))
	in, there := s.crowd.admitted("BUSY"), s.joined()
	s.crowd.arrive(t.Context(), "BUSY", 50, time.Second)
	await(t, settleTimeout, "writes that the replica misses", func() bool {
		return s.crowd.admitted("BUSY") > in && s.joined() == there+50
	})
	s.breaks()
	master.Kill()
	await(t, settleTimeout, "both servers say that they are not ready", s.noneReady)
	s.refusals(t, aCrowd/2)
	replica.do(t, "REPLICAOF", "NO", "ONE")
	p.retarget(replica.addr())
	s.mends(time.Now())
	s.settle(t)
	s.finish(t)
}

func TestSentinel(t *testing.T) {
	t.Parallel()
	w := startWatched(t)
	s := setUp(t, "Sentinel fail-over", w.url(), busy("BUSY"), strict("STRICT"))
	s.engines, s.loses = append(s.engines, w.replica), losesLast
	s.fill(t, aCrowd, aFew)
	s.breaks()
	w.master.Kill()
	s.mends(w.awaitTakeover(t))
	s.settle(t)
	s.finish(t)
}
