package watch

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/embedded"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

// BenchmarkRound samples 50 zones with a million waiting in all. At one round a
// second, an operation that takes 10 ms is 1 % of a core.
func BenchmarkRound(b *testing.B) {
	store, err := embedded.Open(embedded.Options{})
	if err != nil {
		b.Fatal(err)
	}
	const zoneCount, waiting = 50, 1_000_000
	for i := range zoneCount {
		id := fmt.Sprintf("zone-%02d", i)
		if _, err := store.PutZone(b.Context(), zone.Defaults(id), nil, ""); err != nil {
			b.Fatal(err)
		}
		for n := range waiting / zoneCount {
			var visitor line.ID
			binary.BigEndian.PutUint64(visitor[:], uint64(n)*0x9e3779b97f4a7c15)
			if _, err := store.Join(b.Context(), id, visitor); err != nil {
				b.Fatal(err)
			}
		}
	}
	now := time.Unix(1_800_000_000, 0)
	w := New(Options{Lines: zones.New(zones.Options{Store: store}), Now: func() time.Time { return now }})
	for range 61 { // a full minute of readings
		w.runOnce(b.Context())
		now = now.Add(every)
	}
	b.ReportAllocs()
	for b.Loop() {
		w.runOnce(b.Context())
		now = now.Add(every)
	}
	if n := len(w.zones); n != zoneCount {
		b.Errorf("%d zones are watched", n)
	}
}
