//go:build faults

package fault

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// stormVisitors is how many come when nothing else is said. The full size
	// of the acceptance is 100,000: see docs/faults.md.
	stormVisitors = 5_000
	// visitorsVariable says otherwise.
	visitorsVariable = "FAULT_VISITORS"
	// stormZones share the crowd.
	stormZones = 4
	// stormSeconds is how long the whole crowd takes to go through, at the
	// least. A machine that carries more visitors needs more of it.
	stormSeconds = 20
	// mostPerSecond bounds what all zones together admit, so that two cores
	// carry crowd, servers and cluster. It sets the time of a full storm.
	mostPerSecond = 800
)

// TestStorm is the acceptance in small: four zones on a cluster, two servers,
// and a master that is killed when half are in.
func TestStorm(t *testing.T) {
	visitors := stormVisitors
	if text := os.Getenv(visitorsVariable); text != "" {
		var err error
		if visitors, err = strconv.Atoi(text); err != nil || visitors < stormZones {
			t.Fatalf("%s=%s: want a number of visitors", visitorsVariable, text)
		}
	}
	length := max(stormSeconds, visitors/mostPerSecond)
	c := startCluster(t)
	dies := c.shard(t, zonesKey)
	var zones []zone.Settings
	for i := range stormZones {
		z := zone.Defaults(c.zoneOn(t, (dies+i)%shards, "STORM"+string(rune('A'+i))))
		z.PerMinute = int64(60 * visitors / stormZones / length)
		z.WindowSeconds = int64(stayAway.Seconds())
		zones = append(zones, z)
	}
	s := play(t, "cluster: master killed, "+strconv.Itoa(visitors)+" visitors in four zones", c.url(), zones...)
	for i, n := range c.nodes {
		if i != dies {
			s.engines = append(s.engines, n)
		}
	}
	for i, z := range zones {
		s.crowd.arrive(t.Context(), z.ZoneID, visitors/stormZones+boolInt(i < visitors%stormZones), time.Duration(length)*time.Second/2)
	}
	patience := time.Duration(4*length)*time.Second + settleTimeout
	await(t, patience, "half of them are in", func() bool { return s.inside() >= visitors/2 })
	s.breaks()
	c.nodes[dies].kill()
	s.mends(c.awaitTakeover(t, dies))
	await(t, patience, "all of them are in", func() bool { return s.inside() == visitors })
	s.curtain(t)
}

func (s *scene) inside() int {
	return s.crowd.count(func(v *visitor) bool { return v.admitted != 0 })
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
