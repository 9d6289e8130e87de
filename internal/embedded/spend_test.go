package embedded

import (
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/conformance"
	"github.com/openqueue/waitingroom/internal/store"
)

// TestSpentThroughARestart: what was spent stays so after a stop or a kill, until its life is over.
func TestSpentThroughARestart(t *testing.T) {
	throughRestarts(t, func(r restarts) {
		t, clock := r.T, r.clock
		s := r.open()
		is := func(key, by string, life time.Duration, want bool) {
			t.Helper()
			if first, err := s.Spend(t.Context(), key, by, life); err != nil || first != want {
				t.Errorf("%s by %s: %t, %v", key, by, first, err)
			}
		}
		is("short", "Ada", time.Minute, true)
		is("long", "Ada", store.MaxSpendLife, true)
		for range 3 {
			clock.Add(time.Hour)
			r.end(s)
			s = r.open()
			is("long", "Bob", time.Minute, false)
		}
		is("short", "Bob", time.Minute, true)
		clock.Add(store.MaxSpendLife)
		is("long", "Bob", time.Minute, true)
		r.end(s)
	})
}

// TestSpentIsForgotten: when lives are over, memory and files are given back.
func TestSpentIsForgotten(t *testing.T) {
	t.Parallel()
	clock, dir := conformance.NewClock(), t.TempDir()
	s := reopen(t, dir, clock.Now)
	defer stop(t, s)
	for day := range 3 {
		for i := range 1_000 {
			if first, err := s.Spend(t.Context(), string(rune(i)), "Ada", time.Hour); !first || err != nil {
				t.Fatal(day, i, first, err)
			}
		}
		clock.Add(store.MaxSpendLife)
		s.spends.tidy(clock.Now())
		if len(s.spends.byHour) > 0 || len(s.spends.journal.began) > 2 {
			t.Errorf("day %d: keys of %d hours, %d files", day, len(s.spends.byHour), len(s.spends.journal.began))
		}
	}
}
