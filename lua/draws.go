package lua

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
)

// Drawn implements store.Drawer.
func (s *Store) Drawn(ctx context.Context, zoneID string, after line.Place, fromMicros, uptoMicros int64) ([]line.Place, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.change)
	defer cancel()
	// Those with the score of after come again, for they are in the order of their ids. They are few: scores are random.
	some, err := s.client.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{
		Key: s.keys(zoneID)[lineKey], ByScore: true, Count: store.DrawnBatch,
		Start: strconv.FormatInt(max(fromMicros, after.ScoreMicros), 10), Stop: "(" + strconv.FormatInt(uptoMicros, 10),
	}).Result()
	if err != nil {
		return nil, s.failed(ctx, "drawn", err)
	}
	var all []line.Place
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
	return all, nil
}

// DrawnAside implements store.Drawer.
func (s *Store) DrawnAside(ctx context.Context, zoneID string, sinceMillis, fromMicros, uptoMicros int64) (all []line.Place, err error) {
	err = s.Aside(ctx, zoneID, func(p store.Silent) {
		if p.AtMillis >= sinceMillis && p.StandsMicros >= fromMicros && p.StandsMicros < uptoMicros {
			all = append(all, line.Place{ID: p.ID, ScoreMicros: p.StandsMicros})
		}
	})
	return all, err
}

// KeepDraw implements store.Drawer. A list is one value: a million tickets are 16 MB, which a network of 1 Gbit/s carries in
// 130 ms. Of several servers the first to write wins. Each server asks every few seconds, so a list that is there is not sent.
func (s *Store) KeepDraw(ctx context.Context, zoneID, nonce string, list []byte) (written bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.change)
	defer cancel()
	key := s.drawKey(zoneID, nonce)
	there, err := s.client.Exists(ctx, key).Result()
	if err == nil && there == 0 {
		written, err = s.client.SetNX(ctx, key, list, store.DrawLife).Result()
	}
	if err != nil {
		return false, s.failed(ctx, "keep_draw", err)
	}
	return written, nil
}

// Draw implements store.Drawer.
func (s *Store) Draw(ctx context.Context, zoneID, nonce string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.change)
	defer cancel()
	list, err := s.client.Get(ctx, s.drawKey(zoneID, nonce)).Bytes()
	switch {
	case errors.Is(err, redis.Nil):
		return nil, nil
	case err != nil:
		return nil, s.failed(ctx, "draw", err)
	default:
		return list, nil
	}
}
