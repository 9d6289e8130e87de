package lua

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/watch"
	"github.com/openqueue/waitingroom/internal/zone"
)

// BenchmarkWatch samples 50 zones, as a server does once a second. What it costs
// Redis is in redis-us/op: 10,000 of those are 1 % of its core.
func BenchmarkWatch(b *testing.B) {
	s := openStore(b, time.Now)
	const zones, waiting = 50, 200
	for i := range zones {
		id := fmt.Sprintf("zone-%02d", i)
		if _, err := s.PutZone(b.Context(), zone.Defaults(id), nil, ""); err != nil {
			b.Fatal(err)
		}
		for n := range waiting {
			var visitor line.ID
			binary.BigEndian.PutUint64(visitor[:], uint64(n)*0x9e3779b97f4a7c15)
			if _, err := s.Join(b.Context(), id, visitor); err != nil {
				b.Fatal(err)
			}
		}
	}
	round := func() {
		w := watch.New(watch.Options{Lines: s})
		w.Start(b.Context()) // which makes the first round itself
		w.Stop()
		if sample, ok := w.Latest("zone-49"); !ok || !sample.Known() {
			b.Fatalf("the last zone: %+v", sample)
		}
	}
	round()
	before, rounds := redisCPU(b, s), 0
	for b.Loop() {
		round()
		rounds++
	}
	b.ReportMetric(float64((redisCPU(b, s)-before).Microseconds())/float64(rounds), "redis-us/op")
}

// redisCPU is how much processor time Redis has used.
func redisCPU(b *testing.B, s *Store) (used time.Duration) {
	b.Helper()
	info, err := s.client.Info(context.Background(), "cpu").Result()
	if err != nil {
		b.Fatal(err)
	}
	for row := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(row), ":")
		if name != "used_cpu_sys" && name != "used_cpu_user" {
			continue
		}
		seconds, err := strconv.ParseFloat(value, 64)
		if err != nil {
			b.Fatal(err)
		}
		used += time.Duration(seconds * float64(time.Second))
	}
	return used
}
