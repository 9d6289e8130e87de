package zones

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newTest returns zones that have read its store once, and its clock.
func newTest(t *testing.T, f *fakeStore, o Options) (*Zones, *parts.Clock) {
	t.Helper()
	clock := parts.NewClock()
	o.Store, o.Now = f, clock.Now
	r := New(o)
	if err := r.read(t.Context()); err != nil {
		t.Fatalf("first read: %v", err)
	}
	f.counted()
	return r, clock
}

// TestLined: whether a newcomer would line up is known without the store.
func TestLined(t *testing.T) {
	gathering := settings("gathering", 1)
	gathering.EventState.Now = &event.Progress{Phase: event.PhaseGathering, PreQueueAtMillis: 1, OpensAtMillis: event.Never}
	f := newFakeStore(settings("busy", 1), settings("quiet", 1), settings("paused", 0), gathering)
	r, _ := newTest(t, f, Options{})
	r.Known("busy").learn(line.State{NowMillis: 1, Waiting: 3}, r.Millis())
	for id, want := range map[string]bool{"busy": true, "quiet": false, "paused": true, "gathering": true, "unknown": false} {
		if got := r.Lined(id); got != want {
			t.Errorf("%s: %t", id, got)
		}
	}
	if calls := f.counted(); len(calls) > 0 {
		t.Errorf("the store was asked: %v", calls)
	}
	r.Known("busy").learn(line.State{NowMillis: 2}, r.Millis())
	if r.Lined("busy") {
		t.Error("the line has gone")
	}
}

// TestAZoneIsKnownOnceItWasMade: on every server, whatever was asked for before, and by as many as come at once.
func TestAZoneIsKnownOnceItWasMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore(settings("a", 1))
		r, _ := newTest(t, f, Options{})
		f.before = func(call, _ string) {
			if call == "Zone" {
				<-time.After(time.Millisecond)
			}
		}
		if _, err := r.Zone(t.Context(), "b"); !errors.Is(err, line.ErrZoneUnknown) {
			t.Fatal(err)
		}
		var asking sync.WaitGroup
		asking.Go(func() { _, _ = r.Zone(t.Context(), "b") })
		synctest.Wait()
		f.do(func() { f.zones["b"] = settings("b", 7) }) // by another server, while the store is asked
		for range 9 * seeksPerSecond {
			asking.Go(func() {
				if s, err := r.Zone(t.Context(), "b"); err != nil || s.PerMinute != 7 {
					t.Errorf("Zone = %+v, %v", s, err)
				}
			})
		}
		asking.Wait()
		f.do(func() { f.deleted["d"] = true })
		if _, err := r.Zone(t.Context(), "d"); !errors.Is(err, line.ErrZoneUnknown) {
			t.Errorf("deleted: %v", err)
		}
	})
}

func TestUnknownZoneCostsLittleWhileTheListIsFresh(t *testing.T) {
	f := newFakeStore(settings("a", 1))
	r, clock := newTest(t, f, Options{})

	for i := range 1000 {
		_, err := r.Poll(t.Context(), fmt.Sprintf("invented-%d", i), line.Place{})
		if !errors.Is(err, line.ErrZoneUnknown) {
			t.Fatalf("Poll = %v, want ErrZoneUnknown", err)
		}
	}
	f.wantCalls(t, map[string]int{"Zone": seeksPerSecond})
	if n := len(*r.zones.Load()); n != 1 {
		t.Errorf("%d zones remembered, want 1", n)
	}

	// Once it is stale, one reading serves them all.
	clock.Forward(freshFor)
	for i := range 1000 {
		if _, err := r.Zone(t.Context(), fmt.Sprintf("invented-%d", i)); !errors.Is(err, line.ErrZoneUnknown) {
			t.Fatalf("Zone = %v, want ErrZoneUnknown", err)
		}
	}
	f.wantCalls(t, map[string]int{"Zones": 1, "Zone": seeksPerSecond})
}

