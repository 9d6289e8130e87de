package zones

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// errFull is what a Redis says that refuses to write.
var errFull = fmt.Errorf("fake: MISCONF the disk is full: %w", line.ErrStoreUnavailable)

// TestTheBrakeWorksWithoutTheStore: whether nothing is heard from it, or it answers
// visitors and refuses changes.
func TestTheBrakeWorksWithoutTheStore(t *testing.T) {
	paused, closed, lowered := settings("a", 0), settings("a", 600), settings("a", 60)
	closed.Mode = zone.ModeClosed
	sold := settings("a", 600)
	sold.SoldOut = zone.Texts{"default": "No seats are left."}
	for name, s := range map[string]zone.Settings{"sold out": sold, "pause": paused, "close": closed, "a lower limit": lowered} {
		for why, breaks := range map[string]func(*fakeStore){
			"away":              func(f *fakeStore) { f.away = true },
			"refuses to change": func(f *fakeStore) { f.refuses = errFull },
		} {
			t.Run(name+", "+why, func(t *testing.T) {
				was := settings("a", 600)
				f := newFakeStore(was, settings("b", 7))
				r, _ := newTest(t, f, Options{})
				f.do(func() { breaks(f) })
				if created, err := r.PutZone(t.Context(), s, &was, audit.By{Name: "ada"}); err != nil || created {
					t.Fatalf("PutZone = %t, %v", created, err)
				}
				if err := r.NotKept(); err == nil || !strings.Contains(err.Error(), "zone a ") || !errors.Is(err, line.ErrStoreUnavailable) {
					t.Errorf("NotKept = %v", err)
				}
				_ = r.read(t.Context()) // what the store has does not win over it
				if got, ok := r.inForce("a"); !ok || !got.Equal(s.InForce()) {
					t.Errorf("in force: %+v", got)
				}
				f.counted()
				if _, err := r.Poll(t.Context(), "a", line.Place{}); !errors.Is(err, line.ErrStoreUnavailable) {
					t.Errorf("Poll = %v, want ErrStoreUnavailable", err)
				}
				f.wantCalls(t, map[string]int{}) // the store would let people in
				f.do(func() { f.away, f.refuses = false, nil })
				if _, err := r.Poll(t.Context(), "b", line.Place{}); err != nil {
					t.Errorf("another zone: %v", err)
				}

				parts.Must(t, r.send(t.Context(), r.Known("a"), r.Known("a").brake.Load()))
				if !f.zones["a"].Equal(s) || r.NotKept() != nil || f.record[len(f.record)-1].Name != "ada" {
					t.Errorf("in the store: %+v, NotKept = %v, record %v", f.zones["a"], r.NotKept(), f.record)
				}
				if _, err := r.Poll(t.Context(), "a", line.Place{}); err != nil {
					t.Errorf("Poll = %v once the store has it", err)
				}
			})
		}
	}
}

// TestAChangeIsTakenBack: an operator changes the limit, and sets it back at once.
func TestAChangeIsTakenBack(t *testing.T) {
	was, now := settings("a", 600), settings("a", 900)
	r, _ := newTest(t, newFakeStore(was), Options{})
	for _, s := range []zone.Settings{now, was} {
		if _, err := r.PutZone(t.Context(), s, nil, audit.By{Name: "ada"}); err != nil {
			t.Fatal(err)
		}
		if got, err := r.Zone(t.Context(), "a"); err != nil || !got.Equal(s) {
			t.Errorf("%d a minute in force, %v; want %d", got.PerMinute, err, s.PerMinute)
		}
	}
}

// TestALostChangeIsMadeAgain: the store loses everything, and another server puts the zone back as it was before a change
// that it had not read. What somebody takes back without a loss, or when all have read it, stays taken back.
func TestALostChangeIsMadeAgain(t *testing.T) {
	was, now := settings("a", 600), settings("a", 900)
	for name, tt := range map[string]struct {
		lostAt int64
		later  time.Duration
		want   zone.Settings
	}{"lost": {5_000, 0, now}, "taken back": {0, 0, was}, "lost when all had read it": {5_000, 2 * readByAll, was}} {
		t.Run(name, func(t *testing.T) {
			f := newFakeStore(was)
			r, clock := newTest(t, f, Options{})
			if _, err := r.PutZone(t.Context(), now, &was, audit.By{Name: "ada"}); err != nil {
				t.Fatal(err)
			}
			clock.Forward(tt.later)
			r.readAndLog(t.Context())
			f.answers(line.Answer{}, 6_000, tt.lostAt)
			f.do(func() { f.zones["a"] = was })
			r.readAndLog(t.Context())
			if got, _ := r.Zone(t.Context(), "a"); !f.zones["a"].Equal(tt.want) || !got.Equal(tt.want) {
				t.Errorf("%d a minute in the store, %d in force, want %d", f.zones["a"].PerMinute, got.PerMinute, tt.want.PerMinute)
			}
		})
	}
}

