package embedded

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/window"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	zonesName = "zones.json"
	// zonesFormat is the format of zones.json. The number is raised only when an older version must not use the
	// file: it ignores fields that it does not know. Version 0.1.0, which reads format 1, would drop the policies of limits.
	zonesFormat = 2
)

// contents are what survives a restart.
type contents struct {
	Format  int       `json:"format"`
	Zones   []kept    `json:"zones"`
	Deleted []deleted `json:"deleted,omitempty"`
	// Documents are those of line.Documents. What clients have taken of limits is not part of it: those counts end with the process.
	Documents map[string]line.Document `json:"documents,omitempty"`
}

// kept is what survives of a zone.
type kept struct {
	Settings zone.Settings `json:"settings"`
	Memory   line.Memory   `json:"memory"`
	// Unknown are those who may be inside since a loss, and Longest is for how long.
	Unknown window.Unknown `json:"unknown,omitzero"`
	Longest window.Longest `json:"longest,omitzero"`
	// Totals are as of the last second.
	Totals line.Totals `json:"totals,omitzero"`
}

// file is a JSON file of the data directory. Only one goroutine may use it at a time.
type file struct {
	*disk
	name string
	// format is the newest format that this version reads. of names the contents, for the
	// error if they are damaged.
	format int
	of     string
	last   []byte // what store wrote last
}

// load hands the contents of the file to decode, if there is a file.
func (f *file) load(decode func([]byte) error) error {
	b, err := os.ReadFile(filepath.Join(f.dir, f.name))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	if err := checkFormat(b, f.name, f.format); err != nil {
		return err
	}
	if err := decode(b); err != nil {
		return fmt.Errorf("embedded: %s is damaged (%w): restore it, or move it away to begin with no %s", f.name, err, f.of)
	}
	return nil
}

// store replaces the file, unless it holds the same already.
func (f *file) store(v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	if bytes.Equal(b, f.last) {
		return nil
	}
	if err = f.put(f.name, b); err == nil {
		f.last = b
	}
	return err
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
	return nil // damage is found when all of the file is read
}

// readZones reads zones.json.
func readZones(b []byte) (had contents, err error) {
	if err = json.Unmarshal(b, &had); err == nil && had.Zones == nil {
		err = errors.New("it has no list of zones")
	}
	for i := range had.Zones {
		k := &had.Zones[i]
		if had.Format == 1 {
			k.Settings.FromFormat1()
		}
		if invalid := k.Settings.Validate(); err == nil && invalid != nil {
			err = fmt.Errorf("zone %q: %w", k.Settings.ZoneID, invalid)
		}
	}
	return had, err
}

// remember writes what a restart needs, until Close: once a second, and at once when flush
// asks. What could not be written before is tried again each time.
func (s *Store) remember() {
	defer close(s.done)
	tick := time.NewTicker(rememberEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		case written := <-s.asked:
			s.saveAll()
			close(written)
		case <-tick.C:
			s.journal.rotate(s.keepFor())
			s.stays.rotate(s.keepStaysFor())
			s.asides.rotate(s.keepFor())
			s.spends.tidy(s.now())
			s.saveAll()
		}
	}
}

// saveAll writes what the files do not hold yet. The disk logs errors and remembers
// them.
func (s *Store) saveAll() {
	_ = s.save()
	s.disk.note("", nil)
}

// flush makes remember write what is in force, and waits for that, for diskTimeout at
// most: a disk that hangs must not keep an operator from the next change. If it is not
// written by then, NotKept says so.
func (s *Store) flush() {
	if s.disk == nil {
		return
	}
	late := time.NewTimer(diskTimeout)
	defer late.Stop()
	written := make(chan struct{})
	select {
	case s.asked <- written:
	case <-late.C:
		s.disk.note("", errLate)
		return
	}
	select {
	case <-written:
	case <-late.C:
		s.disk.note("", errLate)
	}
}

// save writes what is in force. While it writes, it holds no lock that a visitor's or an operator's call needs.
func (s *Store) save() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.changing.Lock()
	zones, lines := s.keep(), s.unwritten
	s.unwritten = nil
	s.changing.Unlock()
	left, errRecord := s.writeRecord(lines)
	if len(left) > 0 {
		s.changing.Lock()
		s.unwritten = append(left, s.unwritten...)
		s.changing.Unlock()
	}
	return errors.Join(errRecord, s.zonesFile.store(zones))
}

