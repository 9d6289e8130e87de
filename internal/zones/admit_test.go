package zones

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

func TestHoldRefusesAndKeepsThePlace(t *testing.T) {
	settings := admitting(10) // one in a window of 6 s
	settings.OnStoreFailure = zone.FailureHold
	r := newRoom(t, 1, settings)
	s := r.servers[0]
	places := r.join(s, 3)
	r.cut(true)
	for range 240 {
		before := s.wire.visits.Load()
		r.poll(s, places[0], "held")
		r.joinAs(s, r.newID(), "held")
		if got := s.wire.visits.Load() - before; got != 2 {
			t.Fatalf("%d calls to the store, want 2", got)
		}
		r.pass(ProbeEvery)
	}
	if !s.meter.failing.Load() || len(s.Overloaded()) != 1 {
		t.Error("the store is not said to fail, or to leave calls unanswered")
	}
	r.cut(false)
	r.poll(s, places[0], "admitted")
	if len(s.Overloaded()) > 0 || s.meter.failing.Load() || s.meter.local.Load() != 0 {
		t.Errorf("failing %t, %d admitted locally", s.meter.failing.Load(), s.meter.local.Load())
	}
}

// TestAnOutage from its beginning to its end: who enters when, and what the store and the other server then say.
func TestAnOutage(t *testing.T) {
	r := newRoom(t, 2, admitting(40)) // four in a window of 6 s, two a server: one in 3 s
	s := r.servers[0]
	places := r.join(s, 12)[:8]

	r.cut(true)
	began := r.clock.Now()
	for r.clock.Now().Sub(began) < AwayAfter+6*time.Second {
		r.poll(s, places[0], "held")
		r.pass(ProbeEvery)
	}
	visits := s.wire.visits.Load()
	first := r.poll(s, places[0], "admitted locally")
	r.pass(2750 * time.Millisecond)
	r.poll(s, places[1], "held")
	r.pass(ProbeEvery + 10*time.Millisecond)
	r.poll(s, places[1], "admitted locally")
	if first.ExpiresAtMillis != first.AdmittedAtMillis+300_000 || first.Place.ArrivedAtMicros != places[0].ArrivedAtMicros || first.Place.DueMillis != 0 {
		t.Errorf("the first admission: %+v", first)
	}
	if got := s.wire.visits.Load(); got != visits {
		t.Errorf("%d visitors were sent to a store that is away", got-visits)
	}
	if !s.meter.failing.Load() || s.meter.local.Load() != 2 {
		t.Errorf("failing %t, %d admitted locally", s.meter.failing.Load(), s.meter.local.Load())
	}

	r.cut(false)
	r.pass(ProbeEvery)
	r.poll(s, places[2], "held") // the other server may not have told yet
	if s.meter.failing.Load() {
		t.Error("the probe did not notice that the store is back")
	}
	r.pass(Apart + ProbeEvery)
	r.poll(s, places[2], "admitted") // 2 of 4 in the window were taken without the store
	again := r.poll(s, places[0], "admitted_before locally")
	if again.Status = line.Admitted; again.AdmittedAtMillis != first.AdmittedAtMillis || again.ExpiresAtMillis != first.ExpiresAtMillis {
		t.Errorf("repeated after the outage: %+v, first %+v", again, first)
	}
	other := r.poll(r.servers[1], places[0], "admitted_before") // the store was told
	if other.AdmittedAtMillis != first.AdmittedAtMillis {
		t.Errorf("at another server: %+v, first %+v", other, first)
	}
	if stats, err := r.store.Observe(t.Context(), testZone, 0); err != nil || stats.State.InWindow != 3 {
		t.Errorf("%d in the window, %v; want the local admissions counted", stats.State.InWindow, err)
	}
}

func TestAFlappingStoreSwitchesNothingOn(t *testing.T) {
	r := newRoom(t, 1, admitting(600))
	s := r.servers[0]
	places := r.join(s, 200)
	for range 20 {
		r.cut(true)
		for range 11 {
			r.poll(s, places[0], "held")
			r.pass(ProbeEvery)
		}
		r.cut(false)
		if _, err := s.Poll(t.Context(), testZone, places[0]); err != nil || s.meter.failing.Load() {
			t.Fatalf("back: %v, failing %t", err, s.meter.failing.Load())
		}
		places = places[1:]
	}
	if n := s.meter.local.Load(); n != 0 {
		t.Errorf("%d admitted locally", n)
	}
}

