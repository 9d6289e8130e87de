package guard_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limit/local"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/registry"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

// quick is a store that costs nothing.
type quick struct {
	store.Store
	says line.Answer
}

func (q *quick) Poll(_ context.Context, _ string, p line.Place) (line.Answer, error) {
	a := q.says
	a.Place = p
	return a, nil
}

func (q *quick) Zones(context.Context) ([]zone.Settings, error) {
	return []zone.Settings{zone.Defaults(zoneID)}, nil
}

func (q *quick) Join(_ context.Context, _ string, id line.ID) (line.Answer, error) {
	a := q.says
	a.Place = line.Place{ID: id, ArrivedAtMicros: 1}
	return a, nil
}

// bench is a guard before a store that costs nothing, with many visitors.
type bench struct {
	store    *quick
	guard    *guard.Guard
	visitors []line.Place
	// ahead is how far the clock has been moved.
	ahead time.Duration
}

func newBench(visitors int) *bench {
	b := &bench{store: &quick{says: newStore().says}, visitors: make([]line.Place, visitors)}
	for i := range b.visitors {
		b.visitors[i].ArrivedAtMicros = 1_795_223_300_000_000
		binary.LittleEndian.PutUint64(b.visitors[i].ID[:], rand.Uint64())
	}
	counting := limiter.New(limiter.Dependencies{Local: local.New(local.CountersOptions{})})
	var book limit.PolicySet
	for _, p := range guard.Policies() {
		book = book.Put(p)
	}
	counting.Use(book)
	start := time.Now()
	lines := registry.New(registry.Options{Store: b.store, Now: func() time.Time { return start.Add(time.Since(start) + b.ahead) }})
	lines.RunOnce(context.Background())
	b.guard = guard.New(guard.Options{Lines: lines, Limiter: counting, Meter: &meter{}})
	return b
}

// BenchmarkPoll: what a poll in time costs with a guard and without, and one that is
// early, with so many visitors.
func BenchmarkPoll(b *testing.B) {
	for _, visitors := range []int{1_000, 200_000} {
		room := newBench(visitors)
		next := func(i *int) line.Place {
			if *i++; *i == len(room.visitors) {
				*i, room.ahead = 0, room.ahead+10*time.Second
			}
			return room.visitors[*i]
		}
		b.Run(fmt.Sprintf("without/%d", visitors), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); {
				_, _ = room.store.Poll(b.Context(), zoneID, next(&i))
			}
		})
		b.Run(fmt.Sprintf("in time/%d", visitors), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); {
				if a, err := room.guard.Poll(b.Context(), zoneID, next(&i)); err != nil || a.Early {
					b.Fatalf("%+v, %v", a, err)
				}
			}
		})
		b.Run(fmt.Sprintf("early/%d", visitors), func(b *testing.B) {
			b.ReportAllocs()
			early := 0
			for i := 0; b.Loop(); {
				if i++; i == len(room.visitors) {
					i = 0
				}
				if a, err := room.guard.Poll(b.Context(), zoneID, room.visitors[i]); err != nil || a.Early {
					early++
				}
			}
			b.ReportMetric(100*float64(early)/float64(b.N), "%early")
		})
	}
}

// BenchmarkAdmits: what a join costs.
func BenchmarkAdmits(b *testing.B) {
	room := newBench(1)
	for i := 0; b.Loop(); i++ {
		n := guard.Newcomer{ZoneID: zoneID, ClientID: "0f8fad5b-d9cb-469f-a165-708677289" + fmt.Sprint(i%1000), Address: "203.0.113." + fmt.Sprint(i%250)}
		_ = room.guard.Admits(b.Context(), n)
	}
}
