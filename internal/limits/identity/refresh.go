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
	if f.keys != nil {
		f.keys.Start(ctx)
	}
	if f.apiKeyFile != "" {
		f.running.Start(ctx, background.Every(refreshEvery, f.refreshAPIKeys))
	}
}

// Stop ends what Start began, and waits for it.
func (f *Finder) Stop() {
	if f.keys != nil {
		f.keys.Stop()
	}
	f.running.Stop()
}

// refreshAPIKeys reads the list again. If it cannot be read, the former stays in force.
func (f *Finder) refreshAPIKeys(ctx context.Context) {
	if err := f.readAPIKeys(); err != nil {
		f.options.Logger.WarnContext(ctx, "API keys could not be read anew: those read before stay in force", "error", err)
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
