package fault

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// recovery is how soon after its engine the room must be back.
	recovery = 6 * time.Second
	// refusalTime is how soon a visitor is told that the store is away.
	refusalTime = 500 * time.Millisecond
	// lastPoll bounds the last poll of one of many: ten times what it takes.
	lastPoll = 2 * time.Millisecond
	// spareGoroutines are those that come and go in a quiet server: timers,
	// the reading of settings, the request that counts them.
	spareGoroutines = 12
	// mostLate is how much later than a timer of this process an answer may be. Several processes stand
	// between a visitor and its answer.
	mostLate = 10
	// tooLate: on a machine whose timers are later, how long things take says nothing of the room.
	tooLate = 50 * time.Millisecond
)

// slack is what the machine itself may add to a time limit.
func slack() time.Duration { return mostLate * room.Lateness() }

// onTime reports whether the machine is quick enough to judge how long things take.
func onTime() bool { return room.Lateness() < tooLate }

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

// startServer starts a server on a Redis, or on its embedded store, with more settings. In the end everybody polls
// at once, and is to be told what the store says: so that the door has no limits.
func startServer(t testing.TB, redisURL string, more map[string]string) *room.Server {
	t.Helper()
	return room.Start(t, settings(redisURL, more))
}

func settings(redisURL string, more map[string]string) map[string]string {
	env := map[string]string{"QUEUE_SWEEP_EVERY": "1s", "QUEUE_DOOR_LIMITS": "off", "QUEUE_DRAIN_DELAY": "0s"}
	if redisURL != "" {
		env["QUEUE_STORE"], env["QUEUE_REDIS_URL"] = "redis", redisURL
	}
	maps.Copy(env, more)
	return env
}

// hold has a zone let nobody in from now on.
func hold(t testing.TB, s *room.Server, zoneID string) {
	t.Helper()
	s.Operate(t, http.MethodPatch, "/admin/zones/"+zoneID, `{"perMinute":0}`)
}

// loss is what a fault takes from the store with it.
type loss int

const (
	// losesAll: the store knows nobody who was admitted before.
	losesAll loss = iota
	// losesLast: nothing but what was written in the last second.
	losesLast
	// losesNothing: whoever was admitted is told so again, and no position rises.
	losesNothing
)

// lastWrites is how long before a fault that loses the last second a write may
// have been made that is lost.
const lastWrites = time.Second

// experiment is one fault, with servers, zones and a crowd.
type experiment struct {
	// fault names the row in the table.
	fault   string
	servers []*room.Server
	zones   []zone.Settings
	crowd   *crowd
	// loses is what the fault takes from the store; spared are the zones that it
	// takes nothing from.
	loses  loss
	spared []string
	// follows is until when the replica that is promoted followed its master, if
	// that was not until the last second.
	follows time.Time

	// verdicts are those of the zones, after finish.
	verdicts []verdict

	web         *balancer
	goroutines  []int
	broke, back time.Time
}

// setUp prepares an experiment: two servers before the store, and zones; the first is the
// one that is judged for recovery.
func setUp(t *testing.T, fault, redisURL string, zones ...zone.Settings) *experiment {
	t.Helper()
	return setUpOn(t, fault, zones, startServer(t, redisURL, nil), startServer(t, redisURL, nil))
}

// setUpOn prepares an experiment with servers that run.
func setUpOn(t *testing.T, fault string, zones []zone.Settings, servers ...*room.Server) *experiment {
	t.Helper()
	s := &experiment{fault: fault, servers: servers, zones: zones, web: newBalancer(servers...)}
	s.crowd = newCrowd(t, s.web)
	for _, z := range zones {
		servers[0].Put(t, z, servers[1:]...)
	}
	for _, server := range servers {
		s.goroutines = append(s.goroutines, server.Goroutines(t))
	}
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
		s.crowd.arrive(z.ZoneID, min(n, int(window.RatesOf(z).Limit)), z.Window())
		total += n
	}
	first := s.zones[0].ZoneID
	limit := int(window.RatesOf(s.zones[0]).Limit)
	room.Await(t, "the first window fills", func() bool { return s.crowd.admitted(first) >= limit })
	for i, n := range crowds {
		z := s.zones[i]
		s.crowd.arrive(z.ZoneID, n-min(n, int(window.RatesOf(z).Limit)), time.Second)
	}
	room.Await(t, "the line moves", func() bool { return s.crowd.admitted(first) > limit && s.joined() == total })
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
	first := s.zones[0]
	enough := s.crowd.admitted(first.ZoneID) + int(window.RatesOf(first).Limit)/2
	s.answered(t)
	room.Await(t, "the line moves again", func() bool { return s.crowd.admitted(first.ZoneID) >= enough })
}

// answered returns when everybody who waits has been answered since the engine
// was back.
func (s *experiment) answered(t *testing.T) {
	t.Helper()
	room.Await(t, "everybody is answered again", func() bool { return s.crowd.silent(s.back) == 0 })
}

