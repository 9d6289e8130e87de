package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	recordName = "changes.json"
	// recordFormat is the format of changes.json, as zonesFormat is of zones.json.
	recordFormat = 2
	// addedPrefix begins the names of the journal's parts that have what was added to the records since changes.json was written.
	addedPrefix = "changes-"
	// maxAdded is how many bytes that may be before changes.json is written anew, with all of them.
	maxAdded = 8 << 20
)

// changeRecord is who changed what, the oldest first. Entries are only added and trimmed, never changed.
type changeRecord struct {
	Head    string           `json:"head"`
	Entries []string         `json:"entries"`
	Texts   map[string]large `json:"texts,omitempty"`
}

// large is a large value of entries. Last is the number of the newest entry that refers to it.
type large struct {
	Text string `json:"text"`
	Last int64  `json:"last"`
}

// keptRecord is what changes.json holds: the records by their names, also of deleted zones.
type keptRecord struct {
	Format  int                     `json:"format"`
	Records map[string]changeRecord `json:"records"`
}

// added is one line of the journal.
type added struct {
	Record string `json:"record"`
	audit.Addition
}

// tail is what the next entry follows.
func (r changeRecord) tail(atMillis int64) audit.Tail {
	t := audit.Tail{Head: r.Head, Length: len(r.Entries), AtMillis: atMillis}
	if t.Length > 0 {
		t.Newest = r.Entries[t.Length-1]
	}
	t.Oldest = slices.Clone(r.Entries[:min(t.Length, audit.OldestRead)])
	slices.Reverse(t.Oldest)
	return t
}

// with returns the record with an addition; as it is if that follows another head.
func (r changeRecord) with(a audit.Addition) changeRecord {
	if r.Head != a.Head {
		return r
	}
	r.Head, r.Entries = a.Next, append(r.Entries, a.Text)
	r.Entries = r.Entries[max(0, len(r.Entries)-a.Keep):]
	texts := make(map[string]large, len(r.Texts)+len(a.Texts)) // page reads the old ones
	maps.Copy(texts, r.Texts)
	r.Texts = texts
	for hash, text := range a.Texts {
		r.Texts[hash] = large{text, a.N}
	}
	for _, hash := range a.Drop {
		if r.Texts[hash].Last <= a.Upto {
			delete(r.Texts, hash)
		}
	}
	return r
}

// page returns the entries after skip newer ones.
func (r changeRecord) page(skip int) audit.Page {
	last := max(0, len(r.Entries)-skip)
	p := audit.Page{Head: r.Head, Entries: slices.Clone(r.Entries[max(0, last-audit.PageSize):last]), Texts: make(map[string]string)}
	slices.Reverse(p.Entries)
	for _, hash := range audit.References(p.Entries...) {
		if text, there := r.Texts[hash]; there {
			p.Texts[hash] = text.Text
		}
	}
	return p
}

// note adds an entry that says body to a record. The caller holds changing, and has what it changes besides in force only
// after it.
func (s *Store) note(name string, body any) error {
	s.mu.RLock()
	r := s.records[name]
	s.mu.RUnlock()
	a, err := s.sealer.Compose(name, r.tail(s.now().UnixMilli()), body)
	if err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	s.mu.Lock()
	s.records[name] = r.with(a)
	s.mu.Unlock()
	if s.disk != nil {
		line, err := json.Marshal(added{name, a})
		if err != nil {
			return fmt.Errorf("embedded: %w", err)
		}
		s.unwritten = append(append(s.unwritten, line...), " "+journalEnd+"\n"...)
	}
	s.sealer.Added(name, a)
	return nil
}

// Record implements store.Editor.
func (s *Store) Record(_ context.Context, name string, skip int) (audit.Page, error) {
	s.mu.RLock()
	r := s.records[name]
	s.mu.RUnlock()
	return r.page(skip), nil
}

// Verify implements store.Editor.
func (s *Store) Verify(ctx context.Context, name string) (audit.Page, audit.Check, error) {
	return s.sealer.Verify(name, func(skip int) (audit.Page, error) { return s.Record(ctx, name, skip) })
}

