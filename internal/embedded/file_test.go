package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/conformance"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// reopen opens the store of a directory. It is closed with the test, unless
// the test kills it before.
func reopen(t *testing.T, dir string, now func() time.Time) *Store {
	t.Helper()
	s, err := Open(Options{Dir: dir, Now: now})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { stop(t, s) })
	return s
}

// stop closes a store that is open.
func stop(t *testing.T, s *Store) {
	t.Helper()
	select {
	case <-s.stop:
		return
	default:
	}
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// kill ends a store as kill -9 does: what it has not written is lost, and the
// kernel drops the lock.
func kill(t *testing.T, s *Store) {
	t.Helper()
	close(s.stop)
	<-s.done
	if err := s.disk.close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// restarts is a folder whose store a test ends and opens anew, and the clock of its stores.
type restarts struct {
	*testing.T

	clock *conformance.Clock
	open  func() *Store
	end   func(*Store)
}

// throughRestarts runs a test twice, each time in a folder of its own: with stores that are stopped, and with stores that
// are killed.
func throughRestarts(t *testing.T, test func(restarts)) {
	t.Helper()
	t.Parallel()
	for name, end := range map[string]func(*testing.T, *Store){"stopped": stop, "killed": kill} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock, dir := conformance.NewClock(), filepath.Join(t.TempDir(), "a folder's name may have [brackets]")
			test(restarts{t, clock, func() *Store { return reopen(t, dir, clock.Now) }, func(s *Store) { end(t, s) }})
		})
	}
}

