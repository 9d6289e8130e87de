package zones

import (
	"context"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
)

// EarlyAnswer is what one is told a second after it was told something else.
func EarlyAnswer(z *Zone, told line.Told) line.Told {
	polls := newPollCache()
	polls.keep(z, told.Place, &told, 1_000)
	e, _ := polls.early(z, told.Place, 2_000)
	return e.answer(told.Place, 2_000, 0)
}

// The methods below look a zone up by its name and ask it, for tests that make one call after another.

func (r *Zones) Join(ctx context.Context, zoneID string, id line.ID) (line.Told, error) {
	z, err := r.Find(ctx, zoneID)
	if err != nil {
		return line.Told{}, err
	}
	return z.Join(ctx, id)
}

func (r *Zones) Poll(ctx context.Context, zoneID string, p line.Place) (line.Told, error) {
	z, err := r.Find(ctx, zoneID)
	if err != nil {
		return line.Told{}, err
	}
	return z.Poll(ctx, p)
}

func (r *Zones) Leave(ctx context.Context, zoneID string, p line.Place) error {
	z, err := r.Find(ctx, zoneID)
	if err != nil {
		return err
	}
	return z.Leave(ctx, p)
}

func (r *Zones) Latest(ctx context.Context, zoneID string) (line.Stats, error) {
	z, err := r.Find(ctx, zoneID)
	if err != nil {
		return line.Stats{}, err
	}
	return z.Latest(ctx)
}

func (r *Zones) Done(ctx context.Context, zoneID string, admission [16]byte, named bool) (bool, error) {
	z, err := r.Find(ctx, zoneID)
	if err != nil {
		return false, err
	}
	return z.Done(ctx, admission, named)
}

func (r *Zones) Here(zoneID string, admission [16]byte, until time.Time) (bool, []string) {
	return r.Known(zoneID).Here(admission, until)
}
func (r *Zones) Over(zoneID string, admission [16]byte) bool {
	return r.Known(zoneID).Over(admission)
}
func (r *Zones) End(zoneID string, admission [16]byte) { r.Known(zoneID).End(admission) }
func (r *Zones) Lined(zoneID string) bool {
	z := r.Known(zoneID)
	return z != nil && z.Lined()
}
