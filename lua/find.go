package lua

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/openqueue/waitingroom/internal/line"
)

// FindVisitor implements store.Observer. It reads in two steps, since the keys of the second follow from the first. The line goes on between
// them: then of one who leaves or is admitted some is missing.
func (s *Store) FindVisitor(ctx context.Context, zoneID string, of line.Admission) (f line.Found, err error) {
	if _, err := s.Zone(ctx, zoneID); err != nil {
		return f, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.change)
	defer cancel()
	keys, member := s.keys(zoneID), string(of.ID[:])
	var aside [2]*redis.StringCmd
	pipe := s.client.Pipeline()
	rank, score, admitted := pipe.ZRank(ctx, keys[lineKey], member), pipe.ZScore(ctx, keys[lineKey], member), pipe.ZScore(ctx, keys[logKey], member)
	for i := range aside {
		aside[i] = pipe.HGet(ctx, keys[asideKey+i], member)
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return f, s.failed(ctx, "find_visitor", err)
	}
	for _, one := range aside {
		if text := one.Val(); len(text) >= 14 {
			f.AsideAtMillis, f.ArrivedAtMicros = uint48(text), int64(binary.BigEndian.Uint64([]byte(text[len(text)-8:])))
		}
	}
	stands := int64(score.Val())
	f.AdmittedAtMillis, f.ExpiresAtMillis = admission(admitted.Val())
	f.AdmittedAtMillis = max(f.AdmittedAtMillis, of.AtMillis)
	its := binary.BigEndian.AppendUint64([]byte(member), uint64(f.AdmittedAtMillis)<<16)[:14]
	seen := pipe.HGet(ctx, keys[seenKeys]+strconv.FormatInt(stands/16%buckets, 10), member)
	ends := pipe.ZScore(ctx, keys[insideKey], string(its))
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return f, s.failed(ctx, "find_visitor", err)
	}
	if text := seen.Val(); score.Err() == nil && len(text) >= 8 {
		f.Position, f.ArrivedAtMicros, f.PolledAtMillis = rank.Val()+1, stands, uint48(text)
		if len(text) == 16 {
			f.ArrivedAtMicros = int64(binary.BigEndian.Uint64([]byte(text[8:])))
		}
	}
	if until, part := math.Modf(ends.Val()); f.AdmittedAtMillis > 0 && ends.Err() == nil {
		f.InsideUntilMillis, f.Used = int64(until), part == 0
	}
	return f, nil
}

// uint48 reads the first six bytes, big-endian.
func uint48(text string) int64 { return int64(binary.BigEndian.Uint64([]byte(text[:8])) >> 16) }

// admission is when the visitor of a score of the log was admitted and when the pass expires, as expiry.lua has it.
func admission(score float64) (at, expires int64) {
	const exact, codes = 2_700, 4_096
	millis, part := math.Modf(score)
	seconds := part * codes
	if seconds > exact {
		seconds = exact + (seconds-exact)*60
	}
	return int64(millis), int64(millis) + int64(seconds)*1_000
}
