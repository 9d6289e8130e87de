package embedded

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/check/conformance"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/policyset"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// fillDisk makes all writing fail as on a full disk, until the returned function is called.
func fillDisk(s *Store) (free func()) {
	var has atomic.Bool
	s.writing.Lock()
	defer s.writing.Unlock()
	s.disk.replace = func(path string, b []byte) error {
		if has.Load() {
			return replace(path, b)
		}
		return &os.PathError{Op: "write", Path: path + unfinished, Err: syscall.ENOSPC}
	}
	s.added.write = func(f *os.File, b []byte) (int, error) {
		if has.Load() {
			return f.Write(b)
		}
		return 0, &os.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
	}
	return func() { has.Store(true) }
}

// TestTheBrakeWorksWithAFullDisk: what an operator changes is in force at once, the
// store says that it is not kept, and it is written when the disk has room again.
func TestTheBrakeWorksWithAFullDisk(t *testing.T) {
	t.Parallel()
	clock, dir := conformance.NewClock(), t.TempDir()
	s := reopen(t, dir, clock.Now)
	z, gone := zone.Defaults("z"), zone.Defaults("gone")
	put(t, s, z, gone)
	free := fillDisk(s)

	paused := z
	paused.PerMinute = 0
	if _, err := s.PutZone(t.Context(), paused, &z, audit.By{Name: "ada"}); err != nil {
		t.Fatalf("pause: %v", err)
	}
	if a, err := s.Join(t.Context(), "z", testID(1)); err != nil || a.Status != line.Waiting {
		t.Errorf("a join at the paused zone: %+v, %v", a, err)
	}
	closed := paused
	closed.Mode = zone.ModeClosed
	if _, err := s.PutZone(t.Context(), closed, &paused, audit.By{Name: "ada"}); err != nil {
		t.Fatalf("close: %v", err)
	}
	if a, err := s.Join(t.Context(), "z", testID(2)); err != nil || a.Status != line.Closed {
		t.Errorf("a join at the closed zone: %+v, %v", a, err)
	}
	if err := s.DeleteZone(t.Context(), "gone", audit.By{Name: "ada"}); err != nil {
		t.Errorf("delete: %v", err)
	}
	if err := policyset.Replace(t.Context(), s, aBook(), 0, limit.Changes(limit.PolicySet{}, aBook(), audit.By{Name: "ada"})...); err != nil {
		t.Errorf("put a policy: %v", err)
	}
	if b, err := policyset.Stored(t.Context(), s); err != nil || b.Version == 0 {
		t.Errorf("the policy is not in force: %+v, %v", b, err)
	}
	err := s.NotKept()
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), zonesName) || !strings.Contains(err.Error(), addedPrefix) {
		t.Errorf("NotKept = %v, want that the disk is full, for both files", err)
	}

	free()
	s.saveAll() // as it does once a second
	if err := s.NotKept(); err != nil {
		t.Errorf("NotKept = %v after the disk has room again", err)
	}
	kill(t, s)
	s = reopen(t, dir, clock.Now)
	if got := zones(t, s); !slices.EqualFunc(got, []zone.Settings{closed}, zone.Settings.Equal) {
		t.Errorf("after a restart: %+v", got)
	}
	b, err := policyset.Stored(t.Context(), s)
	policyChanges, err2 := policyset.Recorded(t.Context(), s)
	if err != nil || err2 != nil || !reflect.DeepEqual(b, aBook()) || len(policyChanges) != 1 || policyChanges[0].Name != "ada" {
		t.Errorf("after a restart: %+v, %v; %+v, %v", b, err, policyChanges, err2)
	}
	got := brief(t, s)
	for _, want := range []string{"gone true>false by ada", "z true>true by ada, z true>true by ada, z false>true"} {
		if !strings.Contains(got, want) {
			t.Errorf("the record is %s, without %s", got, want)
		}
	}
}

