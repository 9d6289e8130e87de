//go:build faults

package fault

import (
	"os"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// stormVisitors is how many come when nothing else is said. The size of the
	// acceptance is 100,000: make storm.
	stormVisitors = 5_000
	// visitorsVariable says otherwise.
	visitorsVariable = "FAULT_VISITORS"
	// stormZones share the crowd. On three masters, two of them lie on the one
	// that is killed.
	stormZones = 4
	// stormSeconds is how long the whole crowd takes to go through, at the
	// least: a fail-over and some windows on either side of it.
	stormSeconds = 40
	// mostPerSecond bounds what all zones together admit, and so the time of a
	// full storm: two cores carry crowd, servers and cluster.
	mostPerSecond = 400
	// hastyPercent of the crowd come in the first eighth of the time, as they do
	// at noon, the others until three quarters of it: so that some are joining
	// when the master dies.
	hastyPercent = 40
	// stormLook is how often the whole crowd is counted; a look at 100,000 takes
	// milliseconds. Every so many looks, it is told how far they are.
	stormLook, looksATold = time.Second, 10
	// mostLate is the share of visitors, in percent, who may come late before
	// the order of the others proves too little, unless all were in order.
	mostLate = 5
	// maxOvertaken99 is G3's promise, in windows' worth, for a zone without a fault.
	maxOvertaken99 = 0.5
)

// TestStorm sends a crowd through four zones on a cluster, with two servers, and
// kills a master when half of it are in.
func TestStorm(t *testing.T) {
	visitors := stormSize(t)
	length := time.Duration(max(stormSeconds, visitors/mostPerSecond)) * time.Second
	c := startCluster(t)
	dies := c.shard(t, zonesKey)
	var zones []zone.Settings
	var masters []int
	for i := range stormZones {
		masters = append(masters, (dies+i)%shards)
		z := zone.Defaults(c.zoneOn(t, masters[i], "STORM"+string(rune('A'+i))))
		z.PerMinute = int64(visitors) * int64(time.Minute) / int64(length) / stormZones
		// At the end, everybody asks again for the pass.
		z.PassTTLSeconds = zone.MaxPassTTLSeconds
		zones = append(zones, z)
	}
	s := setUp(t, "cluster: master killed, "+strconv.Itoa(visitors)+" visitors in four zones", c.url(), zones...)
	s.loses = losesLast
	for i, z := range zones {
		if masters[i] != dies {
			s.spared = append(s.spared, z.ZoneID)
		}
	}
	for i, n := range c.nodes {
		if i != dies {
			s.engines = append(s.engines, n)
		}
	}

	began := time.Now()
	for i, z := range zones {
		all := visitors/stormZones + min(1, max(0, visitors%stormZones-i))
		hasty := all * hastyPercent / 100
		s.crowd.arrive(t.Context(), z.ZoneID, hasty, length/8)
		s.crowd.arriveFrom(t.Context(), z.ZoneID, all-hasty, length/8, length*5/8)
	}
	patience := 3*length + settleTimeout
	in := s.goThrough(t, patience, visitors/2, visitors)
	out := storm{visitors: visitors, inAtKill: in, waitedAtKill: s.crowd.count((*visitor).waits)}
	if role := c.nodes[dies].info("replication", "role"); role != "master" {
		t.Fatalf("the node to kill is a %s: the machine stood still for so long that the cluster failed over by itself", role)
	}
	s.breaks()
	c.nodes[dies].Kill()
	s.mends(c.awaitTakeover(t, dies))
	out.takeover = s.back.Sub(s.broke)
	s.goThrough(t, patience, visitors, visitors)
	out.took = time.Since(began)
	s.finish(t)
	out.slack = s.slack
	for i, z := range zones {
		out.zones = append(out.zones, s.stormZone(t, z, began, s.verdicts[i], masters[i], dies))
		out.requests += len(s.crowd.calls[z.ZoneID])
	}
	out.memoryBytes = mostMemory(t)
	table.addStorm(out)
}

func stormSize(t *testing.T) int {
	t.Helper()
	text := os.Getenv(visitorsVariable)
	if text == "" {
		return stormVisitors
	}
	visitors, err := strconv.Atoi(text)
	if err != nil || visitors < stormZones {
		t.Fatalf("%s=%s: want a number of visitors", visitorsVariable, text)
	}
	return visitors
}

// goThrough returns when so many are in, or lost, and tells meanwhile how it
// goes. It returns how many are in.
func (s *experiment) goThrough(t *testing.T, patience time.Duration, enough, all int) (in int) {
	t.Helper()
	began := time.Now()
	look := time.NewTicker(stormLook)
	defer look.Stop()
	for i := 0; ; i++ {
		over, waiting := 0, 0
		in = s.crowd.count(func(v *visitor) bool {
			over += boolInt(v.admitted != 0 || v.lost != "")
			waiting += boolInt(v.waits())
			return v.admitted != 0
		})
		if i%looksATold == 0 {
			t.Logf("%3.0f s: %d of %d are in, %d wait", time.Since(began).Seconds(), in, all, waiting)
		}
		if over >= enough {
			return in
		}
		if time.Since(began) > patience {
			t.Fatalf("after %v, %d are in, want %d", patience, in, enough)
		}
		<-look.C
	}
}

// stormZone is what the crowd saw of a zone, of which more is asked than of
// zones that a fault hits.
func (s *experiment) stormZone(t *testing.T, z zone.Settings, began time.Time, v verdict, master, dies int) stormZone {
	t.Helper()
	limit := window.RatesOf(z).Limit
	out := stormZone{
		zoneID: z.ZoneID, master: master + 1, killed: master == dies, limit: limit, perMinute: z.PerMinute, verdict: v,
		enteredAfter: s.crowd.entered(z.ZoneID, s.broke, s.broke.Add(2*z.Window())),
	}
	// Whole windows: a crowd this large fills each as it opens.
	windows := int(s.broke.Sub(began)/z.Window()) - 2
	if windows > 0 {
		from := s.broke.Add(-time.Duration(windows) * z.Window())
		out.used = 100 * float64(s.crowd.entered(z.ZoneID, from, s.broke)) / float64(windows*int(limit))
	}
	calm := s.broke.Add(-4 * z.Window())
	for i, share := range []float64{0.5, 0.99} {
		out.before[i] = s.crowd.latency(z.ZoneID, calm, s.broke, share)
		out.during[i] = s.crowd.latency(z.ZoneID, s.broke, s.back, share)
	}
	out.refused = s.crowd.refused(z.ZoneID, s.broke) - s.crowd.refused(z.ZoneID, s.back)
	if all := v.admitted + v.waiting; v.late*100 > all*mostLate && v.everybody > maxOvertaken {
		t.Errorf("%s: %d of %d did not poll when told to: the machine is too slow to judge the order by the others", z.ZoneID, v.late, all)
	}
	if v.waiting > 0 {
		t.Errorf("%s: %d still wait", z.ZoneID, v.waiting)
	}
	if slices.Contains(s.spared, z.ZoneID) {
		s.untouched(t, z)
		if v.overtaken99 > maxOvertaken99 {
			t.Errorf("%s: one of a hundred was overtaken by %.2f windows' worth", z.ZoneID, v.overtaken99)
		}
	}
	return out
}

// mostMemory is the most that this process, the crowd, took so far.
func mostMemory(t *testing.T) int64 {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return u.Maxrss << 10
}
