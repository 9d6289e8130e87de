package lua

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/openqueue/waitingroom/internal/store"
)

// spentKey lies in a slot of its own. No zone's name has a ":", so no zone's keys begin so.
func (s *Store) spentKey(key string) string {
	id := store.SpendIDOf(key)
	return s.prefix + "{spent:" + base64.RawURLEncoding.EncodeToString(id[:]) + "}"
}

// Spend implements store.Spender.
func (s *Store) Spend(ctx context.Context, key, by string, life time.Duration) (bool, error) {
	who := store.SpendIDOf(by)
	reply, err := s.call(ctx, spendScript, []string{s.spentKey(key)}, s.clock(), string(who[:]), min(life, store.MaxSpendLife).Milliseconds(),
		(store.SpendSetBack + s.linger).Milliseconds())
	if err != nil {
		return false, err
	}
	if reply != int64(0) && reply != int64(1) {
		return false, fmt.Errorf("lua: spend: reply is %v", reply)
	}
	return reply == int64(1), nil
}