func TestUnknownZoneWhileTheStoreIsAway(t *testing.T) {
	f := newFakeStore(settings("a", 1))
	r, clock := newTest(t, f, Options{})
	f.do(func() { f.away = true })
	clock.Forward(freshFor)

	for i := range 100 {
		_, err := r.Join(t.Context(), fmt.Sprintf("invented-%d", i), line.ID{})
		if !errors.Is(err, line.ErrStoreUnavailable) {
			t.Fatalf("Join = %v, want ErrStoreUnavailable", err)
		}
	}
	f.wantCalls(t, map[string]int{"Zones": 1})

	clock.Forward(minGap)
	_, _ = r.Zone(t.Context(), "invented")
	f.wantCalls(t, map[string]int{"Zones": 1})

	// What is remembered is still answered.
	if s, err := r.Zone(t.Context(), "a"); err != nil || s.PerMinute != 1 {
		t.Errorf("Zone(a) = %+v, %v", s, err)
	}
	if all, err := r.Zones(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("Zones = %+v, %v", all, err)
	}
}

func TestLostZoneIsRestoredFromMemory(t *testing.T) {
	f := newFakeStore(settings("a", 60))
	r, _ := newTest(t, f, Options{})

	learn := []line.State{
		{NowMillis: 7_000, EdgeMicros: 500, LastArrivalMicros: 900, Epoch: 3},
		{NowMillis: 6_000, EdgeMicros: 400, LastArrivalMicros: 950, Epoch: 3}, // an answer that comes late
		{}, // as with a status that has no state
	}
	for _, s := range learn {
		f.do(func() { f.answer.State = s })
		if _, err := r.Poll(t.Context(), "a", line.Place{}); err != nil {
			t.Fatal(err)
		}
	}
	want := line.Memory{Epoch: 3, SeenAtMillis: 8_000, EdgeMicros: 500, LastArrivalMicros: 950}

	calls := map[string]func() error{
		"Join":       func() error { _, err := r.Join(t.Context(), "a", line.ID{}); return err },
		"Poll":       func() error { _, err := r.Poll(t.Context(), "a", line.Place{}); return err },
		"Observe":    func() error { _, err := r.Stats(t.Context(), "a"); return err },
		"HoldSweeps": func() error { return r.HoldSweeps(t.Context(), "a", "me", time.Second) },
		"Sweep":      func() error { _, err := r.Sweep(t.Context(), "a", "me", 0); return err },
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			f.lose()
			f.counted()
			parts.Must(t, call())
			f.wantCalls(t, map[string]int{name: 2, "RestoreZone": 1})
			if !reflect.DeepEqual(f.memory["a"], want) {
				t.Errorf("restored with %+v, want %+v", f.memory["a"], want)
			}
			if !f.zones["a"].Equal(settings("a", 60)) {
				t.Errorf("restored as %+v", f.zones["a"])
			}
		})
	}
}

func TestRestoreIsSharedByConcurrentPolls(t *testing.T) {
	const pollers = 50
	f := newFakeStore(settings("a", 60))
	r, _ := newTest(t, f, Options{})
	f.lose()

	// Every poll has been refused before the first restore takes effect.
	var refused sync.WaitGroup
	refused.Add(pollers)
	var polls sync.Map
	f.before = func(call, _ string) {
		if call == "RestoreZone" {
			refused.Wait()
		}
	}
	var all sync.WaitGroup
	for i := range pollers {
		all.Go(func() {
			z := r.Known("a")
			before := z.restored.Load()
			first := true
			_, err := ask(t.Context(), z, store.Poll, func() (line.Answer, error) {
				a, err := f.tell("Poll", "a")
				if first {
					first = false
					refused.Done()
				}
				return a, err
			})
			if err != nil {
				polls.Store(i, err)
			}
			if before != 0 {
				polls.Store(i, errors.New("began too late"))
			}
		})
	}
	all.Wait()
	polls.Range(func(_, err any) bool { t.Error(err); return true })
	f.wantCalls(t, map[string]int{"Poll": 2 * pollers, "RestoreZone": 1})
}

// TestZoneThatIsNotRestored: that the store did not take the zone back is no word about the zone.
func TestZoneThatIsNotRestored(t *testing.T) {
	for name, breaks := range map[string]func(*fakeStore){
		"the store went away": func(f *fakeStore) { f.away = true },
		"it lost it again":    func(f *fakeStore) { f.neverAll = true },
	} {
		f := newFakeStore(settings("a", 60))
		r, _ := newTest(t, f, Options{})
		f.lose()
		f.before = func(call, _ string) {
			if call == "RestoreZone" {
				f.do(func() { breaks(f) })
			}
		}
		_, err := r.Poll(t.Context(), "a", line.Place{})
		if !errors.Is(err, line.ErrStoreUnavailable) || errors.Is(err, line.ErrZoneUnknown) {
			t.Errorf("%s: Poll = %v, want ErrStoreUnavailable", name, err)
		}
	}
}

