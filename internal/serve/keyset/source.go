package keyset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// fetchTimeout bounds one fetch.
const fetchTimeout = 10 * time.Second

var errNotTLS = errors.New("the key set was moved to where TLS does not protect it")

// Source is the place of a key set: a file or a URL. Make one with NewSource.
type Source struct {
	place  string
	client *http.Client // nil for a file
}

// NewSource returns the source for the name of a file or a URL. client, with a timeout of 10 s
// and redirections to https only, fetches the URL; nil stands for a client that trusts this
// machine's certificate authorities. A URL whose scheme is neither https nor one of schemes is
// an error that wraps ErrKeySet.
func NewSource(place string, client *http.Client, schemes ...string) (Source, error) {
	scheme, _, remote := strings.Cut(place, "://")
	if !remote {
		return Source{place: place}, nil
	}
	if scheme != "https" && !slices.Contains(schemes, scheme) {
		return Source{}, fmt.Errorf("%w: %q is no https URL: others could change the keys on their way", ErrKeySet, place)
	}
	var own http.Client
	if client != nil {
		own = *client
	}
	own.Timeout, own.CheckRedirect = fetchTimeout, onlyTLS
	return Source{place: place, client: &own}, nil
}

// Remote reports whether the set is behind a URL.
func (s Source) Remote() bool { return s.client != nil }

// Read reads the set, and returns what Parse returns. Shared secrets and private keys are used
// only if secrets is true and the set is in a file: a set that a URL serves is public.
func (s Source) Read(ctx context.Context, secrets bool) (keys []Key, skipped, err error) {
	var text []byte
	if s.Remote() {
		text, err = s.fetch(ctx)
	} else {
		text, err = ReadFile(s.place, maxBytes)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrKeySet, err)
	}
	return Parse(text, secrets && !s.Remote())
}

func (s Source) fetch(ctx context.Context) (_ []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.place, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/jwk-set+json, application/json")
	res, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the answer was %s", res.Status)
	}
	return readAll(res.Body, maxBytes)
}

// onlyTLS follows redirections to https only, and at most five of them.
func onlyTLS(r *http.Request, via []*http.Request) error {
	if r.URL.Scheme != "https" || len(via) > 5 {
		return errNotTLS
	}
	return nil
}

// ReadFile returns the contents of a file. A file of more than most bytes is an error.
func ReadFile(name string, most int64) (_ []byte, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return readAll(file, most)
}

func readAll(r io.Reader, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("more than %d bytes", most)
	}
	return text, err
}
