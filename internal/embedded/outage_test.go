package embedded

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/conformance"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestStartsInARow: a server was down for longer than the idle timeout, and ends again as soon
// as it has started. No visitor loses the place, and nobody comes back who had departed
// before.
func TestStartsInARow(t *testing.T) {
	throughRestarts(t, func(r restarts) {
		t, clock := r.T, r.clock
		s := r.open()
		z := zone.Defaults("z")
		z.PerMinute = 1
		put(t, s, z)
		var held []line.Place
		for i := range 4 {
			a, err := s.Join(t.Context(), "z", testID(i))
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, a.Place)
		}
		if err := s.Leave(t.Context(), "z", held[2]); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := s.save(); err != nil { // as it does once a second
				t.Fatal(err)
			}
			r.end(s)
			clock.Add(10 * time.Minute)
			s = r.open()
			if _, err := s.Join(t.Context(), "z", testID(9)); err != nil {
				t.Fatal(err)
			}
			if err := s.Leave(t.Context(), "z", line.Place{ID: testID(9), ArrivedAtMicros: clock.Now().UnixMicro()}); err != nil {
				t.Fatal(err)
			}
			s.journal.rotate(s.keepFor())
			clock.Add(3 * time.Second)
		}
		if a, err := s.Poll(t.Context(), "z", held[2]); err != nil || a.Status != line.Gone {
			t.Errorf("one who left: %+v, %v, want gone", a, err)
		}
		if a, err := s.Poll(t.Context(), "z", held[3]); err != nil || a.Status != line.Waiting {
			t.Errorf("one who waited: %+v, %v, want the place", a, err)
		}
	})
}

// TestTheClockGoesBackWithAKill: visitors who departed in the last second, of whom only the
// journal knows, do not come back, even if the clock is behind their arrivals.
func TestTheClockGoesBackWithAKill(t *testing.T) {
	t.Parallel()
	clock, dir := conformance.NewClock(), t.TempDir()
	s := reopen(t, dir, clock.Now)
	z := zone.Defaults("z")
	z.PerMinute = 1
	put(t, s, z)
	join := func(i int) line.Place {
		a, err := s.Join(t.Context(), "z", testID(i))
		if err != nil {
			t.Fatal(err)
		}
		clock.Add(time.Millisecond)
		return a.Place
	}
	join(0)
	before := join(1)
	if err := s.save(); err != nil {
		t.Fatal(err)
	}
	after := join(2)
	for _, p := range []line.Place{before, after} {
		if err := s.Leave(t.Context(), "z", p); err != nil {
			t.Fatal(err)
		}
	}
	kill(t, s)
	clock.Add(-time.Hour)
	s = reopen(t, dir, clock.Now)
	for _, p := range []line.Place{before, after} {
		if a, err := s.Poll(t.Context(), "z", p); err != nil || a.Status != line.Gone {
			t.Errorf("one who left: %+v, %v, want gone", a, err)
		}
	}
}

// TestADamagedJournal: zeros in a part, as a power failure may leave them, do not keep the
// server from starting, and spoil no other record.
func TestADamagedJournal(t *testing.T) {
	t.Parallel()
	clock, dir := conformance.NewClock(), t.TempDir()
	const record = "a 0000000000000001 11 3 5 9 .\n"
	text := append([]byte(record), make([]byte, 1<<20)...)
	text = append(append(text, '\n'), record...)
	if err := os.WriteFile(filepath.Join(dir, "departures-1.log"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	_, records, err := openJournal(aDisk(dir), departuresPrefix, clock.Now)
	if all := entriesOf(records); err != nil || len(all) != 2 {
		t.Errorf("read %d records, %v, want 2", len(all), err)
	}
}

// TestStartsWithTheClockSetBack: a server starts twice in a row on a clock that was set back by more
// than the idle timeout. It still knows the tokens that it gave out in between.
func TestStartsWithTheClockSetBack(t *testing.T) {
	throughRestarts(t, func(r restarts) {
		t, clock := r.T, r.clock
		s := r.open()
		z := zone.Defaults("z")
		z.PerMinute = 0
		put(t, s, z)
		var held []line.Place
		for i := range 2 {
			a, err := s.Join(t.Context(), "z", testID(i))
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, a.Place)
		}
		clock.Add(-time.Hour)
		for start := range 3 {
			clock.Add(3 * time.Second)
			if err := s.save(); err != nil { // as it does once a second
				t.Fatal(err)
			}
			r.end(s)
			s = r.open()
			for i, p := range held {
				a, err := s.Poll(t.Context(), "z", p)
				if err != nil || a.Status != line.Waiting {
					t.Fatalf("start %d: one who waited: %+v, %v, want the place", start, a, err)
				}
				if i == 0 {
					held[i] = a.Place
				}
			}
		}
	})
}