func TestNewcomersGoLast(t *testing.T) {
	r := newRoom(t, 1, admitting(20))
	s := r.servers[0]
	places := r.join(s, 7)
	r.toAway(s, places[0])
	r.joinAs(s, r.newID(), "held")
	r.poll(s, places[0], "admitted locally")
	r.poll(s, places[1], "held")
	r.pass(6250 * time.Millisecond)
	r.joinAs(s, r.newID(), "held")
	r.pass(14 * time.Second)
	a := r.joinAs(s, r.newID(), "admitted locally")
	last := places[len(places)-1].ArrivedAtMicros
	if got := a.Place.ArrivedAtMicros; got > last || got < last-100_000 {
		t.Errorf("arrival %d, want a late one that the store gave out, of %d or before", got, last)
	}
	again := r.joinAs(s, a.Place.ID, "admitted_before locally")
	if again.Status = line.Admitted; again != a {
		t.Errorf("joined again: %+v; want %+v", again, a)
	}
	r.poll(s, a.Place, "admitted_before locally")

	// The store takes the token for what it is: of a visitor who is gone.
	r.cut(false)
	r.pass(6 * time.Minute)
	r.poll(s, a.Place, "gone")
}

func TestWhoIsHeldWhenTheStoreIsAway(t *testing.T) {
	for _, tt := range []struct {
		name       string
		change     func(*zone.Settings)
		poll, join string
	}{
		{"queue", func(*zone.Settings) {}, "admitted locally", "admitted locally"},
		{"closed", func(s *zone.Settings) { s.Mode = zone.ModeClosed }, "admitted locally", "held"},
		{"open", func(s *zone.Settings) { s.Mode, s.PerMinute = zone.ModeOpen, 0 }, "admitted locally", "admitted locally"},
		{"nobody", func(s *zone.Settings) { s.PerMinute = 0 }, "held", "held"},
		{"hold", func(s *zone.Settings) { s.OnStoreFailure = zone.FailureHold }, "held", "held"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRoom(t, 1, admitting(60))
			s := r.servers[0]
			p := r.join(s, 7)[0]
			settings := admitting(60)
			tt.change(&settings)
			r.cut(true)
			s.remember(settings, false)
			r.joinAs(s, r.newID(), "held")
			r.pass(95 * time.Second)
			r.poll(s, p, tt.poll)
			r.pass(time.Second + ProbeEvery)
			r.joinAs(s, r.newID(), tt.join)
		})
	}
}

// TestAServerThatStartsDuringTheOutage cannot tell whose tokens are good, and knows no arrival that was given out.
func TestAServerThatStartsDuringTheOutage(t *testing.T) {
	r := newRoom(t, 1, admitting(60))
	old := r.servers[0]
	place := r.join(old, 7)[0]
	s := &server{New(Options{Store: old.wire, Seeds: []zone.Settings{admitting(60)}, Now: r.clock.Now}), old.wire, old.meter}
	r.servers[0] = s
	old.wire.down.Store(true)
	for range 100 {
		r.poll(s, place, "held")
		r.joinAs(s, r.newID(), "held")
		r.pass(ProbeEvery)
	}
	// Even if it has seen the settings.
	s.remember(admitting(60), false)
	r.poll(s, place, "held")
	r.pass(time.Minute)
	r.poll(s, place, "held")
	r.joinAs(s, r.newID(), "held")
}

// TestOldNewsAdmitNobody: a server that does not look any more, as one whose machine slept, must not go on as if the
// store were still away.
func TestOldNewsAdmitNobody(t *testing.T) {
	r := newRoom(t, 1, admitting(60))
	s := r.servers[0]
	p := r.join(s, 7)[0]
	r.toAway(s, p)
	r.clock.Forward(2 * time.Second) // no probe
	r.poll(s, p, "held")
	r.pass(ProbeEvery)
	r.poll(s, p, "admitted locally")
}

