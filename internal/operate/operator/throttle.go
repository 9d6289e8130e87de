package operator

import (
	"hash/maphash"
	"time"

	"golang.org/x/time/rate"

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
	now   func() time.Time
	seed  maphash.Seed
	slots [throttleSlots]*rate.Limiter
}

func newThrottle(now func() time.Time) *throttle {
	t := &throttle{now: now, seed: maphash.MakeSeed()}
	for i := range t.slots {
		t.slots[i] = rate.NewLimiter(rate.Every(guessEvery), guesses)
	}
	return t
}

// take takes one guess from the address. It reports whether there was one left.
func (t *throttle) take(addr string) bool { return t.slots[t.slot(addr)].AllowN(t.now(), 1) }

func (t *throttle) slot(addr string) uint64 {
	return maphash.String(t.seed, address.Key(addr)) % throttleSlots
}