func TestDeletedZoneIsForgotten(t *testing.T) {
	f := newFakeStore(settings("a", 60), settings("b", 60))
	w := &watched{}
	r, _ := newTest(t, f, Options{Meter: w})
	f.do(func() { delete(f.zones, "a"); f.deleted["a"] = true }) // by another server

	if _, err := r.Poll(t.Context(), "a", line.Place{}); !errors.Is(err, line.ErrZoneDeleted) {
		t.Errorf("first Poll = %v, want ErrZoneDeleted", err)
	}
	f.wantCalls(t, map[string]int{"Poll": 1})
	if _, err := r.Poll(t.Context(), "a", line.Place{}); !errors.Is(err, line.ErrZoneUnknown) {
		t.Errorf("second Poll = %v, want ErrZoneUnknown", err)
	}
	f.wantCalls(t, map[string]int{"Zone": 2}) // another server may have made it anew
	if got := w.list(); !slices.Equal(got, []string{"b"}) {
		t.Errorf("the meter knows %v", got)
	}
}

func TestRead(t *testing.T) {
	a, b := settings("a", 1), settings("b", 2)
	tests := []struct {
		name   string
		change func(f *fakeStore)
		calls  map[string]int
		zones  []zone.Settings
		fails  bool
	}{
		{"nothing changed", func(*fakeStore) {}, map[string]int{"Zones": 1}, []zone.Settings{a, b}, false},
		{"changed elsewhere", func(f *fakeStore) { f.zones["b"] = settings("b", 9) },
			map[string]int{"Zones": 1}, []zone.Settings{a, settings("b", 9)}, false},
		{"created elsewhere", func(f *fakeStore) { f.zones["c"] = settings("c", 3) },
			map[string]int{"Zones": 1}, []zone.Settings{a, b, settings("c", 3)}, false},
		{"deleted elsewhere", func(f *fakeStore) { delete(f.zones, "b"); f.deleted["b"] = true },
			map[string]int{"Zones": 1, "Zone": 1}, []zone.Settings{a}, false},
		{"lost", func(f *fakeStore) { delete(f.zones, "b") },
			map[string]int{"Zones": 1, "Zone": 1, "RestoreZone": 1}, []zone.Settings{a, b}, false},
		{"lost, and deleted before it was put back", func(f *fakeStore) {
			delete(f.zones, "b")
			f.before = func(call, _ string) {
				if call == "RestoreZone" {
					f.do(func() { f.deleted["b"] = true })
				}
			}
		}, map[string]int{"Zones": 1, "Zone": 1, "RestoreZone": 1}, []zone.Settings{a}, false},
		{"only the list lost", func(f *fakeStore) { f.unlisted["b"] = true; f.zones["b"] = settings("b", 9) },
			map[string]int{"Zones": 1, "Zone": 1, "RestoreZone": 1}, []zone.Settings{a, settings("b", 9)}, false},
		{"only the list lost, and deleted before it was written", func(f *fakeStore) {
			f.unlisted["b"] = true
			f.before = func(call, _ string) {
				if call == "RestoreZone" {
					f.do(func() { delete(f.zones, "b"); f.deleted["b"] = true })
				}
			}
		}, map[string]int{"Zones": 1, "Zone": 1, "RestoreZone": 1}, []zone.Settings{a}, false},
		{"away", func(f *fakeStore) { f.away = true }, map[string]int{"Zones": 1}, []zone.Settings{a, b}, true},
		{"a node away", func(f *fakeStore) { f.partial = true; delete(f.zones, "b"); f.zones["a"] = settings("a", 9) },
			map[string]int{"Zones": 1}, []zone.Settings{settings("a", 9), b}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFakeStore(a, b)
			w := &watched{}
			r, _ := newTest(t, f, Options{Meter: w})
			f.do(func() { tt.change(f) })
			if err := r.read(t.Context()); (err != nil) != tt.fails {
				t.Errorf("read = %v, fails: %v", err, tt.fails)
			}
			f.wantCalls(t, tt.calls)
			got, err := r.Zones(t.Context())
			if err != nil || !slices.EqualFunc(got, tt.zones, zone.Settings.Equal) {
				t.Errorf("Zones = %+v, %v\nwant %+v", got, err, tt.zones)
			}
			var ids []string
			for _, s := range tt.zones {
				ids = append(ids, s.ZoneID)
			}
			if !slices.Equal(w.list(), ids) {
				t.Errorf("the meter knows %v, want %v", w.list(), ids)
			}
		})
	}
}

