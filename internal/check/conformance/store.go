package conformance

import (
	"context"
	"sync/atomic"
	"time"

	"pgregory.net/rapid"

	"github.com/openqueue/waitingroom/internal/store"
)

// TB is a test, or one run of a property.
type TB interface {
	rapid.TB
	Cleanup(f func())
	Context() context.Context
}

// Harness is an empty store under test.
type Harness struct {
	// Store is the store.
	Store store.Store
	// Lose takes all data from the store, as a crash would, and returns the
	// store to go on with. Places and settings are gone; nothing is restored.
	Lose func(t TB) store.Store
	// Mark remembers what the store holds. rewind takes it back to that, on another node, as a
	// fail-over does. Nil where a store cannot lose a part of its data.
	Mark func(t TB) (rewind func(t TB))
	// LoseKey takes one kind of key of a zone from the store: zone, line, live, due, log, inside or over. Nil where a store cannot
	// lose a part of its data.
	LoseKey func(t TB, zoneID, key string)
	// Footprint says what the store holds of a zone besides its settings and
	// counters: how many of what. A name with nothing to it is left out.
	Footprint func(t TB, zoneID string) map[string]int
}

// Open makes an empty store that goes by the clock and is closed with the test.
type Open func(t TB, now func() time.Time) Harness

// Clock is a clock that moves only when told to. Safe for concurrent use.
type Clock struct{ nanos atomic.Int64 }

// NewClock starts at a time that is no round number in any unit.
func NewClock() (c *Clock) {
	c = new(Clock)
	c.Add(1_795_223_373_123_456 * time.Microsecond)
	return c
}

// Now reads the clock.
func (c *Clock) Now() time.Time { return time.Unix(0, c.nanos.Load()) }

// Add moves the clock on, or back.
func (c *Clock) Add(d time.Duration) { c.nanos.Add(int64(d)) }