// Recorded implements store.Editor.
func (s *Store) Recorded(context.Context) ([]string, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	names := make(map[string]bool)
	for name := range s.records {
		names[name] = name[0] != ':'
	}
	for name := range s.queues {
		names[name] = true
	}
	maps.DeleteFunc(names, func(_ string, isZone bool) bool { return !isZone })
	return slices.Sorted(maps.Keys(names)), nil
}

// Changes implements store.Editor.
func (s *Store) Changes(ctx context.Context, zoneID string) ([]zone.Change, error) {
	names := []string{zoneID}
	if zoneID == "" {
		names, _ = s.Recorded(ctx) // never fails
	}
	all := make([][]zone.Change, len(names))
	for i, name := range names {
		p, _ := s.Record(ctx, name, 0) // never fails
		var err error
		if all[i], err = store.ChangesOf(name, p); err != nil {
			return nil, err
		}
	}
	if zoneID != "" {
		return all[0], nil
	}
	return zone.NewestFirst(all...), nil
}

// readRecord reads the contents of changes.json.
func (s *Store) readRecord(b []byte) error {
	var has struct {
		keptRecord
		Changes  map[string][]zone.Change `json:"changes"` // of format 1, the newest first
		Policies []limit.Change           `json:"policies"`
	}
	if err := json.Unmarshal(b, &has); err != nil {
		return err
	}
	if has.Records == nil && has.Changes == nil {
		return errors.New("it has no changes")
	}
	for zoneID, changes := range has.Changes {
		for _, c := range slices.Backward(changes) {
			s.takeOld(zoneID, c)
		}
	}
	for _, c := range slices.Backward(has.Policies) {
		s.takeOld(audit.Limits, audit.Batch[limit.Change]{AtMillis: c.AtMillis, Changes: []limit.Change{c}})
	}
	maps.Copy(s.records, has.Records)
	return nil
}

// takeOld takes in an entry of format 1, which has no seal.
func (s *Store) takeOld(name string, c any) {
	text, _ := json.Marshal(c) // was JSON before
	r := s.records[name]
	r.Entries = append(r.Entries, string(text))
	s.records[name] = r
}

// takeAdded takes in what the journal has. What changes.json has already follows another head than the record's.
func (s *Store) takeAdded(lines []string) {
	for _, line := range lines {
		var a added
		if json.Unmarshal([]byte(line), &a) == nil {
			s.records[a.Record] = s.records[a.Record].with(a.Addition)
			s.addedBytes += len(line)
		}
	}
}

// dropOldRecords forgets the records of zones that were deleted longer ago than an entry is kept.
func (s *Store) dropOldRecords() {
	oldest := s.now().Add(-s.sealer.Keep()).UnixMilli()
	maps.DeleteFunc(s.records, func(name string, r changeRecord) bool {
		var newest struct {
			AtMillis int64 `json:"at"`
		}
		err := json.Unmarshal([]byte(r.tail(0).Newest), &newest)
		return err == nil && name[0] != ':' && s.queues[name] == nil && newest.AtMillis <= oldest
	})
}

// writeRecord writes what was added to the records: to the journal, or, once that has grown, with all of them to changes.json, after
// which the journal begins anew. So a change costs what its entry has, and not what its record has. With an error it returns the
// lines that are not written. The caller holds writing.
func (s *Store) writeRecord(lines []byte) (left []byte, err error) {
	if s.rewriteRecord || s.addedBytes+len(lines) > maxAdded {
		s.mu.RLock()
		all := keptRecord{recordFormat, maps.Clone(s.records)}
		s.mu.RUnlock()
		if err := s.recordFile.store(all); err != nil {
			return lines, err
		}
		s.rewriteRecord, s.addedBytes = false, 0
		return nil, s.added.beginAnew()
	}
	if len(lines) == 0 {
		return nil, nil
	}
	if err = s.disk.claim(); err != nil {
		left = lines
	} else if left, err = s.added.append(lines); err == nil {
		err = s.added.file.Sync()
	}
	s.addedBytes += len(lines) - len(left)
	s.disk.note(addedPrefix, err)
	return left, err
}
