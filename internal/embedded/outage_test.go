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
			held = append(held, join(t, s, i).Place)
		}
		must(t, s.Leave(t.Context(), "z", held[2]))
		for range 3 {
			must(t, s.save()) // as it does once a second
			r.end(s)
			clock.Add(10 * time.Minute)
			s = r.open()
			join(t, s, 9)
			must(t, s.Leave(t.Context(), "z", line.Place{ID: testID(9), ArrivedAtMicros: clock.Now().UnixMicro()}))
			s.journal.rotate(s.keepFor())
			clock.Add(3 * time.Second)
		}
		if a := poll(t, s, held[2]); a.Status != line.Gone {
			t.Errorf("one who left: %+v, want gone", a)
		}
		if a := poll(t, s, held[3]); a.Status != line.Waiting {
			t.Errorf("one who waited: %+v, want the place", a)
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
	join(t, s, 0)
	clock.Add(time.Millisecond)
	before := join(t, s, 1).Place
	must(t, s.save())
	clock.Add(time.Millisecond)
	after := join(t, s, 2).Place
	for _, p := range []line.Place{before, after} {
		must(t, s.Leave(t.Context(), "z", p))
	}
	kill(t, s)
	clock.Add(-time.Hour)
	s = reopen(t, dir, clock.Now)
	for _, p := range []line.Place{before, after} {
		if a := poll(t, s, p); a.Status != line.Gone {
			t.Errorf("one who left: %+v, want gone", a)
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
	must(t, os.WriteFile(filepath.Join(dir, "departures-1.log"), text, 0o600))
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
			held = append(held, join(t, s, i).Place)
		}
		clock.Add(-time.Hour)
		for start := range 3 {
			clock.Add(3 * time.Second)
			must(t, s.save()) // as it does once a second
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
