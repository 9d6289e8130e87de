package embedded

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/conformance"
	"github.com/openqueue/waitingroom/internal/zone"
)

// often is how many changes changeOften makes: enough for a record of 600 KB.
const often = 20

// changeOften changes a zone with a large logo.
func changeOften(t *testing.T, s *Store, clock *conformance.Clock) {
	t.Helper()
	z := zone.Defaults("z")
	z.PageLogo = "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte("<svg/>"+strings.Repeat(" ", 11<<10)))
	for i := range often {
		clock.Add(time.Second)
		z.PerMinute = int64(i + 1)
		put(t, s, z)
	}
}

// TestRecordIsWrittenWhenItChanges: what is written each second while people wait does
// not grow with the record.
func TestRecordIsWrittenWhenItChanges(t *testing.T) {
	t.Parallel()
	clock, dir := conformance.NewClock(), t.TempDir()
	s := reopen(t, dir, clock.Now)
	changeOften(t, s, clock)
	s.saveAll() // as it does once a second
	s.saveAll()
	written := make(map[string]int)
	s.writing.Lock()
	s.disk.replace = func(path string, b []byte) error {
		written[filepath.Base(path)] += len(b)
		return replace(path, b)
	}
	s.writing.Unlock()
	for i := range 3 {
		clock.Add(time.Minute)
		join(t, s, i)
		s.saveAll() // as it does once a second
	}
	s.writing.Lock()
	if n := written[zonesName]; n == 0 || n > 3*20<<10 || len(written) != 1 {
		t.Errorf("bytes written: %v, want zones.json with one logo each time", written)
	}
	s.writing.Unlock()
	kill(t, s)
	changes, err := reopen(t, dir, clock.Now).Changes(t.Context(), "z")
	if err != nil || len(changes) != often || changes[0].Now.PerMinute != often {
		t.Errorf("%d changes after a restart, %v", len(changes), err)
	}
}

// TestRecordAndCrash: a crash between the two files leaves no change without its entry. If one file cannot be written, the other
// is.
func TestRecordAndCrash(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		fails, want string
		crash       bool
		perMinute   int64
	}{
		"a crash before the record":        {addedPrefix, "z false>true by a", true, 600},
		"a crash before the zones":         {zonesName, "z true>true by b, z false>true by a", true, 600},
		"the record alone is not writable": {addedPrefix, "z false>true by a", false, 7},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock, dir := conformance.NewClock(), t.TempDir()
			s := reopen(t, dir, clock.Now)
			z := zone.Defaults("z")
			if _, err := s.PutZone(t.Context(), z, nil, audit.By{Name: "a"}); err != nil {
				t.Fatal(err)
			}
			s.writing.Lock()
			crashed := false
			fails := func(path string) bool {
				fails := strings.HasPrefix(filepath.Base(path), tt.fails)
				crashed = crashed || fails && tt.crash
				return crashed || fails
			}
			s.disk.replace = func(path string, b []byte) error {
				if fails(path) {
					return syscall.ENOSPC
				}
				return replace(path, b)
			}
			s.added.write = func(f *os.File, b []byte) (int, error) {
				if fails(f.Name()) {
					n, _ := f.Write(b[:len(b)/2]) // torn
					return n, syscall.ENOSPC
				}
				return f.Write(b)
			}
			s.writing.Unlock()
			clock.Add(time.Second)
			z.PerMinute = 7
			if _, err := s.PutZone(t.Context(), z, nil, audit.By{Name: "b"}); err != nil {
				t.Fatal(err)
			}
			if err := s.NotKept(); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("NotKept = %v", err)
			}
			kill(t, s)
			s = reopen(t, dir, clock.Now)
			if got := brief(t, s); got != tt.want {
				t.Errorf("the record is %s, want %s", got, tt.want)
			}
			if got := zones(t, s); len(got) != 1 || got[0].PerMinute != tt.perMinute {
				t.Errorf("zones %+v, want %d a minute", got, tt.perMinute)
			}
			stop(t, s)
		})
	}
}

// TestTampered: what is kept is tampered with in memory, as in the files.
func TestTampered(t *testing.T) {
	t.Parallel()
	clock := conformance.NewClock()
	s, err := Open(Options{Now: clock.Now, Sealer: conformance.NewSealer()})
	must(t, err)
	conformance.Tampered(t, s, clock, func(_ *testing.T, name string, p audit.Page) {
		r := changeRecord{Head: p.Head, Entries: slices.Clone(p.Entries), Texts: make(map[string]large)}
		slices.Reverse(r.Entries)
		for hash, text := range p.Texts {
			r.Texts[hash] = large{Text: text}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.records[name] = r
	})
	stop(t, s)
}

// TestJournalOfRecords: a change appends to a journal. A restart after a kill, and one after changes.json was written anew, have the
// record whole and proven.
func TestJournalOfRecords(t *testing.T) {
	t.Parallel()
	clock, dir := conformance.NewClock(), t.TempDir()
	open := func() *Store {
		s, err := Open(Options{Dir: dir, Now: clock.Now, Sealer: conformance.NewSealer()})
		must(t, err)
		return s
	}
	s := open()
	for run := range 3 {
		if run == 2 {
			s.writing.Lock()
			s.rewriteRecord = true // as when the journal has grown
			s.writing.Unlock()
		}
		changeOften(t, s, clock)
		if run == 1 {
			kill(t, s)
		} else {
			stop(t, s)
		}
		s = open()
		p, err := audit.ReadWhole(func(skip int) (audit.Page, error) { return s.Record(t.Context(), "z", skip) })
		must(t, err)
		if c := conformance.NewSealer().Check("z", p); len(p.Entries) != (run+1)*often || len(c.Faults) > 0 || len(p.Texts) != 1 {
			t.Fatalf("run %d: %d entries, %d large values, %+v", run, len(p.Entries), len(p.Texts), c)
		}
	}
	stop(t, s)
}
