package identity

import (
	"cmp"
	"context"
	"errors"
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

// The claims that are looked at, unless the operator names others.
const (
	DefaultClaim     = "sub"
	DefaultTierClaim = "tier"
)

// ErrKeySet is wrapped by what is wrong with a key set.
var ErrKeySet = keyset.ErrKeySet

// Identity is who asks.
type Identity struct {
	// Key counts the request: "member:<claim>", "apikey:<hash>", "ip:<address>".
	Key string
	// Tier is "" where nothing names one.
	Tier string
}

// FinderOptions configure New. Only Address is required.
type FinderOptions struct {
	// Address finds the client's address: see address.Finder.
	Address func(*http.Request) string
	// APIKeys is the file of the API keys that are known, or AnyAPIKey. Empty: none is.
	APIKeys string
	// JWKS is the key set that signs tokens: a file, which may have shared secrets, or
	// an https URL. Empty: no token is looked at.
	JWKS string
	// Issuer and Audience are what iss must be and aud must have. Empty: not checked.
	Issuer, Audience string
	// Claim names the client, TierClaim the tier. Empty: DefaultClaim, DefaultTierClaim.
	Claim, TierClaim string
	// HTTP fetches the key set; nil: a client that trusts this machine's authorities.
	HTTP *http.Client
	// Now is the clock that exp and nbf are compared with; nil: time.Now.
	Now func() time.Time
	// Logger is told when a key set or a list cannot be read anew. Nil: nothing is told.
	Logger *slog.Logger
}

// Finder finds out who asks. It may be used by many goroutines.
type Finder struct {
	options FinderOptions
	parser  *jwt.Parser
	// keySet is where the keys of tokens are, and apiKeyFile the list of API keys: nil and "" where there is none.
	keySet     *keyset.Source
	apiKeyFile string

	apiKeys atomic.Pointer[apiKeys]
	keys    atomic.Pointer[[]keyset.Key]
	// skipped is what was last said of keys that cannot be used.
	skipped string
	proven  proven
	// missed is told of a key that is not in the set.
	missed chan struct{}

	running background.Group
}

// New returns a finder. A file that cannot be read is an error, which wraps
// ErrKeySet or ErrAPIKeys; a URL is first fetched by Start, and until that has
// succeeded no token counts.
func New(o FinderOptions) (*Finder, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Claim, o.TierClaim = cmp.Or(o.Claim, DefaultClaim), cmp.Or(o.TierClaim, DefaultTierClaim)
	f := &Finder{options: o, parser: newParser(o), missed: make(chan struct{}, 1)}
	if o.JWKS != "" {
		set, err := keyset.NewSource(o.JWKS, o.HTTP)
		if err != nil {
			return nil, err
		}
		f.keySet = &set
	}
	if o.APIKeys != AnyAPIKey {
		f.apiKeyFile = o.APIKeys
	}
	err := f.readAPIKeys()
	if f.keySet != nil && !f.keySet.Remote() {
		err = errors.Join(err, f.readKeySet(context.Background()))
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Find returns who asks: by the first of the sources that the request has, else
// by its address. Nothing that it reads of the request is trusted before it is
// proven: see the package.
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
