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
