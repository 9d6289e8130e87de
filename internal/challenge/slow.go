package challenge

import (
	"sync"
	"time"
)

const (
	// SlowWait is how old a challenge must be that is shown without a solution, in a zone that gives browsers without scripts no place:
	// it was a browser that does not compile scripts, which takes some 50 times as long for the work. Nearly all others have solved theirs.
	SlowWait = 45 * time.Second
	// slowSpan is for how long such places count. Of the solutions of a span one in slowShare may be missing, but always slowFloor, and
	// slowOfNetwork for each network. So bots can save themselves the work of a twentieth of the places, and need many networks for that.
	slowSpan      = 10 * time.Minute
	slowShare     = 20
	slowFloor     = 20
	slowOfNetwork = 4
)

// slow bounds how many places browsers take that are too slow for the work. Each server counts for itself.
type slow struct {
	mu    sync.Mutex
	since time.Time
	zones map[string]*slowZone
}

// slowZone counts the solutions of a span, and the places without, in all and by network.
type slowZone struct {
	solved, without int
	networks        map[string]int
}

// of returns the counts of a zone. It is called with the lock held.
func (s *slow) of(zoneID string, now time.Time) *slowZone {
	if now.Sub(s.since) >= slowSpan {
		s.since, s.zones = now, map[string]*slowZone{}
	}
	z := s.zones[zoneID]
	if z == nil {
		z = &slowZone{networks: map[string]int{}}
		s.zones[zoneID] = z
	}
	return z
}

// solved counts a solution.
func (s *slow) solved(zoneID string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(zoneID, now).solved++
}

// room reports whether a visitor of a network may take a place without a solution. takes says that the visitor does.
func (s *slow) room(zoneID, network string, takes bool, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	z := s.of(zoneID, now)
	if z.without >= max(slowFloor, z.solved/slowShare) || z.networks[network] >= slowOfNetwork {
		return false
	}
	if takes {
		z.without++
		z.networks[network]++
	}
	return true
}
