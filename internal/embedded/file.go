package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// ErrInUse: another process has the data directory.
var ErrInUse = errors.New("embedded: data directory is in use by another server")

const (
	zonesName = "zones.json"
	lockName  = "lock"
)

// kept is what survives of a zone.
type kept struct {
	Settings zone.Settings `json:"settings"`
	Memory   line.Memory   `json:"memory"`
	// ClosedAtMillis is the zone's time when the store was closed: nobody was
	// let in after it. 0 while a server runs, and so after it was killed.
	ClosedAtMillis int64 `json:"closedAtMillis,omitempty"`
}

// file is zones.json under a lock of its directory.
type file struct {
	dir  string
	lock *os.File

	mu   sync.Mutex
	last []byte // what the file holds
}

func openFile(dir string) (*file, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("embedded: data directory: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("embedded: data directory: %w", err)
	}
	// The kernel drops the lock with the process, however it ends.
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = lock.Close() // nothing was written to it
		return nil, fmt.Errorf("%w: %s", ErrInUse, dir)
	}
	return &file{dir: dir, lock: lock}, nil
}

func (f *file) close() error { return f.lock.Close() }

func (f *file) load() ([]kept, error) {
	b, err := os.ReadFile(filepath.Join(f.dir, zonesName))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	var all []kept
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, fmt.Errorf("embedded: %s is damaged (%w): restore it, or move it away to begin with no zones", zonesName, err)
	}
	for _, k := range all {
		if err := k.Settings.Validate(); err != nil {
			return nil, fmt.Errorf("embedded: %s: zone %q: %w", zonesName, k.Settings.ZoneID, err)
		}
	}
	f.last = b
	return all, nil
}

// store replaces the file whole, so that a crash leaves the old or the new one.
func (f *file) store(all []kept) error {
	b, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	if string(b) == string(f.last) {
		return nil
	}
	if err := replace(filepath.Join(f.dir, zonesName), b); err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	f.last = b
	return nil
}

func replace(name string, b []byte) (err error) {
	tmp, err := os.OpenFile(name+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = tmp.Write(b)
	if err == nil {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), name)
}

// remember writes the edges once a second until Close.
func (s *Store) remember() {
	defer close(s.done)
	tick := time.NewTicker(rememberEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-tick.C:
			if err := s.save(); err != nil {
				s.logger.Error("cannot write the zones' memory; a restart would restore older edges", "err", err)
			}
		}
	}
}

// save writes the zones. The disk is waited for with no lock that a poll needs.
func (s *Store) save() error {
	if s.file == nil {
		return nil
	}
	s.file.mu.Lock()
	defer s.file.mu.Unlock()
	return s.file.store(s.keep(false))
}

// keep collects what is to survive, by zone id.
func (s *Store) keep(closing bool) []kept {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make([]kept, 0, len(s.crowds))
	for _, c := range s.crowds {
		c.mu.Lock()
		k := kept{Settings: c.settings, Memory: line.Memory{EdgeMicros: c.edge, LastArrivalMicros: c.last}}
		if closing {
			c.clock = c.clock.Tick(s.now().UnixMicro())
			k.ClosedAtMillis = c.clock.NowMicros / 1000
		}
		c.mu.Unlock()
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b kept) int { return strings.Compare(a.Settings.ZoneID, b.Settings.ZoneID) })
	return all
}
