package keyset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openqueue/waitingroom/internal/serve/background"
)

// fetchTimeout bounds one fetch.
const fetchTimeout = 10 * time.Second

var errNotTLS = errors.New("the key set was moved to where TLS does not protect it")

// Options configure a Set. Place, Every and Least are required.
type Options struct {
	// Place is the name of a file, or a URL: https, or http too if Plain is true.
	Place string
	Plain bool
	// Secrets has shared secrets and private keys of a file verify, too: see Parse. Those behind a URL never do.
	Secrets bool
	// Usable chooses among the keys; nil takes all. A set without a usable key does not replace the keys read before.
	Usable func(Key) bool
	// Every is the time from one reading to the next. Least is that after a reading that failed, and the least time
	// between the beginnings of two readings, whoever asks for them.
	Every, Least time.Duration
	// HTTP fetches a URL, within 10 s, and follows redirections to https only. It defaults to a client that trusts
	// this machine's certificate authorities.
	HTTP *http.Client
	// Logger is told when the set cannot be read again, and once of keys that cannot be used. It defaults to one that discards.
	Logger *slog.Logger
}

// Set keeps the keys of one place. It may be used by many goroutines.
type Set struct {
	options Options
	client  *http.Client // nil for a file
	keys    atomic.Pointer[[]Key]
	// skipped is the latest log entry about keys that cannot be used.
	skipped string

	group  background.Group
	shared background.Shared
	stop   context.CancelFunc
	// renew reads the set, unless that was done within options.Least, and returns what has come of the latest reading. It is
	// called through shared alone, one at a time.
	renew func(context.Context) error
}

// New returns a set. It reads a file before it returns; Start fetches a URL, and there are no keys until then. The error wraps
// ErrKeySet: the file cannot be used, or the URL is not https.
func New(ctx context.Context, o Options) (*Set, error) {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	s := &Set{options: o}
	// A reading ends at Stop, and not with the request that has asked for it.
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	var begun time.Time
	var latest error
	if scheme, _, remote := strings.Cut(o.Place, "://"); !remote {
		begun = time.Now()
		if err := s.read(ctx); err != nil {
			stop()
			return nil, err
		}
	} else if scheme != "https" && (scheme != "http" || !o.Plain) {
		stop()
		return nil, fmt.Errorf("%w: %q is no https URL: others could change the keys on their way", ErrKeySet, o.Place)
	} else {
		own := *cmp.Or(o.HTTP, &http.Client{})
		own.Timeout, own.CheckRedirect = fetchTimeout, onlyTLS
		s.client = &own
	}
	s.renew = func(context.Context) error {
		if now := time.Now(); begun.IsZero() || now.Sub(begun) >= o.Least {
			begun, latest = now, s.read(ctx)
			if latest != nil && ctx.Err() == nil {
				o.Logger.WarnContext(ctx, "the key set could not be read: signatures are verified with the keys read before, if any", "key_set", o.Place, "error", latest)
			}
		}
		return latest
	}
	return s, nil
}

// Start keeps the keys fresh, until Stop.
func (s *Set) Start(ctx context.Context) {
	s.group.Start(ctx, func(ctx context.Context) {
		for {
			pause := s.options.Every
			if err := s.Renew(ctx); err != nil {
				pause = s.options.Least
			}
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return
			}
		}
	})
}

// Stop ends what Start and Renew began, and waits for it. It may be called more than once. Keys that were read stay in force.
func (s *Set) Stop() {
	s.stop()
	s.group.Stop()
}

// Renew has the set read again, unless that was begun within Options.Least, or waits for the reading that is under way. It returns
// the error of the latest reading, which wraps ErrKeySet, or why ctx ended.
func (s *Set) Renew(ctx context.Context) error {
	return s.shared.Do(ctx, &s.group, "", fetchTimeout, s.renew)
}

// Find returns what verifies a signature by the key with this ID, and nil if that key is not for the algorithm. known is false
// if there is no such key. No ID, "", stands for the only key of a set.
func (s *Set) Find(id, algorithm string) (verifier any, known bool) {
	keys := s.keys.Load()
	if keys == nil {
		return nil, false
	}
	for _, k := range *keys {
		if k.ID == id || id == "" && len(*keys) == 1 {
			known = true
			if slices.Contains(k.Algorithms, algorithm) {
				return k.Verifier, true
			}
		}
	}
	return nil, known
}

// read puts the keys of the set into force. Those before stay if it cannot be read.
func (s *Set) read(ctx context.Context) error {
	var text []byte
	var err error
	if s.client != nil {
		text, err = s.fetch(ctx)
	} else {
		text, err = ReadFile(s.options.Place, maxBytes)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrKeySet, err)
	}
	keys, skipped, err := Parse(text, s.options.Secrets && s.client == nil)
	if err != nil {
		return err
	}
	if s.options.Usable != nil {
		keys = slices.DeleteFunc(keys, func(k Key) bool { return !s.options.Usable(k) })
	}
	if len(keys) == 0 {
		return errors.Join(fmt.Errorf("%w: none of its keys has a kid and an algorithm that are wanted here", ErrKeySet), skipped)
	}
	s.keys.Store(&keys)
	if said := fmt.Sprint(skipped); skipped != nil && said != s.skipped {
		s.skipped = said // so that it is logged once, not each time
		s.options.Logger.WarnContext(ctx, "keys of the key set cannot be used: what they sign does not count", "key_set", s.options.Place, "error", skipped)
	}
	return nil
}

func (s *Set) fetch(ctx context.Context) (_ []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.options.Place, http.NoBody)
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
