package lua

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/openqueue/waitingroom/internal/check/conformance"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

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
	tell := func(t line.SessionReport) {
		if _, err := s.Report(b.Context(), "Z", t); err != nil {
			b.Fatal(err)
		}
	}
	for from := 0; from < inside; from += renewals {
		var t line.SessionReport
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
			t := line.SessionReport{}
			for range renewals {
				t.Stays = append(t.Stays, stay(rand.IntN(inside)))
			}
			tell(t)
		}
	})
	b.ReportMetric(done.longest, "longest-ms")
	b.ReportMetric(done.cpu/float64(n)/renewals, "redis-us/renewal")
}

// work is what scripts did: the longest call, in milliseconds, and the processor time that it took Redis, in microseconds.
type work struct{ longest, cpu float64 }

// watch does something, and returns what scripts did meanwhile.
func (s *Store) watch(b *testing.B, do func()) (w work) {
	b.Helper()
	run := func(args ...any) *redis.Cmd { return s.client.Do(b.Context(), args...) }
	run("CONFIG", "SET", "slowlog-log-slower-than", "500")
	run("CONFIG", "SET", "slowlog-max-len", "100000")
	run("SLOWLOG", "RESET")
	began := redisCPU(b, s)
	do()
	w.cpu = float64((redisCPU(b, s) - began).Microseconds())
	logs, err := s.client.SlowLogGet(b.Context(), 100_000).Result()
	if err != nil {
		b.Fatal(err)
	}
	for _, l := range logs {
		if len(l.Args) > 0 && (l.Args[0] == "evalsha" || l.Args[0] == "eval") {
			w.longest = max(w.longest, float64(l.Duration.Microseconds())/1000)
		}
	}
	return w
}
