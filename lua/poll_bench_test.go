package lua

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// BenchmarkFarPolls polls from beyond the 51,200th place of 200,000, and BenchmarkJoins lines
// up, with so many at a time. What one costs Redis is in redis-us/op.
func BenchmarkFarPolls(b *testing.B) {
	const waiting, polling = 200_000, 20_000
	s := openStore(b, nil)
	places := lineUpMany(b, s, waiting)[waiting-polling*6:]
	var latest [polling]line.Place
	for i := range latest {
		latest[i] = places[i*6]
	}
	poll := func(i int) {
		a, err := s.Poll(b.Context(), "Z", latest[i])
		if err != nil || a.Status != line.Waiting {
			b.Errorf("%+v, %v", a, err)
		}
		latest[i] = a.Place
	}
	for _, kept := range []bool{false, true} { // clients keep their first token
		const atOnce = 256
		b.Run(fmt.Sprintf("kept=%v", kept), func(b *testing.B) {
			first := latest
			poll := func(i int) {
				if kept {
					latest[i] = first[i]
					latest[i].DueMillis = 1
				}
				poll(i)
			}
			inTurn(atOnce, polling, poll) // by which the tokens are fresh
			noted := testutil.ToFloat64(s.metrics.touches)
			began, before, n := time.Now(), redisCPU(b, s), 0
			for b.Loop() {
				n += inTurn(atOnce, polling, poll)
			}
			s.flush(s.batch("Z"))
			b.ReportMetric(float64((redisCPU(b, s)-before).Nanoseconds())/1000/float64(n), "redis-us/poll")
			b.ReportMetric(float64(time.Since(began).Nanoseconds())/1000/float64(n), "us/poll")
			b.ReportMetric((testutil.ToFloat64(s.metrics.touches)-noted)/float64(n), "noted/poll")
		})
	}
}

func BenchmarkJoins(b *testing.B) {
	const atOnce, each, front = 256, 20_000, 100
	s := openStore(b, nil)
	places := lineUpMany(b, s, 200_000)[:front]
	next := atomic.Int64{}
	next.Store(1 << 30)
	before, n := redisCPU(b, s), 0
	for b.Loop() {
		// The front keeps polling, or each call would move the edge over a hundred who are late.
		inTurn(front, front, func(i int) {
			if a, err := s.Poll(b.Context(), "Z", places[i]); err == nil {
				places[i] = a.Place
			}
		})
		n += inTurn(atOnce, each, func(int) {
			if a, err := s.Join(b.Context(), "Z", farID(int(next.Add(1)))); err != nil || a.Status != line.Waiting {
				b.Errorf("%+v, %v", a, err)
			}
		})
	}
	b.ReportMetric(float64((redisCPU(b, s)-before).Nanoseconds())/1000/float64(n), "redis-us/join")
}

// BenchmarkSweep is what a sweep that finds nobody to remove costs Redis, for each who waits.
func BenchmarkSweep(b *testing.B) {
	const waiting = 200_000
	s := openStore(b, nil)
	lineUpMany(b, s, waiting)
	before := redisCPU(b, s)
	for b.Loop() {
		for cursor, first := uint64(0), true; first || cursor > 0; first = false {
			swept, err := s.Sweep(b.Context(), "Z", "bench", cursor)
			if err != nil || swept.Busy || swept.Removed > 0 {
				b.Fatalf("%+v, %v", swept, err)
			}
			cursor = swept.Next
		}
	}
	b.ReportMetric(float64((redisCPU(b, s)-before).Nanoseconds())/1000/float64(b.N)/waiting, "redis-us/visitor")
}

// lineUpMany makes a paused zone in which so many wait.
func lineUpMany(b *testing.B, s *Store, n int) []line.Place {
	b.Helper()
	z := zone.Defaults("Z")
	z.PerMinute = 0
	if _, err := s.PutZone(b.Context(), z, nil, audit.By{}); err != nil {
		b.Fatal(err)
	}
	places := make([]line.Place, n)
	inTurn(256, n, func(i int) {
		a, err := s.Join(b.Context(), "Z", farID(i))
		if err != nil {
			b.Errorf("join: %v", err)
		}
		places[i] = a.Place
	})
	return places
}

// inTurn does something for each of n, so many at a time, and returns n.
func inTurn(atOnce, n int, do func(i int)) int {
	var all sync.WaitGroup
	for from := range atOnce {
		all.Go(func() {
			for i := from; i < n; i += atOnce {
				do(i)
			}
		})
	}
	all.Wait()
	return n
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
