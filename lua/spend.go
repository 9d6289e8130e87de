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

// Visit implements store.Spender.
func (s *Store) Visit(ctx context.Context, key string, v store.Visit) (newest store.Visit, err error) {
	reply, err := s.call(ctx, visitScript, []string{s.spentKey(key)}, s.clock(), v.AtMillis, v.UntilMillis, v.BegunMillis,
		store.VisitKept.Milliseconds(), (store.SpendSetBack + s.linger).Milliseconds())
	if err != nil {
		return newest, err
	}
	is, ok := reply.([]any)
	const times = 3
	if !ok || len(is) != times {
		return newest, fmt.Errorf("lua: visit: reply is %v", reply)
	}
	for i, to := range []*int64{&newest.AtMillis, &newest.UntilMillis, &newest.BegunMillis} {
		if *to, ok = is[i].(int64); !ok {
			return newest, fmt.Errorf("lua: visit: reply is %v", reply)
		}
	}
	return newest, nil
}
