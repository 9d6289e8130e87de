package identity

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/openqueue/waitingroom/internal/limits/address"
	"github.com/openqueue/waitingroom/internal/limits/limit"
)

// The claims that are looked at, unless the operator names others.
const (
	DefaultClaim     = "sub"
	DefaultTierClaim = "tier"
)

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
	// keySetFile or keySetURL is the key set, http fetches the latter. All three are ""
	// where there is none.
	keySetFile, keySetURL, apiKeyFile string

	http    *http.Client
	apiKeys atomic.Pointer[apiKeys]
	keys    atomic.Pointer[[]verifyKey]
	// skipped is what was last said of keys that cannot be used.
	skipped string
	proven  proven
	// missed is told of a key that is not in the set.
	missed chan struct{}

	stop    func()
	running sync.WaitGroup
}

// New returns a finder. A file that cannot be read is an error, which wraps
// ErrKeySet or ErrAPIKeys; a URL is first fetched by Start, and until that has
// succeeded no token counts.
func New(o FinderOptions) (*Finder, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.HTTP == nil {
		o.HTTP = &http.Client{}
	}
	o.Claim, o.TierClaim = cmp.Or(o.Claim, DefaultClaim), cmp.Or(o.TierClaim, DefaultTierClaim)
	client := *o.HTTP
	client.Timeout, client.CheckRedirect = fetchTimeout, onlyTLS
	f := &Finder{options: o, parser: newParser(o), http: &client, missed: make(chan struct{}, 1)}
	switch {
	case strings.HasPrefix(o.JWKS, "https://"):
		f.keySetURL = o.JWKS
	case strings.Contains(o.JWKS, "://"):
		return nil, fmt.Errorf("%w: %q is no https URL: others could change the keys on their way", ErrKeySet, o.JWKS)
	default:
		f.keySetFile = o.JWKS
	}
	if o.APIKeys != AnyAPIKey {
		f.apiKeyFile = o.APIKeys
	}
	if err := f.readFiles(); err != nil {
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
