package embedded

import (
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openqueue/waitingroom/internal/check/conformance"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

// aDisk is a data directory that is not locked.
func aDisk(dir string) *disk {
	return &disk{dir: dir, logger: slog.New(slog.DiscardHandler), failed: make(map[string]error)}
}

// parts are the journal's files, the oldest first.
func parts(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "departures-*.log"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// TestTheDeadStayDead: after a stop or a kill, no token of a visitor who was admitted, left or
// was swept for longer than places are kept has a place. Visitors who waited have the same place, and admissions are the
// same.
func TestTheDeadStayDead(t *testing.T) {
	throughRestarts(t, func(r restarts) {
		t, clock := r.T, r.clock
		s := r.open()
		z := zone.Defaults("z")
		z.PerMinute, z.KeepPlaceSeconds = 10, 20
		put(t, s, z)
		held := make(map[string]line.Place)
		for i, who := range []string{"straight in", "swept", "used", "left", "honest"} {
			if who == "used" {
				clock.Add(80 * time.Second)
				if _, err := s.Sweep(t.Context(), "z", "", 0); err != nil {
					t.Fatal(err)
				}
				join(t, s, 100)
			}
			held[who] = join(t, s, i).Place
		}
		clock.Add(6*time.Second + time.Millisecond)
		in := poll(t, s, held["used"])
		if in.Status != line.Admitted {
			t.Fatalf("%+v, want admitted", in)
		}
		must(t, s.Leave(t.Context(), "z", held["left"]))
		honest := poll(t, s, held["honest"])
		must(t, s.save()) // as it does once a second
		clock.Add(time.Second)
		r.end(s)

		clock.Add(30 * time.Second)
		s = r.open()
		for _, who := range []string{"straight in", "swept", "left"} {
			if a := poll(t, s, held[who]); a.Status == line.Waiting || a.Status == line.Admitted {
				t.Errorf("one who was %s came back: %+v", who, a)
			}
		}
		if a := poll(t, s, held["used"]); a.Status != line.AdmittedBefore || a.AdmittedAtMillis != in.AdmittedAtMillis {
			t.Errorf("one who was admitted: %+v, want the same admission as %+v", a, in)
		}
		// After an orderly stop the window is known to be over: it may enter.
		if a := poll(t, s, honest.Place); !a.Restored || a.Position > 1 || a.Place.ArrivedAtMicros != honest.Place.ArrivedAtMicros {
			t.Errorf("the honest one: %+v, want the place of %+v", a, honest)
		}
	})
}

// TestAsideThroughRestarts: after a stop or a kill, the places that were set aside still are: webhooks tell of them, an operator finds them, and
// visitors come back to them, by the clientId alone, too. But not one who gave the place up meanwhile, and not one who came back already.
func TestAsideThroughRestarts(t *testing.T) {
	throughRestarts(t, func(r restarts) {
		t, clock := r.T, r.clock
		s := r.open()
		z := zone.Defaults("z")
		z.PerMinute = 10
		put(t, s, z)
		join(t, s, 0)
		sleeps, leaves, app, back := join(t, s, 1).Place, join(t, s, 2).Place, join(t, s, 3).Place, join(t, s, 4).Place
		clock.Add(3 * time.Minute)
		if swept, err := s.Sweep(t.Context(), "z", "", 0); err != nil || swept.Removed != 4 {
			t.Fatalf("%+v, %v", swept, err)
		}
		must(t, s.Leave(t.Context(), "z", leaves))
		if a := poll(t, s, back); a.Status != line.Waiting {
			t.Fatalf("%+v", a)
		}
		must(t, s.save())
		r.end(s)

		clock.Add(5 * time.Minute)
		s = r.open()
		silent := make(map[line.ID]int64)
		must(t, s.Aside(t.Context(), "z", func(p store.Silent) { silent[p.ID] = p.StandsMicros }))
		if want := map[line.ID]int64{sleeps.ID: sleeps.ArrivedAtMicros, app.ID: app.ArrivedAtMicros}; !maps.Equal(silent, want) {
			t.Errorf("set aside are %v, want %v", silent, want)
		}
		if f, err := s.FindVisitor(t.Context(), "z", line.Admission{ID: app.ID}); err != nil || f.AsideAtMillis == 0 {
			t.Errorf("an operator finds %+v, %v", f, err)
		}
		if a := join(t, s, 3); a.Status != line.Waiting || a.Place.ArrivedAtMicros != app.ArrivedAtMicros {
			t.Errorf("one who joined again by the clientId: %+v, want the place of %+v", a, app)
		}
		if a := poll(t, s, leaves); a.Status != line.Gone {
			t.Errorf("one who left came back: %+v", a)
		}
		if a := poll(t, s, sleeps); a.Status != line.Waiting || a.Place.ArrivedAtMicros != sleeps.ArrivedAtMicros {
			t.Errorf("one who slept: %+v, want the place of %+v", a, sleeps)
		}

		keep := func(seconds int64, removed int64) {
			z.KeepPlaceSeconds = seconds
			put(t, s, z)
			clock.Add(3 * time.Minute)
			if swept, err := s.Sweep(t.Context(), "z", "", 0); err != nil || swept.Removed != removed {
				t.Fatalf("%+v, %v", swept, err)
			}
		}
		keep(900, 2)
		keep(0, 0)
		keep(900, 0)
		must(t, s.save())
		r.end(s)
		s = r.open()
		must(t, s.Aside(t.Context(), "z", func(p store.Silent) { t.Errorf("%+v was forgotten, and is set aside again", p) }))
	})
}

// TestPassesOutliveARestart: as they were, whatever the time to live became before it.
func TestPassesOutliveARestart(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		ttl, then int64
		after     time.Duration
		want      line.Status
	}{
		"raised after the end": {10, 3600, 11 * time.Second, line.Gone},
		"lowered":              {3600, 10, 3599 * time.Second, line.AdmittedBefore},
		"lowered, at the end":  {3600, 10, time.Hour, line.Gone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock, dir := conformance.NewClock(), t.TempDir()
			s := reopen(t, dir, clock.Now)
			z := zone.Defaults("z")
			z.PassTTLSeconds = test.ttl
			put(t, s, z)
			in, err := s.Join(t.Context(), "z", testID(1))
			if err != nil || in.Status != line.Admitted {
				t.Fatalf("%+v, %v", in, err)
			}
			clock.Add(time.Second)
			z.PassTTLSeconds = test.then
			put(t, s, z)
			for at := time.Second; at < test.after; {
				step := min(test.after-at, 3*time.Minute)
				at += step
				clock.Add(step)
				join(t, s, int(at))
				s.journal.rotate(s.keepFor())
				stop(t, s)
				s = reopen(t, dir, clock.Now)
			}
			got, err := s.Poll(t.Context(), "z", in.Place)
			if err != nil || got.Status != test.want {
				t.Fatalf("%+v, %v, want %v", got, err, test.want)
			}
			if test.want == line.AdmittedBefore && (got.AdmittedAtMillis != in.AdmittedAtMillis || got.ExpiresAtMillis != in.ExpiresAtMillis) {
				t.Errorf("%+v, want the admission of %+v", got, in)
			}
		})
	}
}

