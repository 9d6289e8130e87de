package identity

import (
	"crypto/sha256"
	"sync"
	"time"

	"github.com/openqueue/waitingroom/internal/serve/keyset"
)

// maxProven is how many of the latest tokens are remembered at least. At most twice as many
// are, in some 3 MB.
const maxProven = 8192

// proven remembers tokens that have verified, so that of many requests with one token only
// the first one costs the check of a signature. When there are maxProven young tokens, these
// become the old ones, and the old ones are forgotten. A token that is asked for is young
// again.
type proven struct {
	mu         sync.Mutex
	young, old map[[sha256.Size]byte]proof
}

// proof is what a token has proven.
type proof struct {
	identity Identity
	// until is when the token expires, leeway included.
	until time.Time
	// keys is the set that verified the token. When there is another set, the token must be
	// verified again.
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