// A list that was read before this server's own change says nothing about it.
func TestReadDoesNotUndoAChangeMadeMeanwhile(t *testing.T) {
	tests := []struct {
		name   string
		change func(r *Zones) error
		want   []zone.Settings
	}{
		{"put", func(r *Zones) error {
			_, err := r.PutZone(context.Background(), settings("a", 99), nil, audit.By{})
			return err
		}, []zone.Settings{settings("a", 99)}},
		{"create", func(r *Zones) error {
			_, err := r.PutZone(context.Background(), settings("b", 5), nil, audit.By{})
			return err
		}, []zone.Settings{settings("a", 1), settings("b", 5)}},
		{"delete", func(r *Zones) error { return r.DeleteZone(context.Background(), "a", audit.By{}) }, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := &slowList{fakeStore: newFakeStore(settings("a", 1))}
			r := New(Options{Store: f})
			parts.Must(t, r.read(t.Context()))
			f.afterList = func() {
				if err := tt.change(r); err != nil {
					t.Errorf("change: %v", err)
				}
			}
			parts.Must(t, r.read(t.Context()))
			if got, _ := r.Zones(t.Context()); !slices.EqualFunc(got, tt.want, zone.Settings.Equal) {
				t.Errorf("Zones = %+v, want %+v", got, tt.want)
			}
		})
	}
}

// slowList runs a function between the store's answer and its arrival.
type slowList struct {
	*fakeStore
	afterList func()
}

func (s *slowList) Zones(ctx context.Context) ([]zone.Settings, error) {
	all, err := s.fakeStore.Zones(ctx)
	if s.afterList != nil {
		s.afterList()
	}
	return all, err
}

func TestPutZone(t *testing.T) {
	old, put := settings("a", 1), settings("a", 2)
	t.Run("create", func(t *testing.T) {
		f := newFakeStore()
		r, _ := newTest(t, f, Options{})
		created, err := r.PutZone(t.Context(), put, nil, audit.By{})
		if err != nil || !created {
			t.Fatalf("PutZone = %v, %v", created, err)
		}
		f.wantCalls(t, map[string]int{"PutZone": 1, "Changes": 1})
		if s, err := r.Zone(t.Context(), "a"); err != nil || !s.Equal(put) {
			t.Errorf("Zone = %+v, %v", s, err)
		}
	})
	t.Run("lost meanwhile: not a new zone", func(t *testing.T) {
		f := newFakeStore(old)
		r, _ := newTest(t, f, Options{})
		f.lose()
		created, err := r.PutZone(t.Context(), put, &old, audit.By{})
		if err != nil || created {
			t.Fatalf("PutZone = %v, %v; want a change of the restored zone", created, err)
		}
		f.wantCalls(t, map[string]int{"Zone": 2, "RestoreZone": 1, "PutZone": 1})
	})
	t.Run("changed elsewhere: the repeat succeeds", func(t *testing.T) {
		f := newFakeStore(old)
		r, _ := newTest(t, f, Options{})
		f.do(func() { f.zones["a"] = settings("a", 50) })
		if _, err := r.PutZone(t.Context(), put, &old, audit.By{}); !errors.Is(err, line.ErrZoneChanged) {
			t.Fatalf("PutZone = %v, want ErrZoneChanged", err)
		}
		was, err := r.Zone(t.Context(), "a")
		if err != nil || was.PerMinute != 50 {
			t.Fatalf("Zone = %+v, %v", was, err)
		}
		if _, err := r.PutZone(t.Context(), put, &was, audit.By{}); err != nil {
			t.Errorf("repeat: %v", err)
		}
	})
	t.Run("deleted elsewhere: a new line, with no memory of the old", func(t *testing.T) {
		f := newFakeStore(old)
		r, _ := newTest(t, f, Options{})
		f.do(func() { f.answer.State.EdgeMicros = 7 })
		if _, err := r.Poll(t.Context(), "a", line.Place{}); err != nil {
			t.Fatal(err)
		}
		f.do(func() { delete(f.zones, "a"); f.deleted["a"] = true })
		if created, err := r.PutZone(t.Context(), put, nil, audit.By{}); err != nil || !created {
			t.Fatalf("PutZone = %v, %v", created, err)
		}
		if m := r.Known("a").lost(); !reflect.DeepEqual(m, line.Memory{}) {
			t.Errorf("memory = %+v", m)
		}
	})
	t.Run("deleted elsewhere: nothing left to change", func(t *testing.T) {
		f := newFakeStore(old)
		r, _ := newTest(t, f, Options{})
		f.do(func() { delete(f.zones, "a"); f.deleted["a"] = true })
		if _, err := r.PutZone(t.Context(), put, &old, audit.By{}); !errors.Is(err, line.ErrZoneDeleted) {
			t.Errorf("PutZone = %v, want ErrZoneDeleted", err)
		}
		if _, err := r.Zone(t.Context(), "a"); !errors.Is(err, line.ErrZoneUnknown) {
			t.Errorf("Zone = %v, want ErrZoneUnknown", err)
		}
	})
	t.Run("away", func(t *testing.T) {
		f := newFakeStore(old)
		r, _ := newTest(t, f, Options{})
		f.do(func() { f.away = true })
		if _, err := r.PutZone(t.Context(), put, nil, audit.By{}); !errors.Is(err, line.ErrStoreUnavailable) {
			t.Errorf("PutZone = %v", err)
		}
		if s, _ := r.Zone(t.Context(), "a"); !s.Equal(old) {
			t.Errorf("a change that may not have happened is remembered: %+v", s)
		}
	})
}

