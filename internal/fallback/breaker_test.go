package fallback

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

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
		before := s.link.visits.Load()
		r.poll(s, places[0], "held")
		if _, err := s.Join(t.Context(), testZone, r.newID()); !errors.Is(err, line.ErrStoreUnavailable) {
			t.Fatalf("join: %v", err)
		}
		if got := s.link.visits.Load() - before; got != 2 {
			t.Fatalf("%d calls to the store, want 2", got)
		}
		r.pass(ProbeEvery)
	}
	if !s.meter.failing.Load() {
		t.Error("the meter does not say that the store is failing")
	}
	if !s.Overloaded() {
		t.Error("the store is not said to leave calls unanswered")
	}
	r.cut(false)
	r.poll(s, places[0], "admitted")
	if s.Overloaded() {
		t.Error("the store is said to leave calls unanswered")
	}
	if s.meter.failing.Load() || s.meter.local.Load() != 0 {
		t.Errorf("failing %t, %d admitted locally", s.meter.failing.Load(), s.meter.local.Load())
	}
}

func TestAdmitLetsTheShareInAndGoesBackToNormal(t *testing.T) {
	r := newRoom(t, 2, uneven(40)) // four in a window of 6 s, two a server
	s := r.servers[0]
	places := r.join(s, 12)[:8]

	r.cut(true)
	began := r.clock.now()
	for r.clock.now().Sub(began) <= AwayAfter+6*time.Second {
		r.poll(s, places[0], "held")
		r.pass(ProbeEvery)
	}
	visits := s.link.visits.Load()
	first := r.poll(s, places[0], "admitted locally")
	r.poll(s, places[1], "admitted locally")
	r.poll(s, places[2], "held")
	r.pass(6 * time.Second)
	r.poll(s, places[2], "held") // the window is closed at both ends
	r.pass(ProbeEvery)
	r.poll(s, places[2], "admitted locally")

	wait := r.clock.now().UnixMilli() - first.AdmittedAtMillis
	if first.ExpiresAtMillis != first.AdmittedAtMillis+300_000 || first.Place != places[0] || wait < 6000 || wait > 7000 {
		t.Errorf("the first admission: %+v", first)
	}
	if got := s.link.visits.Load(); got != visits {
		t.Errorf("%d visitors were sent to a store that is away", got-visits)
	}
	if !s.meter.failing.Load() || s.meter.local.Load() != 3 {
		t.Errorf("failing %t, %d admitted locally", s.meter.failing.Load(), s.meter.local.Load())
	}

	r.cut(false)
	r.pass(ProbeEvery)
	if s.meter.failing.Load() {
		t.Error("the probe did not notice that the store is back")
	}
	// A window, Apart and Stale later the limit is the store's again.
	r.poll(s, places[3], "held")
	r.pass(8 * time.Second)
	r.poll(s, places[3], "held")
	r.pass(ProbeEvery)
	r.poll(s, places[3], "admitted")
	again := r.poll(s, places[0], "before locally")
	if again.Status = line.Admitted; again != first {
		t.Errorf("repeated after the outage: %+v, first %+v", again, first)
	}
	r.poll(r.servers[1], places[0], "before") // the store was told

	r.pass(5 * time.Minute)
	if r.poll(s, places[4], "admitted"); s.breaker(testZone).troubled.Load() {
		t.Error("the passes have expired, and the zone is still troubled")
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

func TestAnOutageNoLongerThanAWindowEndsAtOnce(t *testing.T) {
	r := newRoom(t, 1, admitting(10))
	s := r.servers[0]
	places := r.join(s, 3)
	r.cut(true)
	r.poll(s, places[0], "held")
	r.pass(5500 * time.Millisecond)
	r.poll(s, places[0], "held")
	if g := s.breaker(testZone); g.phase != away {
		t.Fatalf("phase %d, want away", g.phase)
	}
	r.cut(false)
	r.pass(ProbeEvery)
	r.poll(s, places[0], "waiting") // the window is not over for one who joined 6 s ago
	r.pass(2 * ProbeEvery)
	r.poll(s, places[0], "admitted")
}

func TestAnOutageEndsWithoutVisitors(t *testing.T) {
	r := newRoom(t, 1, admitting(10))
	s := r.servers[0]
	p := r.join(s, 2)[0]
	r.toAway(s, p)
	r.cut(false)
	r.pass(time.Hour)
	r.poll(s, p, "admitted")
}

func TestNewcomersGoLast(t *testing.T) {
	r := newRoom(t, 1, uneven(20))
	s := r.servers[0]
	places := r.join(s, 7)
	join := func(want string) line.Answer {
		t.Helper()
		a, err := s.Join(t.Context(), testZone, r.newID())
		if got := outcome(a, err); got != want {
			t.Errorf("join: %s, want %s", got, want)
		}
		return a
	}
	r.toAway(s, places[0])
	join("held")
	for i := range 2 {
		r.poll(s, places[i], "admitted locally")
	}
	r.poll(s, places[2], "held")
	r.pass(6250 * time.Millisecond)
	join("held")
	r.pass(14 * time.Second)
	a := join("admitted locally")
	last := places[len(places)-1].ArrivedAtMicros
	if got := a.Place.ArrivedAtMicros; got > last || got < last-100_000 {
		t.Errorf("arrival %d, want a late one that the store gave out, of %d or before", got, last)
	}
	again, err := s.Join(t.Context(), testZone, line.ID{9, 9, 9}, line.ID{8}, a.Place.ID)
	if again.Status = line.Admitted; err != nil || again != a {
		t.Errorf("joined again under a newer secret: %+v, %v; want %+v", again, err, a)
	}
	r.poll(s, a.Place, "before locally")

	// The store takes the token for what it is: of a visitor who is gone.
	r.cut(false)
	r.pass(6 * time.Minute)
	r.poll(s, a.Place, "gone")
}

func TestWhoIsHeldWhenTheStoreIsAway(t *testing.T) {
	tests := []struct {
		name       string
		change     func(*zone.Settings)
		poll, join string
	}{
		{"queue", func(*zone.Settings) {}, "admitted locally", "admitted locally"},
		{"closed", func(s *zone.Settings) { s.Mode = zone.ModeClosed }, "admitted locally", "held"},
		{"open", func(s *zone.Settings) { s.Mode, s.PerMinute = zone.ModeOpen, 0 }, "admitted locally", "admitted locally"},
		{"nobody", func(s *zone.Settings) { s.PerMinute = 0 }, "held", "held"},
		{"hold", func(s *zone.Settings) { s.OnStoreFailure = zone.FailureHold }, "held", "held"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRoom(t, 1, admitting(60))
			s := r.servers[0]
			p := r.join(s, 7)[0]
			settings := admitting(60)
			tt.change(&settings)
			s.link.remember(&settings)
			r.cut(true)
			if _, err := s.Join(t.Context(), testZone, r.newID()); !errors.Is(err, line.ErrStoreUnavailable) {
				t.Fatalf("join: %v", err)
			}
			r.pass(21 * time.Second)
			r.poll(s, p, tt.poll)
			a, err := s.Join(t.Context(), testZone, r.newID())
			if got := outcome(a, err); got != tt.join {
				t.Errorf("join: %s, want %s", got, tt.join)
			}
		})
	}
}

// In an open zone nothing limits, and so nothing has to be kept afterwards.
func TestOpenZone(t *testing.T) {
	settings := admitting(10)
	settings.Mode = zone.ModeOpen
	r := newRoom(t, 3, settings)
	s := r.servers[0]
	r.join(s, 1)
	r.cut(true)
	if _, err := s.Join(t.Context(), testZone, r.newID()); err == nil {
		t.Fatal("a join without a store")
	}
	r.pass(AwayAfter)
	for range 1000 {
		if a, err := s.Join(t.Context(), testZone, r.newID()); outcome(a, err) != "admitted locally" {
			t.Fatalf("join: %s", outcome(a, err))
		}
	}
	r.cut(false)
	r.pass(ProbeEvery)
	if a, err := s.Join(t.Context(), testZone, r.newID()); outcome(a, err) != "admitted" {
		t.Errorf("after the outage: %s", outcome(a, err))
	}
}

func TestAServerThatStartsDuringTheOutage(t *testing.T) {
	r := newRoom(t, 1, admitting(60))
	s := r.servers[0]
	place := line.Place{ID: r.newID(), ArrivedAtMicros: r.clock.now().UnixMicro()}
	settings, _ := s.link.Remembered(testZone)
	s.link.remember(nil)
	r.cut(true)
	for range 100 {
		r.poll(s, place, "held")
		r.pass(ProbeEvery)
	}
	if n := s.Admits(t.Context()); n != 0 || s.breaker(testZone) != nil {
		t.Errorf("admits to %d zones of which it has never heard", n)
	}

	// It has seen the settings, but never heard of the line: it cannot tell whose
	// tokens are good, and no arrival is known to be given out.
	s.link.remember(&settings)
	r.poll(s, place, "held")
	r.pass(40 * time.Second)
	if _, err := s.Join(t.Context(), testZone, r.newID()); !errors.Is(err, line.ErrStoreUnavailable) {
		t.Errorf("join: %v, want it held", err)
	}
	r.poll(s, place, "held")
	if n := s.Admits(t.Context()); n != 1 {
		t.Errorf("admits to %d zones", n)
	}
	r.cut(false)
	r.pass(ProbeEvery)
	if got := s.breaker(testZone).phase; got != settling {
		t.Errorf("phase %d, want settling: other servers may have admitted", got)
	}
}

// A server that does not look any more, as one whose machine slept, must not
// go on as if the store were still away.
func TestOldNewsAdmitNobody(t *testing.T) {
	r := newRoom(t, 1, admitting(60))
	s := r.servers[0]
	p := r.join(s, 7)[0]
	r.toAway(s, p)
	r.clock.advance(2 * time.Second) // no probe
	r.poll(s, p, "held")
	r.pass(ProbeEvery)
	r.poll(s, p, "admitted locally")
}

func TestAPassThatHasExpiredIsNoAdmission(t *testing.T) {
	settings := admitting(10)
	settings.PassTTLSeconds = 10
	r := newRoom(t, 1, settings)
	s := r.servers[0]
	p := r.join(s, 2)[0]
	r.toAway(s, p)
	first := r.poll(s, p, "admitted locally")
	r.pass(9999 * time.Millisecond)
	r.poll(s, p, "before locally")
	r.pass(time.Millisecond)
	if now := r.clock.now().UnixMilli(); now != first.ExpiresAtMillis {
		t.Errorf("expires at %d, want %d", first.ExpiresAtMillis, now)
	}
	r.poll(s, p, "gone locally")
	r.pass(12 * time.Second)
	if a, err := s.Join(t.Context(), testZone, p.ID); outcome(a, err) != "admitted locally" {
		t.Errorf("joined anew: %s", outcome(a, err))
	}
	if g := s.breaker(testZone); len(g.local.byID) != 1 {
		t.Errorf("%d admissions are remembered", len(g.local.byID))
	}
}

func TestTheMemoryOfAdmissionsIsBounded(t *testing.T) {
	var a admitted
	id := func(i int) line.ID { return line.ID{byte(i), byte(i >> 8), byte(i >> 16)} }
	a.add(admission{place: line.Place{ID: id(20)}, untilMillis: 50}) // is admitted once more when that pass is over
	for i := range maxAdmitted + 10 {
		a.add(admission{place: line.Place{ID: id(i)}, untilMillis: 100})
	}
	if len(a.byID) != maxAdmitted || len(a.order) != maxAdmitted {
		t.Errorf("%d remembered, %d in order, want %d", len(a.byID), len(a.order), maxAdmitted)
	}
	for i, want := range map[int]bool{9: false, 10: true, 20: true, maxAdmitted + 9: true} {
		if _, ok := a.find(visitor{place: line.Place{ID: id(i)}}, 99); ok != want {
			t.Errorf("visitor %d: %t", i, ok)
		}
	}
	if a.prune(99) || !a.prune(100) || a.byID != nil {
		t.Error("not all are forgotten when their passes expire, or before")
	}
}

func TestTimesAreTheStores(t *testing.T) {
	r := newRoom(t, 1, admitting(60))
	ahead := testClock{}
	ahead.micros.Store(r.clock.micros.Load())
	l := r.servers[0].link
	m := &meter{}
	s := &server{Policy: New(Options{Lines: l, Meter: m, Now: ahead.now}), link: l, meter: m}
	r.servers = []*server{s}
	// Whatever the clock of the server says, and whoever sets it.
	ahead.advance(10 * time.Second)
	p := r.join(s, 7)[0]
	r.cut(true)
	r.poll(s, p, "held")
	for range 40 {
		ahead.advance(ProbeEvery)
		r.pass(ProbeEvery)
	}
	if a := r.poll(s, p, "admitted locally"); a.AdmittedAtMillis != r.clock.now().UnixMilli() {
		t.Errorf("admitted at %d, the store's clock says %d", a.AdmittedAtMillis, r.clock.now().UnixMilli())
	}
}

// What says nothing about the store changes nothing.
func TestWhatIsNoFailure(t *testing.T) {
	r := newRoom(t, 1, admitting(60))
	s := r.servers[0]
	p := r.join(s, 7)[0]
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range []error{
		context.Canceled, context.DeadlineExceeded, errors.New("a bug"),
		fmt.Errorf("registry: %w: %w", line.ErrStoreUnavailable, context.Canceled),
	} {
		s.link.fails = err
		r.cut(true)
		if _, got := s.Poll(gone, testZone, p); !errors.Is(got, err) {
			t.Errorf("poll: %v, want %v", got, err)
		}
		if s.meter.failing.Load() || s.breaker(testZone).phase != calm {
			t.Errorf("%v is taken for a failure of the store", err)
		}
	}
	s.link.fails = context.DeadlineExceeded
	if _, err := s.Poll(t.Context(), testZone, p); !errors.Is(err, line.ErrStoreUnavailable) || !s.meter.failing.Load() {
		t.Errorf("poll: %v, want ErrStoreUnavailable", err)
	}
	if err := s.Leave(t.Context(), testZone, p); !errors.Is(err, line.ErrStoreUnavailable) {
		t.Errorf("leave: %v, want ErrStoreUnavailable", err)
	}
}

func TestADeletedZoneIsForgotten(t *testing.T) {
	for _, how := range []string{"by a visitor's call", "by a probe"} {
		t.Run(how, func(t *testing.T) {
			r := newRoom(t, 1, admitting(60))
			s := r.servers[0]
			p := r.join(s, 7)[0]
			r.cut(true)
			r.poll(s, p, "held")
			if err := r.store.DeleteZone(t.Context(), testZone, ""); err != nil {
				t.Fatal(err)
			}
			r.cut(false)
			if how == "by a probe" {
				r.pass(ProbeEvery)
			} else if _, err := s.Poll(t.Context(), testZone, p); !errors.Is(err, line.ErrZoneDeleted) {
				t.Errorf("poll: %v", err)
			}
			if g := s.breaker(testZone); g != nil {
				t.Errorf("the zone is remembered: %+v", g)
			}
		})
	}
	t.Run("invented zones are not remembered", func(t *testing.T) {
		r := newRoom(t, 1, admitting(60))
		s := r.servers[0]
		for i := range 10 {
			for _, down := range []bool{false, true} {
				r.cut(down)
				if _, err := s.Poll(t.Context(), fmt.Sprint(i), line.Place{}); err == nil {
					t.Error("polled a zone that is none")
				}
			}
		}
		if n := len(*s.breakers.Load()); n != 0 {
			t.Errorf("%d are", n)
		}
	})
}
