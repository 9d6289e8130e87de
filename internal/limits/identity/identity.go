package identity

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/openqueue/waitingroom/internal/limits/address"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/serve/background"
	"github.com/openqueue/waitingroom/internal/serve/keyset"
)

// The claims that are read, unless the operator names others.
const (
	DefaultClaim     = "sub"
	DefaultTierClaim = "tier"
)

// Identity is the client that a request comes from.
type Identity struct {
	// Key counts the request: "member:<claim>", "apikey:<hash>", "ip:<address>".
	Key string
	// Tier is "" if nothing names one.
	Tier string
}

// FinderOptions configure New. Only Address is required.
type FinderOptions struct {
	// Address finds the client's address: see address.Finder.
	Address func(*http.Request) string
	// APIKeys is the file of the known API keys, or AnyAPIKey. Empty: no API key counts.
	APIKeys string
	// JWKS is the key set that verifies tokens: a file, which may have shared secrets, or
	// an https URL. Empty: no token counts.
	JWKS string
	// Issuer is what the claim iss must be, Audience what aud must contain. Empty: not
	// checked.
	Issuer, Audience string
	// Claim is the claim that names the client, TierClaim the one that names the tier. They
	// default to DefaultClaim and DefaultTierClaim.
	Claim, TierClaim string
	// HTTP fetches the key set. It defaults to a client that trusts this machine's
	// certificate authorities.
	HTTP *http.Client
	// Now is the clock that exp and nbf are compared with. It defaults to time.Now.
	Now func() time.Time
	// Logger gets an entry when a key set or a list cannot be read again. It defaults to one
	// that discards.
	Logger *slog.Logger
}

// Finder finds the identity of requests. It may be used by many goroutines.
type Finder struct {
	options FinderOptions
	parser  *jwt.Parser
	// keys verify tokens; nil for none. apiKeyFile is the list of API keys; "" for none.
	keys       *keyset.Set
	apiKeyFile string
	apiKeys    atomic.Pointer[apiKeys]
	running    background.Group
}

// New returns a finder. It reads the files. One that cannot be read is an error that wraps
// keyset.ErrKeySet or ErrAPIKeys. Start fetches a URL; no token counts until that has succeeded
// once.
func New(o FinderOptions) (*Finder, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Claim, o.TierClaim = cmp.Or(o.Claim, DefaultClaim), cmp.Or(o.TierClaim, DefaultTierClaim)
	f := &Finder{options: o, parser: newParser(o)}
	f.apiKeys.Store(&apiKeys{})
	if o.APIKeys != AnyAPIKey {
		f.apiKeyFile = o.APIKeys
	}
	err := f.readAPIKeys()
	if o.JWKS != "" && err == nil {
		f.keys, err = keyset.New(context.Background(), keyset.Options{Place: o.JWKS, Secrets: true, Every: refreshEvery, Least: refreshEvery, HTTP: o.HTTP, Logger: o.Logger})
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Find returns the identity of a request: by the first of the sources that the request has,
// else by its address. Only what is proven counts: see the package.
func (f *Finder) Find(r *http.Request, sources []limit.Source) Identity {
	for _, source := range sources {
		switch source {
		case limit.SourceJWT:
			if found, ok := f.byToken(r); ok {
				return found
			}
		case limit.SourceAPIKey:
			if found, ok := f.byAPIKey(r); ok {
				return found
			}
		case limit.SourceIP:
			return f.byAddress(r)
		}
	}
	return f.byAddress(r)
}

func (f *Finder) byAddress(r *http.Request) Identity {
	return Identity{Key: address.Key(f.options.Address(r))}
}
