package sale

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

// deaf hears nothing of what a fallback.Policy counts.
type deaf struct{}

func (deaf) StoreFailing(string, bool) {}
func (deaf) AdmitLocally(string)       {}

// drawSeeds makes the seeds of a run, which is the same again with the same numbers.
type drawSeeds struct{ rng *rand.Rand }

// Commit implements schedule.Seeds.
func (d drawSeeds) Commit(string) (nonce, commitment string) {
	nonce = fmt.Sprintf("%016x%016x", d.rng.Uint64(), d.rng.Uint64())
	return nonce, seedOf(nonce).Commitment()
}

// Seed implements schedule.Seeds.
func (drawSeeds) Seed(_ string, d event.Draw) (event.Seed, bool) { return seedOf(d.Nonce), true }

func seedOf(nonce string) (s event.Seed) {
	raw, _ := hex.DecodeString(nonce) // made above
	copy(s[:], raw)
	return s
}

// outage is a store that answers nothing of what a run asks while it is away. It loses nothing.
type outage struct {
	store.Store
	away func() bool
}

func asked[T any](o outage, do func() (T, error)) (answer T, err error) {
	if o.away() {
		return answer, fmt.Errorf("sale: away: %w", line.ErrStoreUnavailable)
	}
	return do()
}

func (o outage) Join(ctx context.Context, zoneID string, id line.ID, former ...line.ID) (line.Answer, error) {
	return asked(o, func() (line.Answer, error) { return o.Store.Join(ctx, zoneID, id, former...) })
}

func (o outage) Poll(ctx context.Context, zoneID string, p line.Place) (line.Answer, error) {
	return asked(o, func() (line.Answer, error) { return o.Store.Poll(ctx, zoneID, p) })
}

func (o outage) JoinDrawn(ctx context.Context, zoneID string, drawn event.Drawn, id line.ID, former ...line.ID) (line.Answer, error) {
	return asked(o, func() (line.Answer, error) { return o.Store.JoinDrawn(ctx, zoneID, drawn, id, former...) })
}

func (o outage) Drawn(ctx context.Context, zoneID string, after line.Place, from, upto int64) ([]line.Place, error) {
	return asked(o, func() ([]line.Place, error) { return o.Store.Drawn(ctx, zoneID, after, from, upto) })
}

func (o outage) KeepDraw(ctx context.Context, zoneID, event string, part int, text []byte) error {
	_, err := asked(o, func() (struct{}, error) { return struct{}{}, o.Store.KeepDraw(ctx, zoneID, event, part, text) })
	return err
}

func (o outage) Draw(ctx context.Context, zoneID, event string, part int) ([]byte, error) {
	return asked(o, func() ([]byte, error) { return o.Store.Draw(ctx, zoneID, event, part) })
}

func (o outage) Zone(ctx context.Context, zoneID string) (zone.Settings, error) {
	return asked(o, func() (zone.Settings, error) { return o.Store.Zone(ctx, zoneID) })
}

func (o outage) Zones(ctx context.Context) ([]zone.Settings, error) {
	return asked(o, func() ([]zone.Settings, error) { return o.Store.Zones(ctx) })
}

func (o outage) Stats(ctx context.Context, zoneID string) (line.Stats, error) {
	return asked(o, func() (line.Stats, error) { return o.Store.Stats(ctx, zoneID) })
}

func (o outage) PutZone(ctx context.Context, s zone.Settings, was *zone.Settings, by string) (bool, error) {
	return asked(o, func() (bool, error) { return o.Store.PutZone(ctx, s, was, by) })
}

func (o outage) Sample(ctx context.Context, zoneID string, most int) (line.Sample, error) {
	return asked(o, func() (line.Sample, error) { return o.Store.Sample(ctx, zoneID, most) })
}

func (o outage) Sweep(ctx context.Context, zoneID, owner string, cursor uint64) (line.Sweep, error) {
	return asked(o, func() (line.Sweep, error) { return o.Store.Sweep(ctx, zoneID, owner, cursor) })
}