// TestTimesAreTheStores, whatever the clock of the server says.
func TestTimesAreTheStores(t *testing.T) {
	r := newRoom(t, 1, admitting(60))
	one := r.servers[0]
	s := &server{New(Options{Store: one.wire, Now: func() time.Time { return r.clock.Now().Add(10 * time.Second) }}), one.wire, one.meter}
	r.servers[0] = s
	s.RunOnce(t.Context())
	p := r.join(s, 7)[0]
	r.toAway(s, p)
	if a := r.poll(s, p, "admitted locally"); a.AdmittedAtMillis != r.clock.Now().UnixMilli() {
		t.Errorf("admitted at %d, the store's clock says %d", a.AdmittedAtMillis, r.clock.Now().UnixMilli())
	}
}

// TestWhatIsNoFailure: what says nothing about the store changes nothing.
func TestWhatIsNoFailure(t *testing.T) {
	r := newRoom(t, 1, admitting(60))
	s := r.servers[0]
	p := r.join(s, 7)[0]
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range []error{
		context.Canceled, context.DeadlineExceeded, errors.New("a bug"),
		fmt.Errorf("store: %w: %w", line.ErrStoreUnavailable, context.Canceled),
	} {
		s.wire.fails = err
		s.wire.down.Store(true)
		if _, got := s.Poll(gone, testZone, p); !errors.Is(got, err) {
			t.Errorf("poll: %v, want %v", got, err)
		}
		if s.meter.failing.Load() || s.phase() != calm {
			t.Errorf("%v is taken for a failure of the store", err)
		}
	}
	s.wire.fails = fmt.Errorf("store: %w", line.ErrStoreFull)
	if _, err := s.Join(t.Context(), testZone, r.newID()); !errors.Is(err, line.ErrStoreUnavailable) || s.phase() != calm {
		t.Errorf("join: %v, want ErrStoreUnavailable, which is an answer", err)
	}
	if over := s.Overloaded(); len(over) > 0 {
		t.Errorf("a full store is taken for an overloaded one: %v", over)
	}
	s.wire.fails = context.DeadlineExceeded
	if _, err := s.Poll(t.Context(), testZone, p); !errors.Is(err, line.ErrStoreUnavailable) || !s.meter.failing.Load() {
		t.Errorf("poll: %v, want ErrStoreUnavailable", err)
	}
	if err := s.Leave(t.Context(), testZone, p); !errors.Is(err, line.ErrStoreUnavailable) {
		t.Errorf("leave: %v, want ErrStoreUnavailable", err)
	}
}

// TestNobodyIsLetInBeforeTheOpening: the store alone knows when it opens, so no server lets anybody in by itself from when
// people gather until it has heard of the opening.
func TestNobodyIsLetInBeforeTheOpening(t *testing.T) {
	const never = 24 * time.Hour
	for _, tt := range []struct {
		name           string
		phase          event.Phase
		gathers, opens time.Duration
		want           string
	}{
		{"long before", event.PhaseAnnounced, never, 2 * never, "admitted locally"},
		{"people gather, by the clock alone", event.PhaseAnnounced, 10 * time.Second, never, "held"},
		{"people gather", event.PhaseGathering, -time.Minute, never, "held"},
		{"it opened while the store was away", event.PhaseGathering, -time.Hour, 5 * time.Second, "held"},
		{"it has opened", event.PhaseOpen, -time.Hour, -time.Minute, "admitted locally"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRoom(t, 1, admitting(10))
			s := r.servers[0]
			places := r.join(s, 3)
			r.cut(true)
			settings, now := admitting(10), r.clock.Now()
			settings.EventState.Now = &event.Progress{
				Event: event.Event{Name: "noon"}, Phase: tt.phase, Order: event.OrderArrival,
				PreQueueAtMillis: now.Add(tt.gathers).UnixMilli(), SettlesAtMillis: now.Add(tt.opens).UnixMilli(),
				OpensAtMillis: now.Add(tt.opens).UnixMilli(),
			}
			s.remember(settings, false)
			r.poll(s, places[0], "held")
			r.pass(45 * time.Second)
			r.poll(s, places[0], tt.want)
			if _, err := s.Join(t.Context(), testZone, r.newID()); err == nil && tt.want == "held" {
				t.Error("a newcomer was let in")
			}
		})
	}
}

