package lua

import (
	"context"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
)

const (
	// sweepLease is how long after a batch no other server sweeps the zone:
	// less than the sweeper's period, more than the pause between batches.
	sweepLease = 20 * time.Second
	// sweepExamine is the most tokens that a call examines, but for the rest
	// of one bucket. sweepRemove is the most it removes: 5,000 scattered
	// members hold Redis for 26-47 ms, 400 for about 3.
	sweepExamine = 2_000
	sweepRemove  = 400
)

// statusBusy is sweep.lua's: another server has the lease.
const statusBusy = 3

// Sweep implements store.Sweeper.
func (s *Store) Sweep(ctx context.Context, zoneID, owner string, cursor uint64) (line.Sweep, error) {
	return s.sweep(ctx, zoneID, owner, sweepLease, cursor, sweepExamine)
}

// HoldSweeps implements store.Sweeper.
func (s *Store) HoldSweeps(ctx context.Context, zoneID, owner string, span time.Duration) error {
	_, err := s.sweep(ctx, zoneID, owner, span, 0, 0)
	return err
}

// sweep makes one call.
func (s *Store) sweep(ctx context.Context, zoneID, owner string, lease time.Duration, cursor uint64, examine int) (line.Sweep, error) {
	reply, err := s.call(ctx, sweepScript, append(s.keys(zoneID), s.leaseKey(zoneID)),
		s.clock(), owner, lease.Milliseconds(), cursor, examine, sweepRemove)
	if err != nil {
		return line.Sweep{}, err
	}
	list, err := numbers(reply)
	if err != nil {
		return line.Sweep{}, err
	}
	v := reader{left: list}
	switch status := v.next(); status {
	case 0:
		return line.Sweep{Next: uint64(v.next()), Examined: v.next(), Removed: v.next()}, v.end("sweep", "a batch")
	case statusBusy:
		return line.Sweep{Busy: true}, nil
	default:
		return line.Sweep{}, zoneError(status)
	}
}
