package pass

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openqueue/waitingroom/internal/serve/keyset"
)

// algorithm is the only one that signs passes.
const algorithm = "EdDSA"

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

var errNoPassKey = errors.New("it has no key for EdDSA with a kid")

// keyCache keeps the room's public keys.
type keyCache struct {
	source keyset.Source
	log    *slog.Logger
	keys   atomic.Pointer[map[string]ed25519.PublicKey] // by kid

	// start begins a goroutine that ends with the cache; false: the cache has ended.
	start   func(func(context.Context)) bool
	stop    func()
	mu      sync.Mutex // of latest and start
	latest  *renewal
	running sync.WaitGroup
}

// renewal is one fetch of the key set.
type renewal struct {
	begun time.Time
	done  chan struct{} // closed at the end
	err   error         // written before done is closed
}

func openKeys(ctx context.Context, o Options) (*keyCache, error) {
	source, err := keyset.NewSource(o.KeySet, o.HTTP, "http")
	if err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	ctx, stop := context.WithCancel(ctx)
	k := &keyCache{source: source, log: o.Logger, stop: stop}
	k.start = func(run func(context.Context)) bool {
		if ctx.Err() != nil {
			return false
		}
		k.running.Go(func() { run(ctx) })
		return true
	}
	first := k.renew()
	if !source.Remote() {
		if <-first.done; first.err != nil {
			k.close()
			return nil, first.err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.start(k.run)
	return k, nil
}

// close ends all goroutines, and waits for them.
func (k *keyCache) close() {
	k.mu.Lock()
	k.stop() // none begins from now on
	k.mu.Unlock()
	k.running.Wait()
}

// run renews the keys every now and then, sooner if that has failed.
func (k *keyCache) run(ctx context.Context) {
	for {
		r := k.renew()
		<-r.done
		pause := renewEvery
		if r.err != nil {
			pause = renewAfter
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

func (k *keyCache) known(id string) (ed25519.PublicKey, bool) {
	keys := k.keys.Load()
	if keys == nil {
		return nil, false
	}
	key, known := (*keys)[id]
	return key, known
}

// find waits for a renewal, and returns the key that it has brought. The error wraps
// ErrInvalid if there is no such key, and ErrUnverified if nobody knows.
func (k *keyCache) find(ctx context.Context, id string) (ed25519.PublicKey, error) {
	r := k.renew()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-r.done:
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: the key set is being fetched: %w", ErrUnverified, ctx.Err())
	}
	if key, known := k.known(id); known {
		return key, nil
	}
	if r.err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnverified, r.err)
	}
	return nil, fmt.Errorf("%w: the key set has no key %q", ErrInvalid, id)
}

// renew returns the renewal that is under way or is less than a minute old, or else begins
// one.
func (k *keyCache) renew() *renewal {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	if r := k.latest; r != nil && (!r.ended() || now.Sub(r.begun) < renewAfter) {
		return r
	}
	r := &renewal{begun: now, done: make(chan struct{})}
	if !k.start(func(ctx context.Context) { k.fetch(ctx, r) }) {
		r.err = context.Canceled
		close(r.done)
	}
	k.latest = r
	return r
}

func (r *renewal) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// fetch puts the keys of the set into force. Those before stay if it cannot be read.
func (k *keyCache) fetch(ctx context.Context, r *renewal) {
	defer close(r.done)
	all, skipped, err := k.source.Read(ctx, false)
	keys := make(map[string]ed25519.PublicKey, len(all))
	for _, key := range all {
		if public, ok := key.Verifier.(ed25519.PublicKey); ok && key.ID != "" && slices.Contains(key.Algorithms, algorithm) {
			keys[key.ID] = public
		}
	}
	if err == nil && len(keys) == 0 {
		err = errors.Join(errNoPassKey, skipped)
	}
	if err == nil {
		k.keys.Store(&keys)
	} else if r.err = err; ctx.Err() == nil {
		k.log.WarnContext(ctx, "the key set could not be fetched: passes are verified with the keys fetched before, if any", "error", err)
	}
}
