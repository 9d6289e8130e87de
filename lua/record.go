package lua

import (
	"context"
	"errors"
	"slices"

	"github.com/openqueue/waitingroom/internal/zone"
)

// recordBatch is how many zones' records are read in one exchange: 1 MB, or 70 MB where
// all have the largest logo.
const recordBatch = 10

// Changes implements store.Editor. When a node does not answer it returns the changes of
// the other nodes, and an error.
func (s *Store) Changes(ctx context.Context, zoneID string) ([]zone.Change, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.change)
	defer cancel()
	if zoneID != "" {
		entries, err := s.client.LRange(ctx, s.auditKey(zoneID), 0, -1).Result()
		if err != nil {
			return nil, s.failed(ctx, "changes", err)
		}
		return changesOf(zoneID, entries)
	}
	zones, err := s.client.SMembers(ctx, s.zonesKey()).Result()
	if err != nil {
		return nil, s.failed(ctx, "changes", err)
	}
	recorded, err := s.client.SMembers(ctx, s.recordsKey()).Result()
	if err != nil {
		return nil, s.failed(ctx, "changes", err)
	}
	// A zone may be in one of the lists only: they are written by and by.
	names := slices.Concat(zones, recorded)
	slices.Sort(names)
	var all []zone.Change
	var errs []error
	for batch := range slices.Chunk(slices.Compact(names), recordBatch) {
		records, err := s.records(ctx, batch)
		errs = append(errs, err)
		all = zone.NewestFirst(append(records, all)...)
	}
	return all, errors.Join(errs...)
}

// records reads the records of some zones, each the newest first.
func (s *Store) records(ctx context.Context, names []string) (all [][]zone.Change, err error) {
	var damaged []error
	pipe := s.client.Pipeline()
	away := askEach(ctx, pipe, names, func(name string) replier[[]string] {
		return pipe.LRange(ctx, s.auditKey(name), 0, -1)
	}, func(name string, entries []string) {
		one, err := changesOf(name, entries)
		damaged, all = append(damaged, err), append(all, one)
	})
	if away != nil {
		return all, s.failed(ctx, "changes", away)
	}
	return all, errors.Join(damaged...)
}

// changesOf reads what include/record.lua has written of a zone.
func changesOf(zoneID string, entries []string) ([]zone.Change, error) {
	all := make([]zone.Change, len(entries))
	for i, text := range entries {
		if err := readEntry("zone "+zoneID, text, &all[i]); err != nil {
			return nil, err
		}
		all[i].ZoneID = zoneID
	}
	return all, nil
}
