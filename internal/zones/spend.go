package zones

import (
	"context"
	"time"

	"github.com/openqueue/waitingroom/internal/store"
)

// Spend implements store.Spender.
func (r *Zones) Spend(ctx context.Context, key, by string, life time.Duration) (bool, error) {
	return measured(r, store.Spend, func() (bool, error) { return r.store.Spend(ctx, key, by, life) })
}

// Visit implements store.Spender.
func (r *Zones) Visit(ctx context.Context, key string, v store.Visit) (store.Visit, error) {
	return measured(r, store.VisitByTicket, func() (store.Visit, error) { return r.store.Visit(ctx, key, v) })
}
