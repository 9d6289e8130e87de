package store

import (
	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// ChangesOf reads the entries of a page of a zone's record.
func ChangesOf(zoneID string, p audit.Page) ([]zone.Change, error) {
	all := make([]zone.Change, len(p.Entries))
	for i, text := range p.Entries {
		if err := line.ReadEntry(zoneID, p, text, &all[i]); err != nil {
			return nil, err
		}
		all[i].ZoneID = zoneID
	}
	return all, nil
}
