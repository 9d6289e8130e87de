package lua

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/openqueue/waitingroom/internal/store"
)

// A day of a zone's minutes is one hash. Its fields are the minute of the day, and for the row of one server "." and the server's
// name. A busy day has 1,440 fields of at most 100 bytes.

// KeepMinutes implements store.Historian.
func (s *Store) KeepMinutes(ctx context.Context, zoneID string, keep time.Duration, rows []store.Minute) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.change)
	defer cancel()
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, m := range rows {
			key := s.minutesKey(zoneID, m.Minute/store.MinutesOfDay)
			if m.Replaces {
				p.HSet(ctx, key, minuteField(m), m.Row)
			} else {
				p.HSetNX(ctx, key, minuteField(m), m.Row)
			}
			p.PExpire(ctx, key, keep)
		}
		return nil
	})
	if err != nil {
		return s.failed(ctx, "keep_minutes", err)
	}
	return nil
}

// minuteField is the field of a row.
func minuteField(m store.Minute) string {
	field := strconv.FormatInt(m.Minute%store.MinutesOfDay, 10)
	if m.By != "" {
		field += "." + m.By
	}
	return field
}

// Minutes implements store.Historian.
func (s *Store) Minutes(ctx context.Context, zoneID string, from, upto int64) (all []store.Minute, err error) {
	for day := from / store.MinutesOfDay; day*store.MinutesOfDay < upto; day++ {
		rows, err := s.minutesOf(ctx, zoneID, day)
		if err != nil {
			return nil, err
		}
		for field, row := range rows {
			at, by, _ := strings.Cut(field, ".")
			n, err := strconv.ParseInt(at, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("lua: minutes: a field is %q", field)
			}
			if n += day * store.MinutesOfDay; from <= n && n < upto {
				all = append(all, store.Minute{Minute: n, By: by, Row: []byte(row)})
			}
		}
	}
	slices.SortFunc(all, func(a, b store.Minute) int { return cmp.Or(cmp.Compare(a.Minute, b.Minute), cmp.Compare(a.By, b.By)) })
	return all, nil
}

// Share implements store.Sharer. A slot is one hash, with a field for each server.
func (s *Store) Share(ctx context.Context, zoneID string, slot int64, server string, text []byte) (all [][]byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.change)
	defer cancel()
	key := fmt.Sprintf("%s{%s}:shared:%d", s.prefix, zoneID, slot)
	var shared *redis.MapStringStringCmd
	_, err = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.HSet(ctx, key, server, text)
		p.PExpire(ctx, key, store.ShareLife)
		shared = p.HGetAll(ctx, key)
		return nil
	})
	if err != nil {
		return nil, s.failed(ctx, "share", err)
	}
	for _, one := range shared.Val() {
		all = append(all, []byte(one))
	}
	return all, nil
}

func (s *Store) minutesOf(ctx context.Context, zoneID string, day int64) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.change)
	defer cancel()
	rows, err := s.client.HGetAll(ctx, s.minutesKey(zoneID, day)).Result()
	if err != nil {
		return nil, s.failed(ctx, "minutes", err)
	}
	return rows, nil
}
