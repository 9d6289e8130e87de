package sale

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/openqueue/waitingroom/internal/event"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zone"
)

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

// asked is the store that a server asks: the run's, or one that is away.
type asked struct{ store.Store }

// away is a store that answers nothing. What was in the store before is there again afterwards.
type away struct{}

var errAway = fmt.Errorf("sale: away: %w", line.ErrStoreUnavailable)

func (away) Join(context.Context, string, line.ID) (a line.Answer, err error) {
	return a, errAway
}
func (away) Poll(context.Context, string, line.Place) (a line.Answer, err error) { return a, errAway }
func (away) Leave(context.Context, string, line.Place) error                     { return errAway }
func (away) JoinDrawn(context.Context, string, event.Drawn, line.ID) (a line.Answer, err error) {
	return a, errAway
}
func (away) Drawn(context.Context, string, line.Place, int64, int64) ([]line.Place, error) {
	return nil, errAway
}
func (away) KeepDraw(context.Context, string, string, []byte) (bool, error) { return false, errAway }
func (away) Draw(context.Context, string, string) ([]byte, error)           { return nil, errAway }
func (away) Zone(context.Context, string) (z zone.Settings, err error)      { return z, errAway }
func (away) Zones(context.Context) ([]zone.Settings, error)                 { return nil, errAway }
func (away) Stats(context.Context, string) (s line.Stats, err error)        { return s, errAway }
func (away) PutZone(context.Context, zone.Settings, *zone.Settings, string) (bool, error) {
	return false, errAway
}
func (away) DeleteZone(context.Context, string, string) error       { return errAway }
func (away) Changes(context.Context, string) ([]zone.Change, error) { return nil, errAway }
func (away) Sweep(context.Context, string, string, uint64) (s line.Sweep, err error) {
	return s, errAway
}
func (away) HoldSweeps(context.Context, string, string, time.Duration) error { return errAway }
func (away) Sample(context.Context, string, int) (s line.Sample, err error)  { return s, errAway }
func (away) RestoreZone(context.Context, zone.Settings, line.Memory) error   { return errAway }
func (away) Recall(context.Context, string, []line.Departure) error          { return errAway }
func (away) Spend(context.Context, string, string, time.Duration) (bool, error) {
	return false, errAway
}
func (away) Ping(context.Context) error { return errAway }