func TestDeleteZone(t *testing.T) {
	f := newFakeStore(settings("a", 1))
	r, _ := newTest(t, f, Options{})
	f.lose()
	parts.Must(t, r.DeleteZone(t.Context(), "a", audit.By{}))
	if !f.deleted["a"] {
		t.Error("the store has not learned of the deletion")
	}
	if err := r.DeleteZone(t.Context(), "a", audit.By{}); !errors.Is(err, line.ErrZoneUnknown) {
		t.Errorf("second DeleteZone = %v, want ErrZoneUnknown", err)
	}
}

// TestSeedInThePast: that an event of the configuration is over is said when its zone is made.
func TestSeedInThePast(t *testing.T) {
	for opens, warns := range map[string]bool{"2026-11-01T12:00:00Z": true, "2030-11-01T12:00:00Z": false} {
		seed, log := settings("a", 1), &strings.Builder{}
		seed.Events = []event.Event{{Name: "noon", OpensAt: opens}}
		newTest(t, newFakeStore(), Options{Seeds: []zone.Settings{seed}, SeedFresh: true, Logger: slog.New(slog.NewTextHandler(log, nil))})
		if got := strings.Contains(log.String(), `\"noon\" is in the past`); got != warns {
			t.Errorf("opens at %s: warned %t\n%s", opens, got, log)
		}
	}
}

