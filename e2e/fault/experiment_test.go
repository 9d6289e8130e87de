package fault

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// recovery is how soon after its engine the room must be back.
	recovery = 6 * time.Second
	// refusalTime is how soon a visitor is told that the store is away.
	refusalTime = 500 * time.Millisecond
	// settleTimeout bounds a wait for the crowd: above the longest that any
	// visitor is told to stay away, an outage and a retry.
	settleTimeout = 40 * time.Second
	// lastPoll bounds the last poll of one of many: ten times what it takes.
	lastPoll = 2 * time.Millisecond
	// spareGoroutines are those that come and go in a quiet server: timers,
	// the reading of settings, the request that counts them.
	spareGoroutines = 12
)

// busy is the zone that most faults hit: 60 in any 6 s, as by default, and polled
// at least every 5 s, so that a crowd of a few hundred soon tells all.
func busy(zoneID string) zone.Settings {
	z := zone.Defaults(zoneID)
	z.IdleTimeoutSeconds = 15
	return z
}

// strict is a zone whose limit of the minute is what holds: one a second, but
// six in any 60 s.
func strict(zoneID string) zone.Settings {
	z := zone.Defaults(zoneID)
	z.PerMinute, z.WindowSeconds, z.IdleTimeoutSeconds = 6, 1, 15
	return z
}

// loss is what a fault takes from the store with it.
type loss int

const (
	// losesAll: the store knows nobody who was let in before.
	losesAll loss = iota
	// losesLast: nothing but what was written in the last second.
	losesLast
	// losesNothing: whoever was let in is told so again, and no position rises.
	losesNothing
)

// lastWrites is how long before a fault that loses the last second a write may
// have been made that is lost.
const lastWrites = time.Second

// experiment is one fault, with servers, zones and a crowd.
type experiment struct {
	// fault names the row in the table.
	fault   string
	servers []*server
	zones   []zone.Settings
	crowd   *crowd
	// engines are checked for connections that are left over. A test whose
	// engine does not survive takes it out.
	engines []*engine
	// loses is what the fault takes from the store; spared are the zones that it
	// takes nothing from.
	loses  loss
	spared []string
	// follows is until when the replica that is promoted followed its master, if
	// that was not until the last second.
	follows time.Time

	// slack is by how much the machine itself was late meanwhile.
	slack time.Duration
	// verdicts are those of the zones, after finish.
	verdicts []verdict

	// hold has a zone let nobody in any more; stop ends the servers.
	hold func(t testing.TB, zoneID string)
	stop func(t *testing.T)

	web        *balancer
	baseline   *baseline
	goroutines []int
	broke      time.Time
	back       time.Time
}

// setUp prepares an experiment: two servers before the store, and zones; the first is the
// one that is judged for recovery.
func setUp(t *testing.T, fault, redisURL string, zones ...zone.Settings) *experiment {
	t.Helper()
	o := serverOptions{redisURL: redisURL}
	return setUpOn(t, fault, zones, startServer(t, o), startServer(t, o))
}

// setUpOn prepares an experiment with servers that run.
func setUpOn(t *testing.T, fault string, zones []zone.Settings, servers ...*server) *experiment {
	t.Helper()
	s := &experiment{fault: fault, servers: servers, zones: zones, hold: servers[0].hold, web: newBalancer(servers...)}
	s.crowd = &crowd{room: s.web}
	for _, z := range zones {
		servers[0].put(t, z)
	}
	await(t, settleTimeout, "every server knows every zone", func() bool {
		for _, server := range servers {
			for _, z := range zones {
				if !server.knows(t.Context(), z.ZoneID) {
					return false
				}
			}
		}
		return true
	})
	for _, server := range servers {
		s.goroutines = append(s.goroutines, server.goroutines(t))
	}
	s.stop = s.stopServers
	s.baseline = measureServers(t.Context(), servers)
	return s
}

// fill has crowds come to the zones, and returns when the first is in full swing.
// A trickle that is let straight in comes first, so that slots open one by one a
// window later, and not all at a time; then so many that most of them wait.
func (s *experiment) fill(t *testing.T, crowds ...int) {
	t.Helper()
	total := 0
	for i, n := range crowds {
		z := s.zones[i]
		trickle := min(n, int(window.RatesOf(z).Limit))
		s.crowd.arrive(t.Context(), z.ZoneID, trickle, z.Window())
		total += n
	}
	first := s.zones[0].ZoneID
	limit := int(window.RatesOf(s.zones[0]).Limit)
	await(t, settleTimeout, "the first window fills", func() bool { return s.crowd.admitted(first) >= limit })
	for i, n := range crowds {
		z := s.zones[i]
		s.crowd.arrive(t.Context(), z.ZoneID, n-min(n, int(window.RatesOf(z).Limit)), time.Second)
	}
	await(t, settleTimeout, "the line moves", func() bool {
		return s.crowd.admitted(first) > limit && s.joined() == total
	})
}

