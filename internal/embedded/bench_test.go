package embedded

import (
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/conformance"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// million is how many wait in the benchmarks.
const million = 1_000_000

// slow is a zone in which nobody comes near the front while a benchmark runs.
func slow() zone.Settings {
	z := zone.Defaults("z")
	z.PerMinute, z.IdleTimeoutSeconds = 1, zone.MaxIdleTimeoutSeconds
	return z
}

func newStore(b *testing.B, z zone.Settings) (*Store, *conformance.Clock) {
	b.Helper()
	clock := conformance.NewClock()
	s, err := Open(Options{Now: clock.Now})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	if _, err := s.PutZone(b.Context(), z, nil, audit.By{}); err != nil {
		b.Fatal(err)
	}
	return s, clock
}

func randomID() (id line.ID) {
	binary.BigEndian.PutUint64(id[:], rand.Uint64())
	return id
}

// fill makes n visitors join, a microsecond apart, and returns their places.
func fill(b *testing.B, s *Store, clock *conformance.Clock, n int) []line.Place {
	b.Helper()
	places := make([]line.Place, n)
	for i := range places {
		clock.Add(time.Microsecond)
		a, err := s.Join(b.Context(), "z", randomID())
		if err != nil {
			b.Fatal(err)
		}
		places[i] = a.Place
	}
	return places
}

func heapBytes() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkMemory measures the memory of one waiting visitor, with a million of them.
func BenchmarkMemory(b *testing.B) {
	for b.Loop() {
		s, clock := newStore(b, slow())
		before := heapBytes()
		fill(b, s, clock, million) // the places it returns are garbage
		b.ReportMetric(float64(heapBytes()-before)/million, "bytes/visitor")
		runtime.KeepAlive(s)
	}
}
