package console

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"
)

const (
	// guesses is how many wrong tokens an address may show in a row, and
	// guessEvery how long it then waits for each further one: an operator who
	// pastes the wrong thing notices nothing, and a program that tries tokens
	// gets through 43,200 a day.
	guesses    = 5
	guessEvery = 2 * time.Second
	// throttleSlots bounds the memory, and with it all guesses together: 128
	// a second, whatever the number of addresses.
	throttleSlots = 256
	// clientBits is how much of an IPv6 address belongs to one client.
	clientBits = 64
)

// throttle slows down log ins. Addresses share slots by a hash that nobody
// outside knows. It is safe for concurrent use.
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

// giveBack returns the guess that take took: it was right.
func (t *throttle) giveBack(addr string) {
	slot := t.slot(addr)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.full[slot] = t.full[slot].Add(-guessEvery)
}

func (t *throttle) slot(addr string) uint64 {
	if ip, err := netip.ParseAddr(addr); err == nil && ip.Unmap().Is6() {
		if network, err := ip.WithZone("").Prefix(clientBits); err == nil {
			addr = network.String()
		}
	}
	return maphash.String(t.seed, addr) % throttleSlots
}
