package identity

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// How the keys are kept fresh.
const (
	// refreshEvery is how long a change of a file, or of the key set behind a URL,
	// takes to be in force. Who rotates keys publishes the new one well before.
	refreshEvery = time.Minute
	// refetchAfter is how soon after the last time a token with a new key has the
	// set fetched again: invented keys must not become a flood to who signs.
	refetchAfter = 15 * time.Second
	// fetchTimeout bounds one fetch.
	fetchTimeout = 10 * time.Second
)

var errNotTLS = errors.New("the key set was moved to where TLS does not protect it")

// onlyTLS follows redirections to https only, and not for ever.
func onlyTLS(r *http.Request, via []*http.Request) error {
	if r.URL.Scheme != "https" || len(via) > 5 {
		return errNotTLS
	}
	return nil
}

// Start keeps the keys fresh, until Stop or until ctx ends.
func (f *Finder) Start(ctx context.Context) {
	ctx, f.stop = context.WithCancel(ctx)
	if f.options.JWKS == "" && f.apiKeyFile == "" {
		return
	}
	f.running.Go(func() { f.run(ctx) })
}

// Stop ends what Start began, and waits for it.
func (f *Finder) Stop() {
	if f.stop != nil {
		f.stop()
	}
	f.running.Wait()
}

func (f *Finder) run(ctx context.Context) {
	due := time.NewTimer(0)
	defer due.Stop()
	var latest time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-due.C:
		case <-f.missed:
			// A nudge comes early at most so often; until then it waits its turn.
			if wait := refetchAfter - time.Since(latest); wait > 0 {
				due.Reset(wait)
				continue
			}
		}
		f.refresh(ctx)
		latest = time.Now()
		if f.options.JWKS != "" && f.keys.Load() == nil {
			due.Reset(refetchAfter) // who signs may have been away when this server started
		} else {
			due.Reset(refreshEvery)
		}
	}
}

// missKey has the key set fetched soon.
func (f *Finder) missKey() {
	select {
	case f.missed <- struct{}{}:
	default: // it has been told
	}
}

// refresh reads everything anew. What cannot be read stays as it is.
func (f *Finder) refresh(ctx context.Context) {
	if err := f.readFiles(); err != nil {
		f.options.Logger.WarnContext(ctx, "keys could not be read anew: those read before stay in force", "error", err)
	}
	if f.keySetURL == "" {
		return
	}
	text, err := f.fetch(ctx)
	if err == nil {
		err = f.useKeySet(text)
	}
	if err != nil && ctx.Err() == nil {
		f.options.Logger.WarnContext(ctx, "the key set could not be fetched: tokens are checked with the keys fetched before, if any",
			"url", f.keySetURL, "error", err)
	}
}

// readFiles reads the key set and the API keys, where they are in files.
func (f *Finder) readFiles() error {
	return errors.Join(readFile(f.keySetFile, maxKeySet, ErrKeySet, f.useKeySet),
		readFile(f.apiKeyFile, maxKeyFile, ErrAPIKeys, f.useAPIKeys))
}

func (f *Finder) useAPIKeys(text []byte) error {
	keys, err := parseAPIKeys(text)
	if err == nil {
		f.apiKeys.Store(&keys)
	}
	return err
}

func (f *Finder) useKeySet(text []byte) error {
	keys, skipped, err := parseKeySet(text, f.keySetURL == "")
	if err != nil {
		return err
	}
	f.keys.Store(&keys)
	if said := fmt.Sprint(skipped); skipped != nil && said != f.skipped {
		f.skipped = said // once, not every minute
		f.options.Logger.Warn("keys of the key set cannot be used: tokens that they sign do not count", "key_set", f.options.JWKS, "error", skipped)
	}
	return nil
}

func (f *Finder) fetch(ctx context.Context) (_ []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.keySetURL, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/jwk-set+json, application/json")
	res, err := f.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the answer was %s", res.Status)
	}
	return readAll(res.Body, maxKeySet)
}

// readFile has the content of a file used, if it has a name. Its error wraps the one given.
func readFile(name string, most int64, wrapped error, use func([]byte) error) (err error) {
	if name == "" {
		return nil
	}
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("%w: %w", wrapped, err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	text, err := readAll(file, most)
	if err != nil {
		return fmt.Errorf("%w: %w", wrapped, err)
	}
	return use(text)
}

func readAll(r io.Reader, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("more than %d bytes", most)
	}
	return text, err
}
