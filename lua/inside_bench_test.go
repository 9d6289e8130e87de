package lua

import (
	"testing"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// BenchmarkCap is what a poll costs with a cap, and without.
func BenchmarkCap(b *testing.B) {
	for name, most := range map[string]int64{"without": 0, "with": 1000} {
		b.Run(name, func(b *testing.B) {
			s := openStore(b, nil)
			z := zone.Defaults("z")
			z.PerMinute, z.MaxInside = 10, most
			if _, err := s.PutZone(b.Context(), z, nil, ""); err != nil {
				b.Fatal(err)
			}
			var waits line.Place
			for i := range 20 {
				a, err := s.Join(b.Context(), "z", line.ID{byte(i)})
				if err != nil {
					b.Fatal(err)
				}
				waits = a.Place
			}
			for b.Loop() {
				if _, err := s.Poll(b.Context(), "z", waits); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