// NotKept returns nil if a restart would bring back all that is in force. Else it
// says why not, such as a full disk. What is missing is written as soon as possible.
func (s *Store) NotKept() error {
	if s.disk == nil {
		return nil
	}
	return s.disk.trouble()
}

// keep collects the contents of zones.json.
func (s *Store) keep() contents {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := contents{Format: zonesFormat, Zones: make([]kept, 0, len(s.queues)), Documents: maps.Clone(s.documents)}
	for _, q := range s.queues {
		all.Zones = append(all.Zones, q.kept())
	}
	now := s.now().UnixMilli()
	for _, d := range s.deleted {
		if d.AtMillis+deletedLife.Milliseconds() > now {
			all.Deleted = append(all.Deleted, d)
		}
	}
	slices.SortFunc(all.Zones, func(a, b kept) int { return strings.Compare(a.Settings.ZoneID, b.Settings.ZoneID) })
	slices.SortFunc(all.Deleted, func(a, b deleted) int { return strings.Compare(a.ZoneID, b.ZoneID) })
	return all
}

func (q *zoneQueue) kept() kept {
	q.mu.Lock()
	defer q.mu.Unlock()
	return kept{q.settings, q.memory(), q.in.unknown, q.in.longest, q.totals}
}

// memory is for a caller who holds mu.
func (q *zoneQueue) memory() line.Memory {
	now := q.clock.NowMicros / 1000
	if q.line.len() > 0 || now-q.seen >= rewrite.Milliseconds() {
		q.seen = now
	}
	seen := q.seen
	if q.heal.back(now, q.settings) {
		seen = min(now, q.heal.alive) // the clock may have been set back with the loss
	}
	return line.Memory{Epoch: q.epoch, SeenAtMillis: max(1, seen), EdgeMicros: q.edge, LastArrivalMicros: q.last}
}

// behind is how long before now the line was last known to stand, as long as less than an
// idle timeout has passed since the latest loss; else 0.
func (q *zoneQueue) behind() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.clock.NowMicros / 1000
	if !q.heal.back(now, q.settings) {
		return 0
	}
	return time.Duration(max(1, now-q.heal.alive)) * time.Millisecond
}

// oldestPass is how old the oldest admission is of those that may have a good pass; 0 if there is none.
func (q *zoneQueue) oldestPass() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.log.entries) == 0 {
		return 0
	}
	return time.Duration(q.clock.NowMicros/1000-q.log.entries[0].atMillis) * time.Millisecond
}

// take brings in what the files held. The lines come back with the visitors' tokens,
// except those of visitors who had departed. A window counts as full from now on.
func (s *Store) take(had contents, departed, stays, asides []entry) {
	for _, k := range had.Zones {
		// The line went on for up to rememberEvery after the file was written, if the server was killed.
		k.Memory.SeenAtMillis += rememberEvery.Milliseconds()
		q := s.restored(k.Settings, k.Memory)
		q.in.longest, q.totals, q.heal.admitted = k.Longest, k.Totals, k.Totals.Admitted
		s.queues[k.Settings.ZoneID] = q
	}
	s.takeAside(asides)
	for _, e := range departed {
		if q, ok := s.queues[e.zoneID]; ok {
			p := line.Place{ID: e.id, ArrivedAtMicros: e.numbers[0], Epoch: uint32(e.numbers[1])}
			if p.Epoch == q.epoch {
				// The departure may be newer than the file, if the server was killed, and
				// newer than the clock, if that was set back.
				q.last = max(q.last, p.ArrivedAtMicros)
				q.heal.upTo = q.last
			}
			d := line.Departure{Place: p, AdmittedAtMillis: e.numbers[2], ExpiresAtMillis: e.numbers[3]}
			q.recall(&transaction{now: q.clock.NowMicros / 1000}, d)
		}
	}
	s.takeStays(had.Zones, stays)
	for _, d := range had.Deleted {
		s.deleted[d.ZoneID] = d
	}
}
