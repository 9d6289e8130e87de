package pass

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/openqueue/waitingroom/internal/serve/keyset"
)

// algorithms are those that sign passes.
var algorithms = []string{"EdDSA", "ES256", "RS256"}

// How the keys are kept fresh.
const (
	// renewAfter is the least time between the beginnings of two renewals: invented keys
	// must not become a flood to the room.
	renewAfter = time.Minute
	// renewEvery is what the room's Cache-Control allows: in so long a key that was
	// withdrawn is no more.
	renewEvery = 5 * time.Minute
	// patience is how long a request waits for a renewal, if it must.
	patience = 2 * time.Second
)

// openKeys reads a file before it returns, and a URL in the background.
func openKeys(ctx context.Context, o Options) (*keyset.Set, error) {
	keys, err := keyset.New(ctx, keyset.Options{
		Place: o.KeySet, Plain: true, Every: renewEvery, Least: renewAfter, HTTP: o.HTTP, Logger: o.Logger,
		Usable: func(k keyset.Key) bool {
			return k.ID != "" && slices.ContainsFunc(k.Algorithms, func(a string) bool { return slices.Contains(algorithms, a) })
		},
	})
	if err == nil {
		keys.Start(ctx)
	}
	return keys, err
}

// find returns what verifies with a key. One that is not known is looked for only if unknown returns nil, for as long as patience.
// The error wraps ErrInvalid if there is no such key, and ErrUnverified if nobody knows.
func find(ctx context.Context, keys *keyset.Set, id, algorithm string, unknown func() error) (any, error) {
	if id == "" {
		return nil, fmt.Errorf("%w: no kid", ErrInvalid)
	}
	verifier, known := keys.Find(id, algorithm)
	if !known {
		if err := unknown(); err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		err := keys.Renew(ctx)
		if verifier, known = keys.Find(id, algorithm); !known && err != nil {
			return nil, fmt.Errorf("%w: the key set could not be fetched: %w", ErrUnverified, err)
		}
	}
	if verifier == nil {
		return nil, fmt.Errorf("%w: the key set has no key %q for %s", ErrInvalid, id, algorithm)
	}
	return verifier, nil
}
