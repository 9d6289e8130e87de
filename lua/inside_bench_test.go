package lua

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/conformance"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// BenchmarkCap is what a poll costs with a cap, with one that holds, and without: so many at a time.
func BenchmarkCap(b *testing.B) {
	const waiting = 10_000
	for _, atOnce := range []int{1, 256} {
		for name, most := range map[string]int64{"without": 0, "with": 1000, "full": 1} {
			b.Run(fmt.Sprintf("%s/at-once=%d", name, atOnce), func(b *testing.B) {
				s := openStore(b, nil)
				z := zone.Defaults("Z")
				z.PerMinute, z.MaxInside = 10, most
				put(b, s, z)
				places := make([]line.Place, waiting)
				poll := func(i int) {
					a, err := s.Poll(b.Context(), "Z", places[i])
					if err != nil {
						b.Error(err)
					}
					places[i] = a.Place
				}
				inTurn(256, waiting, func(i int) {
					a, err := s.Join(b.Context(), "Z", farID(i))
					if err != nil {
						b.Error(err)
					}
					places[i] = a.Place
				})
				before, n := redisCPU(b, s), 0
				for b.Loop() {
					n += inTurn(atOnce, waiting, poll)
				}
				b.ReportMetric(float64((redisCPU(b, s)-before).Nanoseconds())/1000/float64(n), "redis-us/poll")
			})
		}
	}
}

// BenchmarkInside renews 10,000 of the sessions of 1,000,000 inside, as happens in a second, while some end. longest-ms is the longest
// script call.
func BenchmarkInside(b *testing.B) {
	const inside, renewals = 1_000_000, 10_000
	clock := conformance.NewClock()
	s := openStore(b, clock.Now)
	z := zone.Defaults("Z")
	z.MaxInside = zone.MaxMaxInside
	put(b, s, z)
	at := clock.Now().UnixMilli()
	stay := func(i int) line.Stay {
		return line.Stay{Admission: line.Admission{ID: farID(i), AtMillis: at}, LeftMillis: 1 + rand.Int64N(z.Session().Milliseconds())}
	}
	tell := func(t line.Telling) {
		if _, err := s.Tell(b.Context(), "Z", t); err != nil {
			b.Fatal(err)
		}
	}
	for from := 0; from < inside; from += renewals {
		var t line.Telling
		for i := range renewals {
			t.Stays = append(t.Stays, stay(from+i))
		}
		tell(t)
	}
	n := 0
	done := s.watch(b, func() {
		for b.Loop() {
			n++
			clock.Add(time.Second)
			t := line.Telling{WantSteps: n%10 == 0}
			for range renewals {
				t.Stays = append(t.Stays, stay(rand.IntN(inside)))
			}
			tell(t)
		}
	})
	b.ReportMetric(done.longest, "longest-ms")
	b.ReportMetric(done.cpu/float64(n)/renewals, "redis-us/renewal")
}
