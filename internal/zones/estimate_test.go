package zones

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/embedded"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
)

// TestEstimatesAreToldOnceALineIsSampled: without a sample the store's estimate goes as it is;
// with one there is a range; one table long ago is none.
func TestEstimatesAreToldOnceALineIsSampled(t *testing.T) {
	t.Parallel()
	r, _, now := onEmbedded(t)
	var err error
	if _, err := r.PutZone(t.Context(), settings("a", 60), nil, audit.By{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	var last line.Told
	for i := range 200 {
		if last, err = r.Join(t.Context(), "a", line.ID{1, byte(i)}); err != nil {
			t.Fatal(err)
		}
		*now = now.Add(time.Millisecond)
	}
	if last.Status != line.Waiting || last.HighMillis != 0 {
		t.Fatalf("before any sample: %+v", last)
	}
	observe(t, r)
	told, err := r.Poll(t.Context(), "a", last.Place)
	if err != nil || told.LowMillis <= 0 || told.LowMillis >= told.EstimateMillis || told.HighMillis <= told.EstimateMillis {
		t.Errorf("after one: %+v, %v", told, err)
	}
	// Supposed is that some leave; nobody is known to.
	if told.EstimateMillis >= last.EstimateMillis || told.EstimateMillis < last.EstimateMillis/2 {
		t.Errorf("told %d ms, by the store %d", told.EstimateMillis, last.EstimateMillis)
	}
	stats, err := r.Stats(t.Context(), "a")
	if err != nil || stats.EstimateMillis < told.EstimateMillis || stats.LowMillis >= stats.EstimateMillis || stats.HighMillis <= stats.EstimateMillis || stats.LowMillis <= 0 {
		t.Errorf("one who joins now is told %d ms, %d to %d, the last one %d: %v", stats.EstimateMillis, stats.LowMillis, stats.HighMillis, told.EstimateMillis, err)
	}
	*now = now.Add(time.Minute)
	if old, err := r.Poll(t.Context(), "a", last.Place); err != nil || old.HighMillis != 0 {
		t.Errorf("by a table of a minute ago: %+v, %v", old, err)
	}
}

// TestManyLinesAreSampledLess: a second's samples of all zones are a bounded work for the store.
func TestManyLinesAreSampledLess(t *testing.T) {
	t.Parallel()
	for lines, want := range map[int]int{0: 512, 1: 512, 4: 512, 8: 256, 100: 20, 5_000: 16} {
		if got := sampledEach(lines); got != want {
			t.Errorf("%d lines: %d looked at in each, want %d", lines, got, want)
		}
	}
}

// unsampled is a store whose lines cannot be sampled while it is away.
type unsampled struct {
	*embedded.Store
	away bool
}

func (u *unsampled) Observe(ctx context.Context, zoneID string, most int) (line.Observation, error) {
	if u.away {
		return line.Observation{}, line.ErrStoreUnavailable
	}
	return u.Store.Observe(ctx, zoneID, most)
}

// observe is the watch's: once a second.
func observe(t *testing.T, r *Zones) {
	t.Helper()
	if _, err := r.Observe(t.Context(), "a"); err != nil && !errors.Is(err, line.ErrStoreUnavailable) {
		t.Fatal(err)
	}
}

// onEmbedded returns a server on an embedded store of its own, and its clock, which the test sets.
func onEmbedded(t *testing.T) (r *Zones, u *unsampled, now *time.Time) {
	t.Helper()
	at := time.UnixMilli(toldAt)
	clock := func() time.Time { return at }
	u = &unsampled{Store: parts.OpenStore(t, clock, nil).Store}
	return New(Options{Store: u, SeedFresh: true, Now: clock}), u, &at
}

// TestExpect: where one stands says how long one waits, with a sample and without; in an outage, and after
// it until the store answers a visitor, as it was before.
func TestExpect(t *testing.T) {
	t.Parallel()
	r, u, now := onEmbedded(t)
	if _, err := r.PutZone(t.Context(), settings("a", 60), nil, audit.By{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	z := r.Known("a")
	var places []line.Place
	for i := range 200 {
		a, err := r.Join(t.Context(), "a", line.ID{1, byte(i)})
		parts.Must(t, err)
		if a.Status == line.Waiting {
			places = append(places, a.Place)
		}
		*now = now.Add(time.Millisecond)
	}
	expect := func(when string) {
		t.Helper()
		for i, p := range places {
			want := int64(i) * 1_000 // one a second enters
			if millis := z.expect(p.StandsAtMicros(), now.UnixMilli()); millis < want-20_000 || millis > want+8_000 {
				t.Errorf("%s: number %d waits for %d ms", when, i+1, millis)
			}
		}
	}
	expect("before any sample")
	observe(t, r)
	expect("after one")
	u.away, *now = true, now.Add(40*time.Second)
	observe(t, r)
	expect("in an outage")
	u.away, *now = false, now.Add(40*time.Second)
	observe(t, r)
	expect("after an outage, with nobody back")
	if _, err := r.Poll(t.Context(), "a", places[150]); err != nil || r.Known("a").tableBefore.Load() != nil {
		t.Errorf("the table of before the outage goes on when people are back: %v", err)
	}
	if _, err := r.PutZone(t.Context(), settings("a", 0), nil, audit.By{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	if millis := z.expect(places[0].StandsAtMicros(), now.UnixMilli()); millis != window.MaxEstimateMillis {
		t.Errorf("of a paused zone, %d ms", millis)
	}
}

// TestLatest: the store is asked once a second, however many ask; one that is away is no answer, and a zone that is gone has none.
func TestLatest(t *testing.T) {
	t.Parallel()
	f, clock := newFakeStore(settings("a", 60)), parts.NewClock()
	r := New(Options{Store: f, Now: clock.Now})
	t.Cleanup(r.Stop)
	r.RunOnce(t.Context())
	look := func(what string, want error, asked int) {
		t.Helper()
		f.counted()
		_, err := r.Latest(t.Context(), "a")
		if calls := f.counted()["Observe"]; !errors.Is(err, want) || calls != asked {
			t.Errorf("%s: %v, want %v; the store was asked %d times", what, err, want, calls)
		}
	}
	look("at first", nil, 1)
	clock.Forward(latestMillis*time.Millisecond - 1)
	look("within a second", nil, 0)
	clock.Forward(time.Millisecond)
	look("a second later", nil, 1)
	clock.Forward(time.Second)
	f.do(func() { f.away = true })
	look("away", line.ErrStoreUnavailable, 1)
	f.do(func() { f.away = false })
	observe(t, r)
	look("observed", nil, 0)
	parts.Must(t, r.DeleteZone(t.Context(), "a", audit.By{}))
	look("deleted", line.ErrZoneUnknown, 0)
}
