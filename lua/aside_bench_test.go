package lua

import (
	"encoding/binary"
	"testing"

	"github.com/openqueue/waitingroom/internal/store"
)

// BenchmarkAside looks at 100,000 places that are set aside, as webhooks do every 5 s.
func BenchmarkAside(b *testing.B) {
	const aside = 100_000
	s := openStore(b, nil)
	key := s.keys("Z")[asideKey]
	for from := 0; from < aside; from += asideBatch {
		var fields []any
		for i := range asideBatch {
			id, is := farID(from+i), make([]byte, 14)
			binary.BigEndian.PutUint64(is[6:], uint64(from+i))
			fields = append(fields, string(id[:]), string(is))
		}
		if err := s.client.HSet(b.Context(), key, fields...).Err(); err != nil {
			b.Fatal(err)
		}
	}
	n, seen := 0, 0
	done := s.watch(b, func() {
		for b.Loop() {
			n++
			if err := s.Aside(b.Context(), "Z", func(store.Silent) { seen++ }); err != nil {
				b.Fatal(err)
			}
		}
	})
	if seen < n*aside {
		b.Errorf("%d places", seen/n)
	}
	b.ReportMetric(done.cpu/float64(n)/1000, "redis-ms/look")
}
