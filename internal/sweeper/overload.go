package sweeper

import (
	goruntime "runtime/metrics"
	"sync"
	"time"
)

const (
	// lookEvery is how often this server checks whether it keeps up.
	lookEvery = time.Second
	// slow: a server is overloaded if a tenth of its goroutines wait longer than this for a processor. Clients give up
	// after a few such waits.
	slow = 500 * time.Millisecond
	// mostOverloaded: a server may have been overloaded for one mostOverloaded-th of an idle timeout. In the rest of
	// it, visitors who try get through.
	mostOverloaded = 4
	// mostHeld: however long an overload lasts, it keeps a zone from being swept for so many idle timeouts. Who could not
	// get through in that time has gone, and if nobody is swept the line stalls.
	mostHeld = 2
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

// look notes an overload if the server or the store of a zone was overloaded in the time took before now. A process that
// did not run, because others did, was overloaded all that time.
func (s *Sweeper) look(now time.Time, took time.Duration) {
	var zones []string
	if s.storeOverloaded != nil {
		zones = s.storeOverloaded()
	}
	if s.overloaded() || took > lookEvery+slow {
		zones = []string{""}
	}
	if len(zones) > 0 {
		s.overloads.add(now, took, zones...)
	}
}

// schedLatencies is how long goroutines have waited to run, since the process began.
const schedLatencies = "/sched/latencies:seconds"

// load tells whether the process keeps up.
type load struct {
	before []uint64 // of the histogram
}

// overloaded reports whether, since the call before, a tenth of all goroutines waited for longer than slow. The
// first call returns false.
func (l *load) overloaded() bool {
	sample := []goruntime.Sample{{Name: schedLatencies}}
	goruntime.Read(sample)
	waits, first := sample[0].Value.Float64Histogram(), l.before == nil
	late := !first && tooSlow(l.before, waits.Counts, waits.Buckets)
	l.before = append(l.before[:0], waits.Counts...)
	return late
}

// tooSlow reports whether a tenth of what was counted in between took longer than slow.
// Buckets are the lower bounds, in seconds.
func tooSlow(before, after []uint64, buckets []float64) bool {
	const tenth = 10
	slowest, all := uint64(0), uint64(0)
	for i, n := range after {
		n -= before[i]
		all += n
		if buckets[i] >= slow.Seconds() {
			slowest += n
		}
	}
	return slowest > 0 && tenth*slowest > all
}