// storeIsAway reports whether every server says so.
func (s *experiment) storeIsAway() bool {
	return !slices.ContainsFunc(s.servers, (*room.Server).HasStore)
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
			for tick := time.Tick(50 * time.Millisecond); ; {
				select {
				case <-over:
					return
				case <-tick:
				}
				asked.Add(1)
				if !server.Ready() {
					refused.Add(1)
				}
			}
		})
	}
	happens()
	close(over)
	watching.Wait()
	if n := refused.Load(); n > 0 && onTime() {
		t.Errorf("of %d times, the servers were not ready %d times; %s", asked.Load(), n, room.Machine())
	}
}

// refusals waits until so many requests to the first zone were refused since the
// fault began.
func (s *experiment) refusals(t *testing.T, n int) {
	t.Helper()
	room.Await(t, "visitors are refused", func() bool { return s.refused() >= n })
}

func (s *experiment) refused() int {
	_, n := s.crowd.requests(s.zones[0].ZoneID, s.broke)
	return n
}

// finish ends the crowd, asks everybody once more while nobody is admitted,
// judges, stops the servers, and adds the row to the table.
func (s *experiment) finish(t *testing.T) {
	t.Helper()
	s.crowd.leave()
	for _, z := range s.zones {
		hold(t, s.servers[0], z.ZoneID)
	}
	ctx, cancel := context.WithTimeout(t.Context(), room.Patience+time.Duration(len(s.crowd.visitors))*lastPoll)
	defer cancel()
	s.crowd.round(ctx)
	r := row{fault: s.fault, visitors: len(s.crowd.visitors)}
	for i, z := range s.zones {
		v := s.crowd.judge(z)
		s.check(t, z, v)
		s.verdicts = append(s.verdicts, v)
		r.errors, r.over, r.lost = r.errors+v.errors, r.over+v.Over, r.lost+len(v.lost)
		r.inversions, r.late, r.slowest = r.inversions+v.inversions, r.late+v.late, max(r.slowest, v.slowest)
		// Windows that are shorter than a refusal keeps one away say little.
		if z.Window() >= stayAway {
			r.overtaken = max(r.overtaken, v.overtaken(100))
		}
		if i == 0 { // in a zone with few visitors, nobody asks for seconds
			r.outage = v.outage
			r.answers, r.admits = s.recovered(z.ZoneID)
		}
	}
	s.within(t, "the last refusal, after the engine was back", r.answers, recovery)
	// A store that may have lost some holds everybody for a window.
	s.within(t, "the first admission, after the engine was back", r.admits, recovery+s.zones[0].Window())
	s.web.close()
	r.goroutines = s.checkLeftovers(t)
	table.add(r)
}

// within fails the test if something took longer than it may on a machine that is on time.
func (s *experiment) within(t *testing.T, what string, took, may time.Duration) {
	t.Helper()
	switch {
	case took <= may+slack():
	case onTime():
		t.Errorf("%s: %v, want %v; %s", what, took, may, room.Machine())
	default:
		t.Logf("%s: %v, which is not judged; %s", what, took, room.Machine())
	}
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
		z.ZoneID, v.Admitted, v.Waiting, v.errors, v.overtaken(100), v.late, v.Rose, len(v.forgotten), v.outage, v.slowest, slack())
	if v.Over > 0 {
		t.Errorf("%s: %d admissions over the limit", z.ZoneID, v.Over)
	}
	if v.inversions > 0 {
		t.Errorf("%s: %d out of order, the worst by %.1f windows", z.ZoneID, v.inversions, v.overtaken(100))
	}
	loses := s.loses
	if slices.Contains(s.spared, z.ZoneID) {
		loses = losesNothing
	}
	if loses == losesNothing && v.Rose > 0 {
		t.Errorf("%s: %d positions rose", z.ZoneID, v.Rose)
	}
	var forgotten []string
	for _, v := range v.forgotten {
		if loses == losesNothing || loses == losesLast && !s.amongLastWrites(v) {
			forgotten = append(forgotten, v.name+": "+v.forgotten)
		}
	}
	for what, all := range map[string][]string{"lost": v.lost, "odd": v.odd, "forgotten": forgotten} {
		if len(all) > 0 {
			t.Errorf("%s: %d %s, among them %s", z.ZoneID, len(all), what, some(all))
		}
	}
	s.within(t, z.ZoneID+": the slowest refusal", v.slowest, refusalTime)
}

// amongLastWrites reports whether one was admitted so shortly before the fault
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
func some(all []string) string {
	const few = 5
	return fmt.Sprintf("%q", all[:min(few, len(all))])
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

// checkLeftovers: the servers are as they were, and stop in order. It returns how many goroutines a server has more than
// it had before the crowd, the worst of them.
func (s *experiment) checkLeftovers(t *testing.T) (goroutines int) {
	t.Helper()
	for i, server := range s.servers {
		more := 0
		if !room.Soon(t, room.Patience, func() bool {
			more = server.Goroutines(t) - s.goroutines[i]
			return more <= spareGoroutines
		}) {
			t.Errorf("server %d has %d goroutines more than the %d before the crowd", i, more, s.goroutines[i])
		}
		goroutines = max(goroutines, more)
		server.Stop(t)
	}
	return goroutines
}
