package pass

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/openqueue/waitingroom/internal/serve/background"
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

var errNoPassKey = errors.New("it has no key for EdDSA, ES256 or RS256 with a kid")

// keyCache keeps the room's public keys.
type keyCache struct {
	source keyset.Source
	log    *slog.Logger
	keys   atomic.Pointer[map[string]keyset.Key] // by kid

	group  background.Group
	shared background.Shared
	stop   context.CancelFunc
	// renew reads the set, unless that was done within a minute, and returns what has
	// come of it. It is called through shared alone, one at a time.
	renew func(context.Context) error
}

// openKeys reads a file before it returns, and a URL in the background.
func openKeys(ctx context.Context, o Options) (*keyCache, error) {
	source, err := keyset.NewSource(o.KeySet, o.HTTP, "http")
	if err != nil {
		return nil, err
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	// A renewal ends at close, and not with the request that has asked for it.
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	k := &keyCache{source: source, log: o.Logger, stop: stop}
	var begun time.Time
	var latest error
	k.renew = func(context.Context) error {
		if now := time.Now(); begun.IsZero() || now.Sub(begun) >= renewAfter {
			begun, latest = now, k.fetch(ctx)
		}
		return latest
	}
	if !source.Remote() {
		if err := k.wait(ctx); err != nil {
			k.close()
			return nil, err
		}
	}
	k.group.Start(ctx, k.run)
	return k, nil
}

// close ends all goroutines, and waits for them.
func (k *keyCache) close() {
	k.stop()
	k.group.Stop()
}

// wait renews the keys, or waits for the renewal that is under way.
func (k *keyCache) wait(ctx context.Context) error {
	return k.shared.Do(ctx, &k.group, "", renewAfter, k.renew)
}

// run renews the keys every now and then, sooner if that has failed.
func (k *keyCache) run(ctx context.Context) {
	for {
		pause := renewEvery
		if err := k.wait(ctx); err != nil {
			pause = renewAfter
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

func (k *keyCache) known(id string) (keyset.Key, bool) {
	keys := k.keys.Load()
	if keys == nil {
		return keyset.Key{}, false
	}
	key, known := (*keys)[id]
	return key, known
}

// find waits for a renewal, and returns the key that it has brought. The error wraps
// ErrInvalid if there is no such key, and ErrUnverified if nobody knows.
func (k *keyCache) find(ctx context.Context, id string) (keyset.Key, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := k.wait(ctx)
	if key, known := k.known(id); known {
		return key, nil
	}
	if err != nil {
		return keyset.Key{}, fmt.Errorf("%w: the key set could not be fetched: %w", ErrUnverified, err)
	}
	return keyset.Key{}, fmt.Errorf("%w: the key set has no key %q", ErrInvalid, id)
}

// fetch puts the keys of the set into force. Those before stay if it cannot be read.
func (k *keyCache) fetch(ctx context.Context) error {
	all, skipped, err := k.source.Read(ctx, false)
	keys := make(map[string]keyset.Key, len(all))
	for _, key := range all {
		if key.ID != "" && slices.ContainsFunc(key.Algorithms, func(a string) bool { return slices.Contains(algorithms, a) }) {
			keys[key.ID] = key
		}
	}
	if err == nil && len(keys) == 0 {
		err = errors.Join(errNoPassKey, skipped)
	}
	if err == nil {
		k.keys.Store(&keys)
	} else if ctx.Err() == nil {
		k.log.WarnContext(ctx, "the key set could not be fetched: passes are verified with the keys fetched before, if any", "error", err)
	}
	return err
}
