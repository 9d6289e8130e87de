package embedded

import (
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// TestInsideThroughARestart: whoever was inside still is, until the same time, and nobody else; whoever was done stays so.
func TestInsideThroughARestart(t *testing.T) {
	throughRestarts(t, func(r restarts) {
		t, clock := r.T, r.clock
		s := r.open()
		z := zone.Defaults("z")
		z.MaxInside, z.PassTTLSeconds, z.SessionSeconds = 3, 30, 60
		put(t, s, z)
		var in []line.Answer
		for i := range 3 {
			a, err := s.Join(t.Context(), "z", testID(i+1))
			if err != nil || a.Status != line.Admitted {
				t.Fatalf("%+v, %v", a, err)
			}
			in = append(in, a)
		}
		named := func(a line.Answer) line.Admission {
			return line.Admission{ID: a.Place.ID, AtMillis: a.AdmittedAtMillis}
		}
		if _, err := s.Report(t.Context(), "z", line.SessionReport{Stays: []line.Stay{{Admission: named(in[0]), LeftMillis: 50_000}}}); err != nil {
			t.Fatal(err)
		}
		must(t, s.Leave(t.Context(), "z", in[1].Place))
		r.end(s)
		s = r.open()
		inside := func(want, unused int64) {
			t.Helper()
			st, err := s.Observe(t.Context(), "z", 0)
			if err != nil || st.State.Inside != want || st.State.InsideLost != 0 || st.Totals.Unused != unused {
				t.Errorf("%+v, %v: want %d inside and %d unused", st, err, want, unused)
			}
		}
		inside(2, 0)
		if a := poll(t, s, in[1].Place); a.Status != line.Gone {
			t.Errorf("one who is done: %+v", a)
		}
		for range 30 {
			clock.Add(time.Second)
			_, _ = s.Observe(t.Context(), "z", 0)
		}
		inside(1, 1)
		for range 20 {
			clock.Add(time.Second)
			_, _ = s.Observe(t.Context(), "z", 0)
		}
		inside(0, 1)
	})
}