// TestJournalWithoutAFolder: a folder that cannot be made yet, on a disk that is full or read-only, does not keep a server
// from starting.
func TestJournalWithoutAFolder(t *testing.T) {
	t.Parallel()
	j, all, err := openJournal(&disk{dir: filepath.Join(t.TempDir(), "none yet")}, departuresPrefix, time.Now)
	if err != nil || j == nil || len(all) != 0 {
		t.Fatalf("%v, %d records, %v", j, len(all), err)
	}
}

// TestJournalIsReadWhole: a record that was cut short, by a crash or a full disk, is not read,
// and spoils no other record.
func TestJournalIsReadWhole(t *testing.T) {
	t.Parallel()
	clock, dir := conformance.NewClock(), t.TempDir()
	j, _, err := openJournal(aDisk(dir), departuresPrefix, clock.Now)
	if err != nil {
		t.Fatal(err)
	}
	want := []entry{{"a", testID(1), [4]int64{11, 3, 5, 9}}, {"a", testID(2), [4]int64{12, 3, 0, 0}}}
	j.add(want[0].record())
	j.write = func(f *os.File, b []byte) (int, error) { // as on a full disk
		n, err := f.Write(b[:len(b)/2])
		return n, errors.Join(err, syscall.ENOSPC)
	}
	j.add(want[1].record())
	if err := j.disk.trouble(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("trouble is %v while the disk is full", err)
	}
	j.writing.Lock()
	j.write = (*os.File).Write
	j.writing.Unlock()
	j.rotate(time.Hour)
	j.work.Wait()
	if err := j.disk.trouble(); err != nil {
		t.Errorf("trouble is %v when the disk has room", err)
	}
	if _, err := j.file.WriteString("a 0000000000000008 17952233731"); err != nil {
		t.Fatal(err)
	}
	must(t, j.close())
	_, records, err := openJournal(aDisk(dir), departuresPrefix, clock.Now)
	if got := entriesOf(records); err != nil || !slices.Equal(got, want) {
		t.Errorf("read %+v, %v, want %+v", got, err, want)
	}
	for _, bad := range []string{"", "a 01 1 1 1 1", "a 0000000000000001 x 1 1 1", "a 0000000000000001 1 1 1", strings.Repeat(" ", 5)} {
		if e, ok := parseEntry(bad); ok {
			t.Errorf("%q is read as %+v", bad, e)
		}
	}
}