// TestOnlyABrakeWorksWithoutTheStore: what lets more people in needs the store.
func TestOnlyABrakeWorksWithoutTheStore(t *testing.T) {
	was := settings("a", 600)
	for name, change := range map[string]func(*zone.Settings){
		"raise":            func(s *zone.Settings) { s.PerMinute = 601 },
		"open":             func(s *zone.Settings) { s.Mode = zone.ModeOpen },
		"open, and lower":  func(s *zone.Settings) { s.Mode, s.PerMinute = zone.ModeOpen, 1 },
		"admit, and lower": func(s *zone.Settings) { s.OnStoreFailure, s.PerMinute = zone.FailureAdmit, 1 },
		"something else":   func(s *zone.Settings) { s.MaxWaiting = 5 },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeStore(was)
			r, _ := newTest(t, f, Options{})
			f.do(func() { f.away = true })
			now := was
			change(&now)
			if _, err := r.PutZone(t.Context(), now, &was, audit.By{}); !errors.Is(err, line.ErrStoreUnavailable) {
				t.Errorf("PutZone = %v, want ErrStoreUnavailable", err)
			}
			if got, _ := r.Zone(t.Context(), "a"); !got.Equal(was) || r.NotKept() != nil {
				t.Errorf("in force: %+v, %v", got, r.NotKept())
			}
		})
	}
}

// TestABrakeCanBeTakenBack while the store is away, and moved; not to more than was.
func TestABrakeCanBeTakenBack(t *testing.T) {
	was, paused := settings("a", 600), settings("a", 0)
	f := newFakeStore(was)
	r, _ := newTest(t, f, Options{})
	f.do(func() { f.away = true })
	for _, step := range []struct{ perMinute, want int64 }{{0, 0}, {60, 60}, {601, 60}, {0, 0}, {600, 600}} {
		before, _ := r.Zone(t.Context(), "a")
		_, err := r.PutZone(t.Context(), settings("a", step.perMinute), &before, audit.By{Name: "ada"})
		if got, _ := r.Zone(t.Context(), "a"); got.PerMinute != step.want || (err == nil) != (step.perMinute == step.want) {
			t.Errorf("to %d: %d a minute, %v", step.perMinute, got.PerMinute, err)
		}
	}
	if _, err := r.PutZone(t.Context(), paused, &paused, audit.By{}); !errors.Is(err, line.ErrZoneChanged) {
		t.Errorf("from what it is not: %v, want ErrZoneChanged", err)
	}
	f.do(func() { f.away = false })
	if err := r.send(t.Context(), r.Known("a"), r.Known("a").brake.Load()); err != nil || !f.zones["a"].Equal(was) {
		t.Errorf("in the store: %+v, %v", f.zones["a"], err)
	}
	if _, err := r.PutZone(t.Context(), paused, &was, audit.By{}); err != nil || r.NotKept() != nil || !f.zones["a"].Equal(paused) {
		t.Errorf("afterwards: %+v, %v, %v", f.zones["a"], err, r.NotKept())
	}
}

