package operator

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/openqueue/waitingroom/internal/limits/address"
)

const (
	// guesses is how many wrong tokens an address may show in a row, and
	// guessEvery how long it then waits for each further one: an operator who
	// pastes the wrong thing notices nothing, and a program that tries tokens
	// is told apart, and logged once in so long.
	guesses    = 5
	guessEvery = 2 * time.Second
	// throttleSlots bounds the memory, and with it what is logged of all guesses
	// together: 128 a second, whatever the number of addresses.
	throttleSlots = 256
)

// throttle tells who shows wrong tokens all the time. Addresses share slots by a
// hash that nobody outside knows. It is safe for concurrent use.
type throttle struct {
	now  func() time.Time
	seed maphash.Seed

	mu sync.Mutex
	// full is when a slot will have all its guesses back.
	full [throttleSlots]time.Time
}

func newThrottle(now func() time.Time) *throttle {
	return &throttle{now: now, seed: maphash.MakeSeed()}
}

// take takes one guess from the address. If there is none left, it returns how
// long until there is one.
func (t *throttle) take(addr string) (wait time.Duration) {
	slot := t.slot(addr)
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	full := t.full[slot]
	if full.Before(now) {
		full = now
	}
	full = full.Add(guessEvery)
	if wait = full.Sub(now) - guesses*guessEvery; wait > 0 {
		return wait
	}
	t.full[slot] = full
	return 0
}

func (t *throttle) slot(addr string) uint64 {
	return maphash.String(t.seed, address.Key(addr)) % throttleSlots
}
