package sweeper

import (
	"sync"
	"time"

	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// lookEvery is how often this server checks whether it keeps up.
	lookEvery = time.Second
	// slow is by how much that check is late in an overload: it waits for a processor as the requests do, and clients give up
	// after a few such waits.
	slow = 500 * time.Millisecond
	// mostOverloaded: a server may have been overloaded for one mostOverloaded-th of an idle timeout. In the rest of
	// it, visitors who try get through.
	mostOverloaded = 4
	// mostHeld: however long an overload lasts, it keeps a zone from being swept for so many idle timeouts, and for
	// leastHeld where that is longer. Who could not get through in that time has gone.
	mostHeld = 2
	// leastHeld is mostHeld times the default idle timeout: a server with too much to do may need longer than a short
	// idle timeout until it answers all.
	leastHeld = mostHeld * zone.DefaultIdleTimeoutSeconds * time.Second
	// longestMemory is the longest idle timeout: what is older does not matter.
	longestMemory = time.Hour
)

// overloads are the times at which this server, or the store of a zone, could not answer all who asked.
type overloads struct {
	mu    sync.Mutex
	spans []overload // in their order
}

// overload is of one zone, or of all: "".
type overload struct {
	zone  string
	ended time.Time
	took  time.Duration
}

func (o *overloads) add(ended time.Time, took time.Duration, zones ...string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.spans) > 0 && ended.Sub(o.spans[0].ended) > longestMemory {
		o.spans = o.spans[1:]
	}
	for _, zone := range zones {
		o.spans = append(o.spans, overload{zone, ended, took})
	}
}

// within returns for how long the server or the store of the zone was overloaded in that much time before now.
func (o *overloads) within(now time.Time, zone string, of time.Duration) (sum time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.spans {
		if now.Sub(s.ended) < of && (s.zone == zone || s.zone == "") {
			sum += s.took
		}
	}
	return sum
}

// look notes an overload if the server or the store of a zone was overloaded since the look before.
func (s *Sweeper) look() {
	s.looks.Lock()
	defer s.looks.Unlock()
	now := s.now()
	took := now.Sub(s.looked)
	s.looked = now
	zones := s.zones.Overloaded()
	if took > lookEvery+slow {
		zones = []string{""}
	}
	if len(zones) > 0 {
		s.overloads.add(now, took, zones...)
	}
}