func TestSeeds(t *testing.T) {
	seed, other := settings("a", 1), settings("a", 50)
	tests := []struct {
		name  string
		fresh bool
		setup func(f *fakeStore)
		calls map[string]int
		want  []zone.Settings
	}{
		{"absent, fresh", true, func(*fakeStore) {},
			map[string]int{"Zones": 1, "Zone": 2, "PutZone": 1, "Changes": 1}, []zone.Settings{seed}},
		{"absent, perhaps lost", false, func(*fakeStore) {},
			map[string]int{"Zones": 1, "Zone": 1, "RestoreZone": 1, "Changes": 1}, []zone.Settings{seed}},
		{"present: the store's settings win", true, func(f *fakeStore) { f.zones["a"] = other },
			map[string]int{"Zones": 1}, []zone.Settings{other}},
		{"deleted by an operator", true, func(f *fakeStore) { f.deleted["a"] = true },
			map[string]int{"Zones": 1, "Zone": 1}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFakeStore()
			tt.setup(f)
			r := New(Options{Store: f, Seeds: []zone.Settings{seed}, SeedFresh: tt.fresh})
			parts.Must(t, r.read(t.Context()))
			f.wantCalls(t, tt.calls)
			if got, _ := r.Zones(t.Context()); !slices.EqualFunc(got, tt.want, zone.Settings.Equal) {
				t.Errorf("Zones = %+v, want %+v", got, tt.want)
			}
		})
	}

	t.Run("created later when the store was away at first", func(t *testing.T) {
		f := newFakeStore()
		f.away = true
		clock := parts.NewClock()
		r := New(Options{Store: f, Seeds: []zone.Settings{seed}, SeedFresh: true, Now: clock.Now})
		if err := r.read(t.Context()); err == nil {
			t.Fatal("read succeeded")
		}
		if _, err := r.Poll(t.Context(), "a", line.Place{}); !errors.Is(err, line.ErrStoreUnavailable) {
			t.Errorf("Poll = %v, want ErrStoreUnavailable", err)
		}
		f.do(func() { f.away = false })
		if _, err := r.Poll(t.Context(), "a", line.Place{}); err != nil {
			t.Errorf("Poll = %v", err)
		}
	})
	t.Run("a zone that the store got meanwhile is not overwritten", func(t *testing.T) {
		f := newFakeStore()
		r := New(Options{Store: f, Seeds: []zone.Settings{seed}, SeedFresh: true})
		f.do(func() { f.zones["a"] = other })
		if present, err := r.put(t.Context(), r.Known("a")); err != nil || !present {
			t.Fatalf("put = %v, %v", present, err)
		}
		if got := *r.Known("a").settings.Load(); !got.Equal(other) {
			t.Errorf("settings = %+v, want the store's", got)
		}
	})
}

// TestOthersFirst: after a loss, a server that has just begun does not put what its configuration says in the place of what an operator
// has set, which another server remembers. What nobody remembers it makes after three seconds.
func TestOthersFirst(t *testing.T) {
	config, paused := settings("a", 60), settings("a", 0)
	f := newFakeStore(paused)
	one, clock := newTest(t, f, Options{Servers: 2})
	begun := func() *Zones {
		return New(Options{Store: f, Seeds: []zone.Settings{config}, Servers: 2, Now: clock.Now})
	}
	f.lose()
	other := begun()
	other.RunOnce(t.Context())
	if _, err := other.Join(t.Context(), "a", line.ID{1}); !errors.Is(err, line.ErrStoreUnavailable) || len(f.zones) > 0 {
		t.Errorf("at first: %v, the store has %v", err, f.zones)
	}
	if other.Ping(t.Context()) == nil {
		t.Error("the server seems ready")
	}
	one.RunOnce(t.Context())
	other.RunOnce(t.Context())
	if is := other.Known("a").Settings(); !f.zones["a"].Equal(paused) || !is.Equal(paused) {
		t.Errorf("the store has %+v, the server that has just begun %+v", f.zones["a"], is)
	}
	if err := other.Ping(t.Context()); err != nil {
		t.Errorf("the server is not ready: %v", err)
	}
	f.lose()
	other = begun()
	for range 4 {
		other.RunOnce(t.Context())
		clock.Forward(time.Second)
	}
	if !f.zones["a"].Equal(config) {
		t.Errorf("what nobody remembers: %+v", f.zones["a"])
	}
}

func TestRememberedIsWhatTheStoreWasSeenToHold(t *testing.T) {
	f := newFakeStore(settings("a", 1))
	f.do(func() { f.away = true })
	r := New(Options{Store: f, Seeds: []zone.Settings{settings("a", 2)}})
	_ = r.read(t.Context())
	if got, ok := r.inForce("a"); ok {
		t.Errorf("before the store was seen: %+v", got)
	}

	f.do(func() { f.away = false })
	parts.Must(t, r.read(t.Context()))
	f.do(func() { f.away = true })
	f.counted()
	if got, ok := r.inForce("a"); !ok || !got.Equal(settings("a", 1)) {
		t.Errorf("Remembered = %+v, %t, want the store's", got, ok)
	}
	if got, ok := r.inForce("b"); ok {
		t.Errorf("an unknown zone: %+v", got)
	}
	f.wantCalls(t, map[string]int{})
}

func TestLoopReadsWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore(settings("a", 1))
		r := New(Options{Store: f})
		r.Start(t.Context())
		defer r.Stop()
		f.do(func() { f.zones["a"] = settings("a", 2); f.zones["b"] = settings("b", 3) })
		<-time.After(time.Second) // of the bubble's clock
		synctest.Wait()
		want := []zone.Settings{settings("a", 2), settings("b", 3)}
		if got, err := r.Zones(t.Context()); err != nil || !slices.EqualFunc(got, want, zone.Settings.Equal) {
			t.Errorf("Zones = %+v, %v", got, err)
		}
	})
}

// TestEveryCallIsMeasured: whatever calls the store, the meter hears of each call, of how
// long it took and of how it ended.
func TestEveryCallIsMeasured(t *testing.T) {
	for _, away := range []bool{false, true} {
		f, m := newFakeStore(settings("a", 1), settings("b", 1)), &watched{}
		r, clock := newTest(t, f, Options{Meter: m})
		f.before = func(string, string) { clock.Forward(2 * time.Second) }
		ctx := t.Context()
		m.called = nil // what newTest did
		f.do(func() { f.away = away; delete(f.zones, "b"); f.answer.Status, f.answer.Restored = line.Admitted, true })
		_, _ = r.Join(ctx, "a", line.ID{1})
		_, _ = r.Poll(ctx, "a", line.Place{})
		_ = r.Leave(ctx, "a", line.Place{})
		_, _ = r.Observe(ctx, "a")
		r.reportInside(ctx, r.Known("a"))
		_, _ = r.Sweep(ctx, "a", "me", 0)
		_, _ = r.Changes(ctx, "a")
		_, _ = r.Poll(ctx, "b", line.Place{}) // lost
		_, _ = r.PutZone(ctx, settings("a", 2), nil, audit.By{Name: "test"})
		_ = r.DeleteZone(ctx, "a", audit.By{Name: "test"})
		_ = r.Ping(ctx)
		_, _ = r.Drawn(ctx, "a", line.Place{}, 0, 1)
		_, _ = r.KeepDraw(ctx, "a", "e", nil)
		_, _ = r.Draw(ctx, "a", "e")
		_, _ = r.Spend(ctx, "k", "", 0)
		_, _ = r.Visit(ctx, "k", store.Visit{})
		_ = r.KeepMinutes(ctx, "a", 0, nil)
		_, _ = r.Minutes(ctx, "a", 0, 1)
		_, _ = r.FindVisitor(ctx, "a", line.Admission{ID: line.ID{1}})
		_, _ = r.Share(ctx, "a", 0, "s", nil)
		r.depart("b", line.Departure{Place: line.Place{ID: line.ID{2}}})
		r.tellOnce(ctx)
		r.readAndLog(ctx)
		got := map[string]int{}
		for name, n := range f.counted() {
			got[strings.ToLower(name)] = n
		}
		m.mu.Lock()
		for call, name := range store.Calls {
			n, failures := got[strings.ReplaceAll(name, "_", "")], 0
			if away {
				failures = n
			}
			want := tally{n, failures, time.Duration(n) * 2 * time.Second}
			if heard := m.called[store.Call(call)]; heard != want || n == 0 && !away {
				t.Errorf("away %v: %s: the meter heard %+v, want %+v", away, name, heard, want)
			}
		}
		if m.counts[Restored] == 0 != away {
			t.Errorf("away %v: the meter heard of %d places put back", away, m.counts[Restored])
		}
		m.mu.Unlock()
	}
}

// TestClocks: each look at a zone says how far its clock is ahead of the server's.
func TestClocks(t *testing.T) {
	f, m := newFakeStore(settings("a", 1)), &watched{}
	r, clock := newTest(t, f, Options{Meter: m})
	f.do(func() { f.answer.State.NowMillis = clock.Now().Add(time.Hour + time.Second).UnixMilli() })
	f.before = func(string, string) { clock.Forward(2 * time.Second) }
	if _, err := r.Stats(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	// Half-way through a call of two seconds.
	if want := time.Hour; m.ahead != want {
		t.Errorf("the zone is %v ahead, want %v", m.ahead, want)
	}
}
