package identity

import (
	"context"
	"fmt"
	"time"

	"github.com/openqueue/waitingroom/internal/serve/background"
	"github.com/openqueue/waitingroom/internal/serve/keyset"
)

// refreshEvery is how long a change of a file, or of the key set behind a URL, takes at most to be in force. An issuer publishes a
// new key before it signs with it.
const refreshEvery = 15 * time.Second

// Start keeps the keys fresh, until Stop.
func (f *Finder) Start(ctx context.Context) {
	if f.options.JWKS == "" && f.apiKeyFile == "" {
		return
	}
	f.running.Start(ctx, func(ctx context.Context) {
		f.refresh(ctx)
		background.Every(refreshEvery, f.refresh)(ctx)
	})
}

// Stop ends what Start began, and waits for it.
func (f *Finder) Stop() { f.running.Stop() }

// refresh reads the list and the key set again. If one cannot be read, the former stays in
// force.
func (f *Finder) refresh(ctx context.Context) {
	if err := f.readAPIKeys(); err != nil {
		f.options.Logger.WarnContext(ctx, "API keys could not be read anew: those read before stay in force", "error", err)
	}
	if f.keySet == nil {
		return
	}
	if err := f.readKeySet(ctx); err != nil && ctx.Err() == nil {
		f.options.Logger.WarnContext(ctx, "the key set could not be read anew: tokens are checked with the keys read before, if any",
			"key_set", f.options.JWKS, "error", err)
	}
}

// readAPIKeys reads the list of API keys, if there is one.
func (f *Finder) readAPIKeys() error {
	if f.apiKeyFile == "" {
		return nil
	}
	text, err := keyset.ReadFile(f.apiKeyFile, maxKeyFile)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrAPIKeys, err)
	}
	keys, err := parseAPIKeys(text)
	if err == nil {
		f.apiKeys.Store(&keys)
	}
	return err
}

func (f *Finder) readKeySet(ctx context.Context) error {
	keys, skipped, err := f.keySet.Read(ctx, true)
	if err != nil {
		return err
	}
	f.keys.Store(&keys)
	if said := fmt.Sprint(skipped); skipped != nil && said != f.skipped {
		f.skipped = said // so that it is logged once, not each time
		f.options.Logger.Warn("keys of the key set cannot be used: tokens that they sign do not count", "key_set", f.options.JWKS, "error", skipped)
	}
	return nil
}
