package embedded

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	recordName = "changes.json"
	// recordFormat is the format of changes.json, as zonesFormat is of zones.json.
	recordFormat = 1
)

// keptRecord is what changes.json holds: the changes of each zone, the newest first, also
// of deleted zones. It may have megabytes, and is written only when it changes. A change is
// first written to zones.json, together with the zone that it changes. So a crash between
// the two files leaves no change without its entry and no entry without its change.
type keptRecord struct {
	Format  int                      `json:"format"`
	Changes map[string][]zone.Change `json:"changes"`
}

// readRecord reads the contents of changes.json.
func (s *Store) readRecord(b []byte) error {
	var has keptRecord
	if err := json.Unmarshal(b, &has); err != nil {
		return err
	}
	if has.Changes == nil {
		return errors.New("it has no changes")
	}
	s.record = has.Changes
	return nil
}

// takeRecord puts the changes of zones.json before those of changes.json, and drops the
// records of zones that were deleted more than recordLife ago.
func (s *Store) takeRecord(had contents) {
	exists := make(map[string]bool, len(had.Zones))
	for _, k := range had.Zones {
		exists[k.Settings.ZoneID] = true
		s.prepend(k.Settings.ZoneID, k.Changes)
	}
	for _, d := range had.Deleted {
		s.prepend(d.ZoneID, d.Changes)
	}
	oldest := s.now().Add(-recordLife).UnixMilli()
	maps.DeleteFunc(s.record, func(id string, changes []zone.Change) bool {
		return !exists[id] && (len(changes) == 0 || changes[0].AtMillis <= oldest)
	})
}

// prepend puts changes before those of a zone's record. A change that the record has already
// is in it once.
func (s *Store) prepend(zoneID string, changes []zone.Change) {
	if len(changes) == 0 {
		return
	}
	all := slices.Clone(changes)
	for _, old := range s.record[zoneID] {
		if !slices.ContainsFunc(changes, func(c zone.Change) bool { return same(c, old) }) {
			all = append(all, old)
		}
	}
	s.record[zoneID], s.unrecorded[zoneID] = all[:min(len(all), zone.MaxChanges)], len(changes)
}

// same reports whether two entries of a zone's record describe one change.
func same(a, b zone.Change) bool {
	equal := func(x, y *zone.Settings) bool {
		return x == y || x != nil && y != nil && x.Equal(*y)
	}
	return a.AtMillis == b.AtMillis && a.By == b.By && equal(a.Was, b.Was) && equal(a.Now, b.Now)
}

// notRecorded returns the changes of a zone that changes.json may not have. The caller holds
// changing.
func (s *Store) notRecorded(zoneID string) []zone.Change {
	all := s.record[zoneID]
	return all[:min(len(all), s.unrecorded[zoneID])]
}

// saveRecord writes the record. more is how many of each zone's changes it has that
// changes.json may not have had. The caller holds writing.
func (s *Store) saveRecord(record keptRecord, more map[string]int) error {
	if err := s.recordFile.store(record); err != nil {
		return err
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	for id, n := range more {
		if s.unrecorded[id] -= n; s.unrecorded[id] == 0 {
			delete(s.unrecorded, id)
		}
	}
	return nil
}