// TestADiskThatHangsHoldsNobody: one who is admitted, leaves or spends waits for the disk no longer than journalTimeout, and
// not at all once it is known to hang; it is said that this is not kept, until all of it is written.
func TestADiskThatHangsHoldsNobody(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := reopen(t, dir, nil)
		put(t, s, zone.Defaults("z"))
		answers := make(chan struct{})
		for _, j := range []*journal{s.journal, s.spends.journal} {
			j.write = func(f *os.File, b []byte) (int, error) { <-answers; return f.Write(b) }
		}
		var held []line.Place
		for i, atMost := range []time.Duration{journalTimeout, 0, 0} {
			begun := time.Now()
			a, err := s.Join(t.Context(), "z", testID(i))
			if err != nil || a.Status != line.Admitted {
				t.Fatalf("%+v, %v, want admitted", a, err)
			}
			held = append(held, a.Place)
			if took := time.Since(begun); took != atMost {
				t.Errorf("join %d took %v, want %v", i, took, atMost)
			}
			begun = time.Now()
			if first, err := s.Spend(t.Context(), "key", "me", time.Hour); err != nil || !first {
				t.Errorf("spend %d: %v, %v, want the first or a repetition", i, first, err)
			}
			if took := time.Since(begun); took != atMost {
				t.Errorf("spend %d took %v, want %v", i, took, atMost)
			}
			if err := s.NotKept(); !errors.Is(err, errLate) {
				t.Errorf("NotKept = %v, want errLate", err)
			}
		}
		close(answers)
		<-time.After(2 * rememberEvery)
		if err := s.NotKept(); err != nil {
			t.Errorf("NotKept = %v after the disk answers", err)
		}
		kill(t, s)
		s = reopen(t, dir, nil)
		for i, p := range held {
			if a := poll(t, s, p); a.Status != line.AdmittedBefore {
				t.Errorf("admission %d is not known after a restart: %+v", i, a)
			}
		}
		if again, err := s.Spend(t.Context(), "key", "another", time.Hour); err != nil || again {
			t.Errorf("a key was spent twice: %v", err)
		}
		stop(t, s)
	})
}

// TestJournalIsBounded: parts of which no record matters any more are deleted.
func TestJournalIsBounded(t *testing.T) {
	t.Parallel()
	clock, dir := conformance.NewClock(), t.TempDir()
	j, _, err := openJournal(aDisk(dir), departuresPrefix, clock.Now)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		j.add("a record")
		j.rotate(time.Minute)
		clock.Add(30 * time.Second)
	}
	if got := parts(t, dir); len(got) != 2 {
		t.Errorf("%d parts, want the one that is written and the one before", len(got))
	}
	_, all, err := openJournal(aDisk(dir), departuresPrefix, clock.Now)
	if err != nil || len(all) < 2 || len(all) > 4 {
		t.Errorf("%d records, %v, want those of the last minute at least", len(all), err)
	}
	must(t, j.close())
	if err := os.Remove(parts(t, dir)[0]); err != nil {
		t.Error(err)
	}
}