// TestWhoHasNoPlaceGetsNoPass: the token of one who left, was admitted or had fallen silent, or of other data, brings
// nothing new while the store is away, whatever room there is; nor does its holder stand in the way of newcomers.
func TestWhoHasNoPlaceGetsNoPass(t *testing.T) {
	z := zone.Defaults(testZone)
	kept := (z.IdleTimeout() + z.KeepPlace()).Milliseconds()
	for _, tt := range []struct {
		name string
		end  func(r *room, p *line.Place)
		want string
	}{
		{"nothing happened", func(*room, *line.Place) {}, "admitted locally"},
		{"left", func(r *room, p *line.Place) {
			if err := r.servers[0].Leave(r.t.Context(), testZone, *p); err != nil {
				r.t.Error(err)
			}
		}, "gone locally"},
		{"let in, the pass is good", func(r *room, p *line.Place) {
			r.pass(7 * time.Second)
			*p = r.poll(r.servers[0], *p, "admitted").Place
		}, "admitted_before"},
		{"let in, by an older token", func(r *room, p *line.Place) {
			r.pass(7 * time.Second)
			r.poll(r.servers[0], *p, "admitted")
		}, "admitted_before"},
		{"let in, the pass has expired", func(r *room, p *line.Place) {
			r.pass(7 * time.Second)
			r.poll(r.servers[0], *p, "admitted")
			r.pass(time.Minute)
		}, "gone locally"},
		{"in time", func(r *room, p *line.Place) { p.DueMillis = r.clock.Now().UnixMilli() - kept + 1000 }, "admitted locally"},
		{"silent", func(r *room, p *line.Place) { p.DueMillis = r.clock.Now().UnixMilli() - kept + 999 }, "held"},
		{"of other data", func(_ *room, p *line.Place) { p.Epoch++ }, "held"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			settings := admitting(60)
			settings.PassTTLSeconds = 60
			r := newRoom(t, 1, settings)
			s := r.servers[0]
			places := r.join(s, 8)
			p := places[0]
			tt.end(r, &p)
			r.cut(true)
			r.poll(s, places[1], "held")
			r.pass(AwayAfter + 7*time.Second)
			r.poll(s, p, tt.want)
			for range 4 * 20 {
				r.pass(ProbeEvery)
				if tt.want == "held" {
					r.poll(s, p, "held")
				}
			}
			r.joinAs(s, r.newID(), "admitted locally")
		})
	}
}

func TestShare(t *testing.T) {
	hold := admitting(600)
	hold.OnStoreFailure = zone.FailureHold
	open := admitting(0)
	open.Mode = zone.ModeOpen
	second := admitting(600)
	second.MaxPerSecond = 7
	for _, tt := range []struct {
		name     string
		settings zone.Settings
		servers  int64
		admits   bool
		limit    rate.Limit // a minute
		burst    int
	}{
		{"one server", admitting(600), 1, true, 590, 2},
		{"many at once", admitting(60_000), 1, true, 57_510, 250},
		{"seven", admitting(600), 7, true, 80, 1},
		{"as many as the window's limit", admitting(600), 60, true, 10, 1},
		{"more than the window's limit", admitting(600), 61, false, 0, 1},
		{"small", admitting(5), 1, true, 5, 1},
		{"small, of two", admitting(5), 2, false, 0, 1},
		{"nobody", admitting(0), 1, false, 0, 1},
		{"hold", hold, 1, false, 590, 2},
		{"open", open, 1, true, 0, 1},
		{"by the second's limit", second, 1, true, 360, 2},
		{"as many as the second's limit", second, 7, true, 60, 1},
		{"more than the second's limit", second, 8, false, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			limit, burst := share(tt.settings, tt.servers)
			if got := limit * 60; got > tt.limit || got < tt.limit*0.998 || burst != tt.burst || admits(tt.settings, tt.servers) != tt.admits {
				t.Errorf("%v a minute, %d at once, admits %t; want %v", got, burst, admits(tt.settings, tt.servers), tt)
			}
		})
	}
}
