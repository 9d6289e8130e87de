package lua

import (
	"context"
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/openqueue/waitingroom/internal/zone"
)

// recordBatch is how many zones' records are read in one exchange: at most 10 MB.
const recordBatch = 100

// Changes implements store.Editor. When a node does not answer it returns the changes of
// the other nodes, and an error.
func (s *Store) Changes(ctx context.Context, zoneID string) ([]zone.Change, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.settle)
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
func (s *Store) records(ctx context.Context, names []string) ([][]zone.Change, error) {
	pipe := s.client.Pipeline()
	replies := make([]*redis.StringSliceCmd, len(names))
	for i, name := range names {
		replies[i] = pipe.LRange(ctx, s.auditKey(name), 0, -1)
	}
	// Each command's own error is looked at below.
	_, _ = pipe.Exec(ctx)
	var all [][]zone.Change
	var away, damaged []error
	for i, r := range replies {
		entries, err := r.Result()
		if err != nil {
			away = append(away, err)
			continue
		}
		one, err := changesOf(names[i], entries)
		damaged = append(damaged, err)
		all = append(all, one)
	}
	if err := errors.Join(away...); err != nil {
		return all, s.failed(ctx, "changes", err)
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
