package identity

import (
	"crypto/sha256"
	"sync"
	"time"

	"github.com/openqueue/waitingroom/internal/serve/keyset"
)

// maxProven is how many tokens are remembered, at most twice as many, in some 3 MB.
const maxProven = 8192

// proven remembers tokens that have verified, so that a flood of requests with one
// token costs a signature once. What was asked for lately stays: when the young are
// too many, they become the old, and the old are forgotten.
type proven struct {
	mu         sync.Mutex
	young, old map[[sha256.Size]byte]proof
}

// proof is what a token has proven.
type proof struct {
	identity Identity
	// until is when the token expires, leeway included.
	until time.Time
	// keys are those that it was proven with: with others, it is to be proven anew.
	keys *[]keyset.Key
}

func (p *proven) find(token [sha256.Size]byte, keys *[]keyset.Key, now time.Time) (Identity, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	is, found := p.young[token]
	if !found {
		if is, found = p.old[token]; !found {
			return Identity{}, false
		}
		p.put(token, is)
	}
	if is.keys != keys || !now.Before(is.until) {
		return Identity{}, false
	}
	return is.identity, true
}

func (p *proven) keep(token [sha256.Size]byte, is proof) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.put(token, is)
}

func (p *proven) put(token [sha256.Size]byte, is proof) {
	if p.young == nil || len(p.young) >= maxProven {
		p.old, p.young = p.young, make(map[[sha256.Size]byte]proof)
	}
	p.young[token] = is
}
