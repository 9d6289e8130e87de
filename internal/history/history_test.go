package history_test

import (
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/history"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/watch"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

// server is one of several that share a store.
type server struct {
	zones   *zones.Zones
	watch   *watch.Watch
	minutes *history.Recorder
	refused map[string]int64
}

func serve(t *testing.T, all store.Store) *server {
	t.Helper()
	s := &server{refused: make(map[string]int64)}
	s.zones = zones.New(zones.Options{Store: all})
	s.watch = watch.New(watch.Options{Zones: s.zones})
	s.minutes = history.New(history.Options{
		Watch: s.watch, Store: s.zones, Keep: 24 * time.Hour,
		Refused: func(string) map[string]int64 { return maps.Clone(s.refused) },
	})
	s.watch.Start(t.Context())
	s.minutes.Start(t.Context())
	return s
}

func (s *server) stop() {
	s.watch.Stop()
	s.minutes.Stop()
	s.zones.Stop()
}

// TestMinutes: two servers share a store, one is started later, the store is away for some minutes. All that happened is told once,
// in its minute where a server looked.
func TestMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now() // a midnight
		kept := parts.OpenStore(t, time.Now, nil)
		z := zone.Defaults("Z")
		z.PerMinute, z.IdleTimeoutSeconds = 60, 3600
		_, err := kept.PutZone(t.Context(), z, nil, audit.By{})
		parts.Must(t, err)
		a := serve(t, kept)
		defer func() { a.stop() }()
		next := 0
		join := func(n int) {
			for range n {
				next++
				_, err := kept.Join(t.Context(), "Z", line.ID{byte(next >> 8), byte(next)})
				parts.Must(t, err)
			}
		}
		poll := func() {
			for i := 1; i <= next; i++ {
				_, err := kept.Poll(t.Context(), "Z", line.Place{ID: line.ID{byte(i >> 8), byte(i)}})
				parts.Must(t, err)
			}
		}
		<-time.After(90 * time.Second)
		join(400) // minute 1: the first six of a window straight in
		a.refused["line_full"] = 3
		b := serve(t, kept)
		defer func() { b.stop() }()
		b.refused["line_full"] = 7 // before it was looked at: not of this minute
		for range 31 {
			<-time.After(2 * time.Second)
			poll()
		} // 2:32
		a.refused["line_full"], b.refused["zone_closed"] = 5, 1
		<-time.After(30 * time.Second) // 3:02
		kept.Fail(line.ErrStoreUnavailable, "observe")
		<-time.After(time.Minute)
		poll()
		<-time.After(70 * time.Second) // 5:12
		kept.Fail(nil)
		<-time.After(100 * time.Second) // 6:52
		a.stop()
		a = serve(t, kept)
		<-time.After(time.Hour)

		got, err := history.Read(t.Context(), kept, "Z", began, began.Add(2*time.Hour))
		parts.Must(t, err)
		byMinute := make(map[int64]history.Minute)
		var sum line.Totals
		for _, m := range got {
			byMinute[m.Time().Sub(began).Milliseconds()/60_000] = m
			sum = sum.Plus(line.Totals{}, m.Totals)
		}
		stats, err := kept.Observe(t.Context(), "Z", 0)
		parts.Must(t, err)
		if sum.Joined != 400 || sum.Admitted != stats.Totals.Admitted || sum.Admitted == 0 {
			t.Errorf("the minutes have %d joins and %d admissions, the zone %d and %d", sum.Joined, sum.Admitted, 400, stats.Totals.Admitted)
		}
		first := byMinute[1]
		if first.Joined != 400 || first.Refused["line_full"] != 3 || first.Waiting < 300 || first.PerMinute != 60 || first.EstimateMillis == 0 {
			t.Errorf("minute 1: %+v", first)
		}
		if _, ok := byMinute[0]; ok {
			t.Errorf("minute 0, in which nothing happened: %+v", byMinute[0])
		}
		if m := byMinute[2]; m.Refused["line_full"] != 2 || m.Refused["zone_closed"] != 1 || m.Joined != 0 || m.WaitP50Millis == 0 {
			t.Errorf("minute 2: %+v", m)
		}
		if m := byMinute[4]; m.NoData != 1 || m.Admitted == 0 {
			t.Errorf("minute 4, in which the store was away: %+v", m)
		}
		if m := byMinute[7]; m.NoData != 0 || m.Waiting == 0 {
			t.Errorf("minute 7, in which people waited: %+v", m)
		}
		var waits int64
		for _, n := range history.WaitsOf(got) {
			waits += n
		}
		if p50 := window.WaitQuantile(history.WaitsOf(got), 0.5); waits == 0 || waits > sum.Admitted || p50 <= 0 || p50 > 70_000 {
			t.Errorf("%d waits, the median %d ms", waits, p50)
		}
	})
}
