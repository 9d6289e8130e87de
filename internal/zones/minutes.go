package zones

import (
	"context"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
)

// KeepMinutes implements store.Historian.
func (r *Zones) KeepMinutes(ctx context.Context, zoneID string, keep time.Duration, rows []store.Minute) error {
	_, err := measured(r, store.KeepMinutes, func() (struct{}, error) {
		return struct{}{}, r.store.KeepMinutes(ctx, zoneID, keep, rows)
	})
	return err
}

// Minutes implements store.Historian.
func (r *Zones) Minutes(ctx context.Context, zoneID string, from, upto int64) ([]store.Minute, error) {
	return measured(r, store.Minutes, func() ([]store.Minute, error) { return r.store.Minutes(ctx, zoneID, from, upto) })
}

// FindVisitor returns what the store has of a visitor, as store.Observer has it.
func (r *Zones) FindVisitor(ctx context.Context, zoneID string, of line.Admission) (line.Found, error) {
	return measured(r, store.FindVisitor, func() (line.Found, error) { return r.store.FindVisitor(ctx, zoneID, of) })
}

// Share implements store.Sharer.
func (r *Zones) Share(ctx context.Context, zoneID string, slot int64, server string, text []byte) ([][]byte, error) {
	return measured(r, store.Share, func() ([][]byte, error) { return r.store.Share(ctx, zoneID, slot, server, text) })
}