// joined counts those who have joined, those who do so twice both times.
func (s *experiment) joined() int {
	return s.crowd.count(func(v *visitor) bool { return v.arrived != 0 && (!v.repeats || v.admitted != 0) })
}

// breaks notes that the fault begins.
func (s *experiment) breaks() { s.broke = time.Now() }

// mends notes when the engine was well again.
func (s *experiment) mends(at time.Time) { s.back = at }

// settle returns when everybody who waits has been answered since the engine
// was back, and the first zone has let in half a window's worth since.
func (s *experiment) settle(t *testing.T) {
	t.Helper()
	enough := s.crowd.admitted(s.zones[0].ZoneID) + int(window.RatesOf(s.zones[0]).Limit)/2
	s.answered(t)
	if !soon(t.Context(), settleTimeout, func() bool { return s.crowd.admitted(s.zones[0].ZoneID) >= enough }) {
		for _, z := range s.zones {
			s.check(t, z, s.crowd.judge(z))
		}
		t.Fatalf("in vain, for %v: the line moves again", settleTimeout)
	}
}

// noneReady reports whether every server asks for no traffic.
func (s *experiment) noneReady() bool {
	for _, server := range s.servers {
		if server.ready() {
			return false
		}
	}
	return true
}

// staysReady fails the test if a server asks for no traffic while something
// happens: where one node of three is away, two thirds of the zones are served.
func (s *experiment) staysReady(t *testing.T, happens func()) {
	t.Helper()
	over := make(chan struct{})
	var watching sync.WaitGroup
	var asked, refused atomic.Int64
	for _, server := range s.servers {
		watching.Go(func() {
			soon(t.Context(), settleTimeout, func() bool {
				asked.Add(1)
				if !server.ready() {
					refused.Add(1)
				}
				select {
				case <-over:
					return true
				default:
					return false
				}
			})
		})
	}
	happens()
	close(over)
	watching.Wait()
	if n := refused.Load(); n > 0 {
		t.Errorf("of %d times, the servers were not ready %d times", asked.Load(), n)
	}
}

// refusals waits until so many requests to the first zone were refused since the
// fault began.
func (s *experiment) refusals(t *testing.T, n int) {
	t.Helper()
	await(t, settleTimeout, "visitors are refused", func() bool { return s.refused() >= n })
}

func (s *experiment) refused() int { return s.crowd.refused(s.zones[0].ZoneID, s.broke) }

// answered returns when everybody who waits has been answered since the engine
// was back.
func (s *experiment) answered(t *testing.T) {
	t.Helper()
	await(t, settleTimeout, "everybody is answered again", func() bool { return s.crowd.silent(s.back) == 0 })
}

// finish ends the crowd, asks everybody once more while nobody is let in,
// judges, stops the servers, and adds the row to the table.
func (s *experiment) finish(t *testing.T) {
	t.Helper()
	s.crowd.leave()
	if s.baseline != nil {
		s.slack += s.baseline.stop()
	}
	for _, z := range s.zones {
		s.hold(t, z.ZoneID)
	}
	ctx, cancel := context.WithTimeout(t.Context(), settleTimeout+time.Duration(len(s.crowd.visitors))*lastPoll)
	defer cancel()
	s.crowd.round(ctx)
	r := row{fault: s.fault, visitors: len(s.crowd.visitors)}
	for i, z := range s.zones {
		v := s.crowd.judge(z)
		s.check(t, z, v)
		s.verdicts = append(s.verdicts, v)
		r.add(z, v)
		if i == 0 {
			r.outage = v.outage
			r.answers, r.admits = s.recovered(z.ZoneID)
		}
	}
	s.checkRecovery(t, &r)
	if s.web != nil {
		s.web.close()
	}
	r.goroutines, r.connections = s.checkLeftovers(t)
	table.add(r)
}

// inOrder fails the test unless all who wait stand exactly in the order in which
// they came. For after finish.
func (s *experiment) inOrder(t *testing.T) {
	t.Helper()
	for _, z := range s.zones {
		if n := s.crowd.misplaced(z.ZoneID); n > 0 {
			t.Errorf("%s: %d of %d do not stand where they arrived", z.ZoneID, n, s.crowd.waiting(z.ZoneID))
		}
	}
}

