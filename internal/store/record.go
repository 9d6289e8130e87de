package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// ReadEntry reads an entry of a page of a record into entry. The error wraps line.ErrFormat for one that a newer version has
// written.
func ReadEntry(record string, p audit.Page, text string, entry any) error {
	var head struct {
		Format int `json:"format"`
	}
	err := json.Unmarshal([]byte(text), &head)
	if err == nil && head.Format > audit.EntryFormat {
		return fmt.Errorf("store: %w: the record of %s has format %d, and this version knows formats up to %d: "+
			"start the version that wrote it, or a later one", line.ErrFormat, record, head.Format, audit.EntryFormat)
	}
	if err == nil {
		err = p.Decode(text, entry)
	}
	if err != nil {
		return fmt.Errorf("store: the record of %s is damaged: %w", record, err)
	}
	return nil
}

// ChangesOf reads the entries of a page of a zone's record.
func ChangesOf(zoneID string, p audit.Page) ([]zone.Change, error) {
	all := make([]zone.Change, len(p.Entries))
	for i, text := range p.Entries {
		if err := ReadEntry(zoneID, p, text, &all[i]); err != nil {
			return nil, err
		}
		all[i].ZoneID = zoneID
	}
	return all, nil
}

// Noted reads the newest page of what was noted in a record with documents, the newest first, and has date date each change.
func Noted[T any](ctx context.Context, s Keeper, record string, date func(change *T, atMillis int64)) (all []T, err error) {
	p, err := s.Record(ctx, record, 0)
	if err != nil {
		return nil, err
	}
	for _, text := range p.Entries {
		var b audit.Batch[T]
		if err := ReadEntry(record, p, text, &b); err != nil {
			return nil, err
		}
		for i := range b.Changes {
			date(&b.Changes[i], b.AtMillis)
		}
		all = append(all, b.Changes...)
	}
	return all, nil
}