// TestABrakeAndOthersChanges: of two limits the lower one stays, of two modes the
// tighter, and of all else what others have set, or else what came with the brake.
func TestABrakeAndOthersChanges(t *testing.T) {
	was := settings("a", 600)
	with := func(change func(*zone.Settings)) zone.Settings {
		s := was
		change(&s)
		return s
	}
	limited := func(perMinute int64) func(*zone.Settings) {
		return func(s *zone.Settings) { s.PerMinute = perMinute }
	}
	for name, tt := range map[string]struct{ brake, others, want func(*zone.Settings) }{
		"the same":     {limited(0), limited(0), limited(0)},
		"others lower": {limited(60), limited(6), limited(6)},
		"others raise": {limited(60), limited(6000), limited(60)},
		"others raise, and we close": {
			func(s *zone.Settings) { s.Mode = zone.ModeClosed }, limited(6000),
			func(s *zone.Settings) { s.Mode, s.PerMinute = zone.ModeClosed, 6000 },
		},
		"others open": {
			func(s *zone.Settings) { s.Mode, s.Burst = zone.ModeClosed, 5 },
			func(s *zone.Settings) { s.Mode, s.WindowSeconds = zone.ModeOpen, 9 },
			func(s *zone.Settings) { s.Mode, s.Burst, s.WindowSeconds = zone.ModeClosed, 5, 9 },
		},
		"others list an event": {
			func(s *zone.Settings) { s.PerMinute, s.PageTitle, s.Events = 0, "Back soon", nil },
			func(s *zone.Settings) { s.Events = []event.Event{{Name: "noon", OpensAt: "2027-01-01T12:00:00Z"}} },
			func(s *zone.Settings) {
				s.PerMinute, s.PageTitle, s.Events = 0, "Back soon", []event.Event{{Name: "noon", OpensAt: "2027-01-01T12:00:00Z"}}
			},
		},
		"all else": {
			limited(0),
			func(s *zone.Settings) {
				s.WindowSeconds, s.Burst, s.IdleTimeoutSeconds, s.PassTTLSeconds, s.MaxWaiting = 1, 2, 30, 40, 5
				s.OnStoreFailure = zone.FailureAdmit
			},
			func(s *zone.Settings) {
				s.PerMinute, s.WindowSeconds, s.Burst, s.IdleTimeoutSeconds, s.PassTTLSeconds, s.MaxWaiting = 0, 1, 2, 30, 40, 5
				s.OnStoreFailure = zone.FailureAdmit
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeStore(was)
			r, _ := newTest(t, f, Options{})
			f.do(func() { f.away = true })
			if _, err := r.PutZone(t.Context(), with(tt.brake), nil, audit.By{Name: "ada"}); err != nil {
				t.Fatal(err)
			}
			f.do(func() { f.away, f.zones["a"] = false, with(tt.others) })
			parts.Must(t, r.send(t.Context(), r.Known("a"), r.Known("a").brake.Load()))
			if got, _ := r.Zone(t.Context(), "a"); !f.zones["a"].Equal(with(tt.want)) || !got.Equal(with(tt.want)) {
				t.Errorf("in the store %+v,\nin force %+v,\nwant %+v", f.zones["a"], got, with(tt.want))
			}
		})
	}
}

// TestABrakeOfADeletedZone goes with it.
func TestABrakeOfADeletedZone(t *testing.T) {
	f := newFakeStore(settings("a", 600))
	r, _ := newTest(t, f, Options{})
	f.do(func() { f.away = true })
	if _, err := r.PutZone(t.Context(), settings("a", 0), nil, audit.By{}); err != nil {
		t.Fatal(err)
	}
	f.do(func() { f.away = false; clear(f.zones); f.deleted["a"] = true })
	if err := r.send(t.Context(), r.Known("a"), r.Known("a").brake.Load()); err != nil || r.Known("a") != nil || r.NotKept() != nil {
		t.Errorf("%v, %v, %v", err, r.Known("a"), r.NotKept())
	}
}

// TestTheBrakeDoesNotWaitForAStoreThatHangs: what the server does without the store
// is tightened at once, and the store is asked nothing more after brakeAfter. When it
// goes on, it is told by itself.
func TestTheBrakeDoesNotWaitForAStoreThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore(settings("a", 600))
		r := New(Options{Store: f})
		r.Start(t.Context())
		defer r.Stop()
		answers := make(chan struct{})
		f.do(func() {
			f.before = func(call, _ string) {
				if call == "RestoreZone" || call == "PutZone" {
					<-answers
				}
			}
			f.refuses = errFull
		})
		done := make(chan error)
		go func() { _, err := r.PutZone(t.Context(), settings("a", 0), nil, audit.By{}); done <- err }()
		synctest.Wait()
		if got, _ := r.inForce("a"); got.PerMinute != 0 {
			t.Errorf("in force at once: %d a minute", got.PerMinute)
		}
		if _, err := r.Poll(t.Context(), "a", line.Place{}); err != nil {
			t.Errorf("a poll in the moment of the change: %v", err)
		}
		<-time.After(brakeAfter)
		if _, err := r.Poll(t.Context(), "a", line.Place{}); !errors.Is(err, line.ErrStoreUnavailable) {
			t.Errorf("a poll after %v: %v, want ErrStoreUnavailable", brakeAfter, err)
		}
		close(answers)
		if err := <-done; err != nil {
			t.Error(err)
		}
		f.do(func() { f.refuses = nil })
		<-time.After(2 * sendEvery)
		if err := r.NotKept(); err != nil || f.zones["a"].PerMinute != 0 {
			t.Errorf("NotKept = %v, the store has %v", err, maps.Collect(maps.All(f.zones)))
		}
		if _, err := r.Poll(t.Context(), "a", line.Place{}); err != nil {
			t.Errorf("a poll afterwards: %v", err)
		}
	})
}
