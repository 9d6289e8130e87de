package lua

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
)

// Drawn implements store.Drawer.
func (s *Store) Drawn(ctx context.Context, zoneID string, after line.Place, fromMicros, uptoMicros int64) ([]line.Place, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.change)
	defer cancel()
	from := max(fromMicros, after.ScoreMicros)
	var all []line.Place
	// Those with one score come again, for they are in the order of their ids: until one of
	// a higher score comes, or nobody more.
	for offset := int64(0); len(all) == 0; offset += store.DrawnBatch {
		some, err := s.client.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{
			Key: s.keys(zoneID)[lineKey], ByScore: true, Count: store.DrawnBatch, Offset: offset,
			Start: strconv.FormatInt(from, 10), Stop: "(" + strconv.FormatInt(uptoMicros, 10),
		}).Result()
		if err != nil {
			return nil, s.failed(ctx, "drawn", err)
		}
		for _, z := range some {
			id, ok := z.Member.(string)
			p := line.Place{ScoreMicros: int64(z.Score)}
			if !ok || copy(p.ID[:], id) != len(p.ID) {
				return nil, fmt.Errorf("lua: drawn: a member of %d bytes", len(id))
			}
			if p.ScoreMicros > after.ScoreMicros || id > string(after.ID[:]) {
				all = append(all, p)
			}
		}
		if len(some) < store.DrawnBatch {
			break
		}
	}
	return all, nil
}

const (
	// listChunk is how much of a list is written or read in a call. Measured with a million tickets: most calls take less than
	// 0.2 ms of Redis, the longest 5.8 ms, when Redis moves the value as it grows.
	listChunk = 256 << 10
	// unfinishedLife is how long a list that is not whole is kept: writing ten million tickets takes less.
	unfinishedLife = 10 * time.Minute
)

// KeepDraw implements store.Drawer. The list is written in chunks under a name of its own, and then renamed: so it is seen
// whole or not at all, and of several servers the first to rename wins.
func (s *Store) KeepDraw(ctx context.Context, zoneID, nonce string, list []byte) (written bool, err error) {
	key := s.drawKey(zoneID, nonce)
	do := func(call func(ctx context.Context) error) {
		if err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(ctx, s.timeouts.change)
		defer cancel()
		if err = call(ctx); err != nil {
			err = s.failed(ctx, "keep_draw", err)
		}
	}
	var there int64
	do(func(ctx context.Context) (err error) { there, err = s.client.Exists(ctx, key).Result(); return err })
	if err != nil || there > 0 {
		return false, err
	}
	unfinished := key + ":" + rand.Text()
	do(func(ctx context.Context) error { return s.client.Set(ctx, unfinished, "", unfinishedLife).Err() })
	for at := 0; at < len(list) && err == nil; at += listChunk {
		do(func(ctx context.Context) error {
			return s.client.SetRange(ctx, unfinished, int64(at), string(list[at:min(len(list), at+listChunk)])).Err()
		})
	}
	do(func(ctx context.Context) error { return s.client.PExpire(ctx, unfinished, store.DrawLife).Err() })
	do(func(ctx context.Context) (err error) {
		written, err = s.client.RenameNX(ctx, unfinished, key).Result()
		return err
	})
	if !written {
		err = errors.Join(err, s.client.Unlink(ctx, unfinished).Err())
	}
	return written, err
}

// Draw implements store.Drawer.
func (s *Store) Draw(ctx context.Context, zoneID, nonce string) ([]byte, error) {
	key := s.drawKey(zoneID, nonce)
	read := func(at int) (chunk string, err error) {
		ctx, cancel := context.WithTimeout(ctx, s.timeouts.call)
		defer cancel()
		if chunk, err = s.client.GetRange(ctx, key, int64(at), int64(at+listChunk-1)).Result(); err != nil {
			return "", s.failed(ctx, "draw", err)
		}
		return chunk, nil
	}
	list := []byte{}
	for {
		chunk, err := read(len(list))
		if err != nil {
			return nil, err
		}
		if list = append(list, chunk...); len(chunk) == listChunk {
			continue
		}
		if len(list) > 0 {
			return list, nil
		}
		there, err := s.client.Exists(ctx, key).Result()
		if err != nil {
			return nil, s.failed(ctx, "draw", err)
		}
		if there == 0 {
			return nil, nil
		}
		return list, nil
	}
}