// check fails the test for what no fault may do.
func (s *experiment) check(t *testing.T, z zone.Settings, v verdict) {
	t.Helper()
	t.Logf("%s: %d in, %d wait, %d errors, overtaken %.2f, %d late, %d rose, %d forgotten, outage %v, slowest refusal %v, slack %v",
		z.ZoneID, v.admitted, v.waiting, v.errors, v.overtaken, v.late, v.rose, len(v.forgotten), v.outage, v.slowest, s.slack)
	if v.windows > 0 {
		t.Errorf("%s: %d admissions over the limit", z.ZoneID, v.windows)
	}
	for _, l := range some(v.lost) {
		t.Errorf("%s: lost: %s", z.ZoneID, l)
	}
	if v.inversions > 0 {
		t.Errorf("%s: %d out of order, the worst by %.1f windows", z.ZoneID, v.inversions, v.overtaken)
	}
	for _, o := range some(v.odd) {
		t.Errorf("%s: %s", z.ZoneID, o)
	}
	if v.slowest > refusalTime+s.slack {
		t.Errorf("%s: a refusal took %v, want %v; the machine was %v late", z.ZoneID, v.slowest, refusalTime, s.slack)
	}
	loses := s.loses
	if slices.Contains(s.spared, z.ZoneID) {
		loses = losesNothing
	}
	if loses == losesNothing && v.rose > 0 {
		t.Errorf("%s: %d positions rose", z.ZoneID, v.rose)
	}
	var forgotten []string
	for _, v := range v.forgotten {
		if loses == losesNothing || loses == losesLast && !s.amongLastWrites(v) {
			forgotten = append(forgotten, v.name+": "+v.forgotten)
		}
	}
	for _, f := range some(forgotten) {
		t.Errorf("%s: %d forgotten, among them %s", z.ZoneID, len(forgotten), f)
	}
}

// amongLastWrites reports whether one was let in so shortly before the fault
// that the store may have lost it.
func (s *experiment) amongLastWrites(v *visitor) bool {
	from := s.broke.Add(-lastWrites)
	if !s.follows.IsZero() {
		from = s.follows
	}
	at := time.UnixMilli(v.admitted)
	return !at.Before(from.Truncate(time.Millisecond)) && at.Before(s.back)
}

// some are the first few of many.
func some(all []string) []string {
	const few = 5
	return all[:min(few, len(all))]
}

// recovered is how long after its engine the zone answered everybody again, and
// let somebody in again. Both are 0 if it never ceased to.
func (s *experiment) recovered(zoneID string) (answers, admits time.Duration) {
	s.crowd.mu.Lock()
	defer s.crowd.mu.Unlock()
	for _, c := range s.crowd.calls[zoneID] {
		if c.code != "" {
			answers = max(answers, c.at.Sub(s.back))
		}
	}
	first := int64(0)
	for _, v := range s.crowd.visitors {
		if v.zoneID == zoneID && v.admitted >= s.back.UnixMilli() && (first == 0 || v.admitted < first) {
			first = v.admitted
		}
	}
	return answers, max(0, time.Duration(first-s.back.UnixMilli())*time.Millisecond)
}

// checkRecovery: answers come back within the time, and admissions after one
// more window, for which a store that may have lost some holds everybody.
func (s *experiment) checkRecovery(t *testing.T, r *row) {
	t.Helper()
	if r.answers > recovery+s.slack {
		t.Errorf("the last refusal came %v after the engine was back, want %v", r.answers, recovery)
	}
	if most := recovery + s.zones[0].Window() + s.slack; r.admits > most {
		t.Errorf("the first admission came %v after the engine was back, want %v", r.admits, most)
	}
}

func (s *experiment) stopServers(t *testing.T) {
	t.Helper()
	for _, server := range s.servers {
		server.stop(t)
	}
}

// checkLeftovers: the servers are as they were, stop in order, and leave no
// connection behind. It returns how many goroutines a server has more than it
// had before the crowd, the worst of them, and how many connections are left.
func (s *experiment) checkLeftovers(t *testing.T) (goroutines, connections int) {
	t.Helper()
	for i, server := range s.servers {
		more := 0
		if !soon(t.Context(), settleTimeout, func() bool {
			more = server.goroutines(t) - s.goroutines[i]
			return more <= spareGoroutines
		}) {
			t.Errorf("server %d has %d goroutines more than the %d before the crowd", i, more, s.goroutines[i])
		}
		goroutines = max(goroutines, more)
	}
	s.stop(t)
	for _, e := range s.engines {
		left := 0
		if !soon(t.Context(), settleTimeout, func() bool { left = e.connections(t); return left == 0 }) {
			t.Errorf("connections are left over:\n%s", e.do(t, "CLIENT", "LIST"))
		}
		connections += left
	}
	return goroutines, connections
}
