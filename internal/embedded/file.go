package embedded

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	// zonesFormat is the format of zones.json. A file without a number is one from
	// before there were numbers. It is raised when a version from before the change
	// must not use the file: fields that it does not know, it ignores.
	zonesFormat = 1
)

// contents are what survives a restart.
type contents struct {
	Format  int           `json:"format"`
	Zones   []kept        `json:"zones"`
	Deleted []keptDeleted `json:"deleted,omitempty"`
}

// kept is what survives of a zone.
type kept struct {
	Settings zone.Settings `json:"settings"`
	Memory   line.Memory   `json:"memory"`
	// ClosedAtMillis is the zone's time when the store was closed: nobody was
	// let in after it. 0 while a server runs, and so after it was killed.
	ClosedAtMillis int64 `json:"closedAtMillis,omitempty"`
	// Changes are the zone's record, the newest first.
	Changes []zone.Change `json:"changes,omitempty"`
}

// keptDeleted is what survives of a zone that was deleted.
type keptDeleted struct {
	deleted
	Changes []zone.Change `json:"changes"`
}

// put makes a zone, or changes it.
func (f *contents) put(s zone.Settings, m line.Memory, changes []zone.Change) {
	f.Deleted = slices.DeleteFunc(f.Deleted, func(d keptDeleted) bool { return d.ZoneID == s.ZoneID })
	for i := range f.Zones {
		if k := &f.Zones[i]; k.Settings.ZoneID == s.ZoneID {
			k.Settings, k.Changes = s, changes
			return
		}
	}
	f.Zones = append(f.Zones, kept{Settings: s, Memory: m, Changes: changes})
}

// remove deletes a zone.
func (f *contents) remove(d deleted, changes []zone.Change) {
	f.Zones = slices.DeleteFunc(f.Zones, func(k kept) bool { return k.Settings.ZoneID == d.ZoneID })
	f.Deleted = append(f.Deleted, keptDeleted{d, changes})
}

// file is zones.json under a lock of its directory. One caller at a time.
type file struct {
	dir  string
	lock *os.File

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

func (f *file) load() (contents, error) {
	b, err := os.ReadFile(filepath.Join(f.dir, zonesName))
	if errors.Is(err, os.ErrNotExist) {
		return contents{}, nil
	}
	if err != nil {
		return contents{}, fmt.Errorf("embedded: %w", err)
	}
	if err := checkFormat(b, zonesName, zonesFormat); err != nil {
		return contents{}, err
	}
	had, err := read(b)
	if err != nil {
		return contents{}, fmt.Errorf("embedded: %s is damaged (%w): restore it, or move it away to begin with no zones", zonesName, err)
	}
	for _, k := range had.Zones {
		if err := k.Settings.Validate(); err != nil {
			return contents{}, fmt.Errorf("embedded: %s: zone %q: %w", zonesName, k.Settings.ZoneID, err)
		}
	}
	f.last = b
	return had, nil
}

// checkFormat returns an error that wraps line.ErrFormat for a file of a newer
// format than is known.
func checkFormat(b []byte, name string, known int) error {
	var head struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(b, &head); err == nil && head.Format > known {
		return fmt.Errorf("embedded: %w: %s has format %d, and this version reads formats up to %d: "+
			"start the version that wrote it or a later one, or move the file away to begin without it",
			line.ErrFormat, name, head.Format, known)
	}
	return nil // what is damaged is found by who reads all of it
}

// read understands the form of before there was a record, too: a list of zones.
func read(b []byte) (had contents, err error) {
	if bytes.HasPrefix(bytes.TrimSpace(b), []byte("[")) {
		err = json.Unmarshal(b, &had.Zones)
		return had, err
	}
	if err = json.Unmarshal(b, &had); err == nil && had.Zones == nil {
		err = errors.New("it has no list of zones")
	}
	return had, err
}

// store replaces the file whole, so that a crash leaves the old or the new one.
func (f *file) store(all contents) error {
	slices.SortFunc(all.Zones, func(a, b kept) int { return strings.Compare(a.Settings.ZoneID, b.Settings.ZoneID) })
	slices.SortFunc(all.Deleted, func(a, b keptDeleted) int { return strings.Compare(a.ZoneID, b.ZoneID) })
	all.Format = zonesFormat
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

// save writes the zones as they are.
func (s *Store) save() error {
	s.changing.Lock()
	defer s.changing.Unlock()
	return s.write(func(*contents) {})
}

// write writes the zones as they are about to be. The disk is waited for with no
// lock that a visitor's call needs. The caller holds changing.
func (s *Store) write(edit func(*contents)) error {
	if s.file == nil {
		return nil
	}
	all := s.keep(false)
	edit(&all)
	return s.file.store(all)
}

// keep collects what is to survive.
func (s *Store) keep(closing bool) contents {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := contents{Zones: make([]kept, 0, len(s.crowds))}
	for id, c := range s.crowds {
		k := kept{Settings: c.read(), Memory: c.memory(), Changes: s.record[id]}
		if closing {
			k.ClosedAtMillis = c.closedAt(s.now().UnixMicro())
		}
		all.Zones = append(all.Zones, k)
	}
	now := s.now().UnixMilli()
	for id, d := range s.deleted {
		if d.AtMillis+keepRecord.Milliseconds() > now {
			all.Deleted = append(all.Deleted, keptDeleted{d, s.record[id]})
		}
	}
	return all
}

func (c *crowd) memory() line.Memory {
	c.mu.Lock()
	defer c.mu.Unlock()
	return line.Memory{EdgeMicros: c.edge, LastArrivalMicros: c.last}
}

// closedAt is the zone's time now.
func (c *crowd) closedAt(rawMicros int64) (millis int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock = c.clock.Tick(rawMicros)
	return c.clock.NowMicros / 1000
}

// take brings in what a file held. The lines come back with the visitors'
// tokens. If the server was stopped rather than killed, a window counts as full
// from then on, not from now on.
func (s *Store) take(had contents) {
	for _, k := range had.Zones {
		c := s.restored(k.Settings, k.Memory)
		if k.ClosedAtMillis > 0 {
			// Not later than now: the clock may have been set back meanwhile.
			c.phantoms.AtMillis = min(k.ClosedAtMillis, c.phantoms.AtMillis)
		}
		s.crowds[k.Settings.ZoneID] = c
		s.record[k.Settings.ZoneID] = k.Changes
	}
	for _, d := range had.Deleted {
		s.deleted[d.ZoneID], s.record[d.ZoneID] = d.deleted, d.Changes
	}
}
