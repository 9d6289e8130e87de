package conformance

import (
	"context"
	"sync"
	"time"

	"pgregory.net/rapid"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Store is what the rooms ask of a store. For each method's meaning see the
// embedded store's.
type Store interface {
	visits
	settings
	upkeep
}

type visits interface {
	Join(ctx context.Context, zoneID string, id line.ID, former ...line.ID) (line.Answer, error)
	Poll(ctx context.Context, zoneID string, p line.Place) (line.Answer, error)
	Leave(ctx context.Context, zoneID string, p line.Place) error
	Recall(ctx context.Context, zoneID string, departed []line.Departure) error
}

type settings interface {
	Zones(ctx context.Context) ([]zone.Settings, error)
	Zone(ctx context.Context, zoneID string) (zone.Settings, error)
	PutZone(ctx context.Context, s zone.Settings, was *zone.Settings, by string) (created bool, err error)
	RestoreZone(ctx context.Context, s zone.Settings, m line.Memory) error
	DeleteZone(ctx context.Context, zoneID, by string) error
	Changes(ctx context.Context, zoneID string) ([]zone.Change, error)
}

type upkeep interface {
	Stats(ctx context.Context, zoneID string) (line.Stats, error)
	Sweep(ctx context.Context, zoneID, owner string, cursor uint64) (line.Sweep, error)
	Ping(ctx context.Context) error
}

// TB is a test, or one run of a property.
type TB interface {
	rapid.TB
	Cleanup(f func())
	Context() context.Context
}

// Harness is an empty store under test.
type Harness struct {
	// Store is the store.
	Store Store
	// Lose takes all data from the store, as a crash would, and returns the
	// store to go on with. Places and settings are gone; nothing is restored.
	Lose func(t TB) Store
	// Footprint says what the store holds of a zone besides its settings and
	// counters: how many of what. A name with nothing to it is left out.
	Footprint func(t TB, zoneID string) map[string]int
}

// Open makes an empty store that goes by the clock and is closed with the test.
type Open func(t TB, now func() time.Time) Harness

// Clock is a clock that moves only when told to. Safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock starts at a time that is no round number in any unit.
func NewClock() *Clock { return &Clock{now: time.UnixMicro(1_795_223_373_123_456)} }

// Now reads the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Add moves the clock on, or back.
func (c *Clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
