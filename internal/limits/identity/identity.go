package identity

import (
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
	address          func(*http.Request) string
	claim, tierClaim string
	parser           *jwt.Parser
	log              *slog.Logger
	now              func() time.Time

	anyAPIKey bool
	keyFile   string
	apiKeys   atomic.Pointer[apiKeys]

	keySet string
	isURL  bool
	http   *http.Client
	keys   atomic.Pointer[[]verifyKey]
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
	client := *o.HTTP
	client.Timeout, client.CheckRedirect = fetchTimeout, onlyTLS
	f := &Finder{
		address: o.Address, claim: o.Claim, tierClaim: o.TierClaim, parser: newParser(o), log: o.Logger, now: o.Now,
		anyAPIKey: o.APIKeys == AnyAPIKey, keySet: o.JWKS, isURL: strings.Contains(o.JWKS, "://"),
		http: &client, missed: make(chan struct{}, 1),
	}
	if f.claim == "" {
		f.claim = DefaultClaim
	}
	if f.tierClaim == "" {
		f.tierClaim = DefaultTierClaim
	}
	if !f.anyAPIKey {
		f.keyFile = o.APIKeys
	}
	if f.isURL && !strings.HasPrefix(o.JWKS, "https://") {
		return nil, fmt.Errorf("%w: %q is no https URL: others could change the keys on their way", ErrKeySet, o.JWKS)
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
		var c Identity
		found := false
		switch source {
		case limit.SourceJWT:
			c, found = f.byToken(r)
		case limit.SourceAPIKey:
			c, found = f.byAPIKey(r)
		case limit.SourceIP:
			return Identity{Key: address.Key(f.address(r))}
		}
		if found {
			return c
		}
	}
	return Identity{Key: address.Key(f.address(r))}
}