func put(t *testing.T, s *Store, zones ...zone.Settings) {
	t.Helper()
	for _, z := range zones {
		if _, err := s.PutZone(t.Context(), z, nil, audit.By{}); err != nil {
			t.Fatalf("put %s: %v", z.ZoneID, err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// join has the visitor with that number join the zone z.
func join(t *testing.T, s *Store, number int) line.Answer {
	t.Helper()
	a, err := s.Join(t.Context(), "z", testID(number))
	must(t, err)
	return a
}

func poll(t *testing.T, s *Store, p line.Place) line.Answer {
	t.Helper()
	a, err := s.Poll(t.Context(), "z", p)
	must(t, err)
	return a
}

func zones(t *testing.T, s *Store) []zone.Settings {
	t.Helper()
	all, err := s.Zones(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestTotalsSurvive: what happened before a restart is not missing in the minutes and reports, and the line goes on.
func TestTotalsSurvive(t *testing.T) {
	throughRestarts(t, func(r restarts) {
		z := zone.Defaults("z")
		s := r.open()
		put(r.T, s, z)
		for i := range 302 { // five windows' worth, and two who wait
			if i%60 == 0 && i < 300 {
				r.clock.Add(7 * time.Second)
			}
			join(r.T, s, i)
		}
		waits := join(r.T, s, 302).Place
		must(r.T, s.save())
		before, err := s.Observe(r.Context(), "z", 0)
		must(r.T, err)
		r.end(s)
		r.clock.Add(time.Second)
		s = r.open()
		if after, err := s.Observe(r.Context(), "z", 0); err != nil || after.Totals != before.Totals || after.Totals.Admitted != 300 || after.Totals.Joined != 303 {
			r.Errorf("%+v, %v, want %+v", after.Totals, err, before.Totals)
		}
		r.clock.Add(7 * time.Second)
		poll(r.T, s, waits)
		r.clock.Add(time.Second)
		if a := poll(r.T, s, waits); a.Status != line.Admitted && a.Status != line.AdmittedBefore {
			r.Errorf("who waits is told %+v", a)
		}
	})
}

func TestZonesSurvive(t *testing.T) {
	throughRestarts(t, func(r restarts) {
		a, b, c := zone.Defaults("a"), zone.Defaults("b"), zone.Defaults("c")
		b.PerMinute, b.Mode = 7, zone.ModeClosed
		s := r.open()
		put(r.T, s, a, b, c)
		if err := s.DeleteZone(r.Context(), "c", audit.By{}); err != nil {
			r.Fatal(err)
		}
		r.end(s)
		if got, want := zones(r.T, r.open()), []zone.Settings{a, b}; !slices.EqualFunc(got, want, zone.Settings.Equal) {
			r.Errorf("zones %+v, want %+v", got, want)
		}
	})
}

// TestPlacesSurvive: the line is not written to disk. Its places come back with
// the tokens, and nobody enters who could not have entered without the restart.
func TestPlacesSurvive(t *testing.T) {
	t.Parallel()
	clock := conformance.NewClock()
	dir := t.TempDir()
	z := zone.Defaults("z")
	z.PerMinute, z.MaxPerSecond = 20, zone.PerSecondNone // two in each window of six seconds
	s := reopen(t, dir, clock.Now)
	put(t, s, z)
	var waiting []line.Place
	for i := range 12 {
		a := join(t, s, i)
		if a.Status == line.Waiting {
			waiting = append(waiting, a.Place)
		}
	}
	if len(waiting) != 10 {
		t.Fatalf("%d wait, want 10", len(waiting))
	}
	clock.Add(time.Millisecond)
	must(t, s.save()) // as it does once a second
	kill(t, s)

	s = reopen(t, dir, clock.Now)
	for _, p := range slices.Backward(waiting) {
		if a := poll(t, s, p); a.Status != line.Waiting || !a.Restored {
			t.Fatalf("%v: %+v", p.ID, a)
		}
	}
	clock.Add(6*time.Second + time.Millisecond)
	for i, p := range waiting {
		a := poll(t, s, p)
		// Five were near the front, and two of them enter after a window.
		if enters := i < 2; enters != (a.Status == line.Admitted) {
			t.Errorf("the %d. of the line: %+v", i+1, a)
		}
	}
}

// TestWindowAfterARestart: the window counts as full from the start on, whether the store was closed or killed, and if
// the clock was set back meanwhile.
func TestWindowAfterARestart(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testing.T, *Store){"stopped": stop, "killed": kill} {
		for _, away := range []time.Duration{6 * time.Second, time.Hour, -time.Hour} {
			t.Run(name+" for "+away.String(), func(t *testing.T) {
				t.Parallel()
				clock, dir := conformance.NewClock(), t.TempDir()
				s := reopen(t, dir, clock.Now)
				put(t, s, zone.Defaults("z"))
				end(t, s)
				clock.Add(away)
				s = reopen(t, dir, clock.Now)
				for _, want := range []int64{60, 0} {
					if st, err := s.Observe(t.Context(), "z", 0); err != nil || st.State.InWindow != want {
						t.Errorf("%d in the window, %v, want %d", st.State.InWindow, err, want)
					}
					clock.Add(6*time.Second + time.Millisecond)
				}
			})
		}
	}
}

func TestDamagedFileIsRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		file, text string
		want       []string
	}{
		"cut off":      {zonesName, `{"zones": [{"settings": {"zoneId": "a", `, []string{"damaged", "move it away"}},
		"not a list":   {zonesName, `{}`, []string{"damaged"}},
		"out of range": {zonesName, `{"zones": [{"settings": {"zoneId": "a", "perMinute": -5}}]}`, []string{`"a"`, "perMinute is -5", "between 0 and"}},
		"old policies": {oldPoliciesName, `{"book":`, []string{"damaged"}},
		"documents":    {zonesName, `{"zones":[],"documents":3}`, []string{"damaged"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, tt.file, tt.text)
			for range 2 { // a refusal leaves no lock behind
				_, err := Open(Options{Dir: dir})
				if err == nil {
					t.Fatal("it was opened")
				}
				for _, want := range append(tt.want, tt.file) {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("error %q does not say %q", err, want)
					}
				}
			}
			if text, err := os.ReadFile(filepath.Join(dir, tt.file)); err != nil || string(text) != tt.text {
				t.Errorf("the file is %q now, %v", text, err)
			}
		})
	}
}

func TestDirectoryIsOfOneServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := reopen(t, dir, nil)
	if _, err := Open(Options{Dir: dir}); !errors.Is(err, ErrInUse) {
		t.Errorf("a second store: error %v, want ErrInUse", err)
	}
	stop(t, s)
	reopen(t, dir, nil)
}

func TestDirectoryThatCannotBeMade(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	if _, err := Open(Options{Dir: filepath.Join(file, "data")}); err == nil || !strings.Contains(err.Error(), "data directory") {
		t.Errorf("error %v", err)
	}
}
