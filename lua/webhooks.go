package lua

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
)

// asideBatch is how many places that are set aside one call looks at: some 0.3 ms of Redis.
const asideBatch = 1_000

// Aside implements store.Webhooks.
func (s *Store) Aside(ctx context.Context, zoneID string, each func(store.Silent)) error {
	for _, key := range s.keys(zoneID)[asideKey:] {
		for cursor := uint64(0); ; {
			some, next, err := s.asideFrom(ctx, key, cursor)
			if err != nil {
				return s.failed(ctx, "aside", err)
			}
			for i := 0; i+1 < len(some); i += 2 {
				id, is := some[i], some[i+1] // see line/include/aside.lua
				if len(id) != len(line.ID{}) || len(is) < 14 {
					return fmt.Errorf("lua: a place of %d and %d bytes is set aside", len(id), len(is))
				}
				each(store.Silent{
					ID:           line.ID([]byte(id)),
					AtMillis:     int64(binary.BigEndian.Uint64([]byte("\x00\x00" + is[:6]))),
					StandsMicros: int64(binary.BigEndian.Uint64([]byte(is[6:14]))),
				})
			}
			if cursor = next; cursor == 0 {
				break
			}
		}
	}
	return nil
}

// asideFrom reads some of a key, from a cursor on.
func (s *Store) asideFrom(ctx context.Context, key string, cursor uint64) (some []string, next uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.change)
	defer cancel()
	return s.client.HScan(ctx, key, cursor, "", asideBatch).Result()
}