// TestTheBrakeWorksWithADiskThatHangs: a change waits for the disk no longer than diskTimeout,
// and not for the change before it.
func TestTheBrakeWorksWithADiskThatHangs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := reopen(t, dir, nil)
		z := zone.Defaults("z")
		put(t, s, z)
		answers := make(chan struct{})
		s.writing.Lock()
		s.disk.replace = func(path string, b []byte) error { <-answers; return replace(path, b) }
		s.writing.Unlock()

		begun := time.Now()
		for _, perMinute := range []int64{7, 0} {
			z.PerMinute = perMinute
			put(t, s, z)
			if got := zones(t, s); got[0].PerMinute != perMinute {
				t.Errorf("in force is %d a minute, want %d", got[0].PerMinute, perMinute)
			}
			if err := s.NotKept(); !errors.Is(err, errLate) {
				t.Errorf("NotKept = %v, want errLate", err)
			}
		}
		if took := time.Since(begun); took != 2*diskTimeout {
			t.Errorf("two changes took %v, want %v", took, 2*diskTimeout)
		}
		close(answers)
		<-time.After(2 * rememberEvery)
		if err := s.NotKept(); err != nil {
			t.Errorf("NotKept = %v after the disk answers", err)
		}
		kill(t, s)
		s = reopen(t, dir, nil)
		if got := zones(t, s); !slices.EqualFunc(got, []zone.Settings{z}, zone.Settings.Equal) {
			t.Errorf("after a restart: %+v", got)
		}
		stop(t, s)
	})
}

// inTheWay is a folder with something in it where a file is to be written: that
// stops even root.
func inTheWay(t *testing.T, path string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Join(path, "something"), 0o700))
}

// TestStartsWithADiskThatCannotBeWrittenTo: the store starts with the zones that are there. It
// logs once when it cannot write, and once when it can again.
func TestStartsWithADiskThatCannotBeWrittenTo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := reopen(t, dir, nil)
	z := zone.Defaults("z")
	put(t, s, z)
	stop(t, s)
	block := filepath.Join(dir, zonesName+unfinished)
	inTheWay(t, block)

	log := &lines{}
	s, err := Open(Options{Dir: dir, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, s) })
	if got := zones(t, s); !slices.EqualFunc(got, []zone.Settings{z}, zone.Settings.Equal) || s.NotKept() == nil {
		t.Errorf("zones %+v, NotKept = %v", got, s.NotKept())
	}
	s.saveAll()
	if n := log.count("is not kept"); n != 1 {
		t.Errorf("said %d times that it is not kept", n)
	}
	must(t, os.RemoveAll(block))
	s.saveAll()
	if err := s.NotKept(); err != nil || log.count("kept again") != 1 {
		t.Errorf("NotKept = %v, the log: %s", err, log)
	}
}

// TestADirectoryThatCannotBeMadeYet: the directory is made with the first file that can be written.
func TestADirectoryThatCannotBeMadeYet(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	d, err := openDisk(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	// As openDisk leaves it where the parent cannot be written to.
	must(t, errors.Join(d.close(), os.RemoveAll(dir)))
	must(t, d.put(zonesName, []byte("{}")))
	if _, err := openDisk(dir, d.logger); !errors.Is(err, ErrInUse) {
		t.Errorf("a second one: error %v, want ErrInUse", err)
	}
	if err := d.close(); err != nil {
		t.Error(err)
	}
}

func TestUnwritable(t *testing.T) {
	t.Parallel()
	for _, err := range []error{syscall.ENOSPC, syscall.EROFS, os.ErrPermission} {
		if errors.Is(err, os.ErrPermission) {
			err = syscall.EACCES
		}
		if !unwritable(&os.PathError{Op: "mkdir", Path: "data", Err: err}) {
			t.Errorf("%v keeps a server from starting", err)
		}
	}
	if unwritable(syscall.ENOTDIR) || unwritable(ErrInUse) {
		t.Error("what can be no data directory, or is another's, is taken for one that is full")
	}
}

// TestNothingHalfWrittenIsRead: a file that was half written at a crash is ignored.
func TestNothingHalfWrittenIsRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := reopen(t, dir, nil)
	z := zone.Defaults("z")
	put(t, s, z)
	kill(t, s)
	for _, name := range []string{zonesName, recordName} {
		must(t, os.WriteFile(filepath.Join(dir, name+unfinished), []byte(`{"zones": [{"sett`), 0o600))
	}
	s = reopen(t, dir, nil)
	if got := zones(t, s); !slices.EqualFunc(got, []zone.Settings{z}, zone.Settings.Equal) || s.NotKept() != nil {
		t.Errorf("zones %+v, NotKept = %v", got, s.NotKept())
	}
}

// lines is a log that any goroutine may write to.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *lines) count(part string) int { return strings.Count(l.String(), part) }
