package pass

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/openqueue/waitingroom/internal/serve/keyset"
)

// DefaultIssuer is who signs where the operator of the room has set nothing else.
const DefaultIssuer = "waitingroom"

// MaxLeeway is the most that clocks may differ by.
const MaxLeeway = time.Minute

// maxPass bounds a pass, in bytes: those that are made have at most 2048.
const maxPass = 4096

// Errors of Open and Verify. Compare with errors.Is.
var (
	// ErrOptions: the options cannot be used. It is wrapped by Open's errors only.
	ErrOptions = errors.New("pass: unusable options")
	// ErrMissing: there is no pass.
	ErrMissing = errors.New("pass: missing")
	// ErrInvalid: it is no pass, not of this zone or issuer, or not signed by a key of the set.
	ErrInvalid = errors.New("pass: invalid")
	// ErrExpired: its time is over.
	ErrExpired = errors.New("pass: expired")
	// ErrUsed: it has been used before, and Options.Once takes each once.
	ErrUsed = errors.New("pass: used before")
	// ErrUnverified: nobody can say now whether it is good. The key set could not be
	// fetched, or Options.Once could not be asked. Try again in a while.
	ErrUnverified = errors.New("pass: cannot be verified now")
)

// Options of Open. Only KeySet is required.
type Options struct {
	// KeySet is where the room's public keys are: /.well-known/jwks.json below its address,
	// or a file with the same. A URL should be https: whoever can change the keys on their
	// way can sign passes.
	KeySet string
	// Issuer is what the room's QUEUE_PASS_ISSUER says. Empty: DefaultIssuer.
	Issuer string
	// Leeway is how long after its exp a pass is still good, for clocks that differ: at
	// most MaxLeeway.
	Leeway time.Duration
	// Once remembers each pass that was good, so that it is good once. Nil: a pass is good
	// until it expires. See InMemory.
	Once Once
	// HTTP fetches the key set, and makes the calls of Inside. Nil: http.DefaultClient.
	HTTP *http.Client
	// Logger is told when the key set cannot be fetched. Nil: nobody is.
	Logger *slog.Logger
}

// Pass is the proof that a visitor was admitted.
type Pass struct {
	// Zone is the line in which the visitor stood.
	Zone string
	// Visitor is the visitor's id within the zone.
	Visitor string
	// ID names the admission: it is the same in every copy of the pass, and in no other.
	ID string
	// AdmittedAt is in whole milliseconds, ExpiresAt in whole seconds.
	AdmittedAt, ExpiresAt time.Time
	// Local: a server of the room admitted by itself, while the room's store was away.
	Local bool
}

// claims are what a pass says.
type claims struct {
	Zone string `json:"zone"`
	// Audience is one string, not the list of RegisteredClaims.
	Audience string `json:"aud"`
	Local    bool   `json:"local"`
	// AdmittedAt is in Unix milliseconds. IssuedAt is earlier, for verifiers whose clock is behind.
	AdmittedAt int64 `json:"admittedAt"`
	jwt.RegisteredClaims
}

// Verifier verifies passes. Its methods may be called from any goroutine.
type Verifier struct {
	keys      *keyset.Set
	parser    *jwt.Parser
	validator *jwt.Validator
	once      Once
	leeway    time.Duration
	http      *http.Client
}

// Open returns a verifier, which is to be closed. It does not wait for a key set behind a
// URL; a file is read at once. An error wraps ErrOptions.
func Open(ctx context.Context, o Options) (*Verifier, error) {
	if o.Leeway < 0 || o.Leeway > MaxLeeway {
		return nil, fmt.Errorf("%w: a leeway of %v is not between 0 and %v", ErrOptions, o.Leeway, MaxLeeway)
	}
	keys, err := openKeys(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	rules := []jwt.ParserOption{
		jwt.WithValidMethods(algorithms),
		jwt.WithStrictDecoding(),
		jwt.WithLeeway(o.Leeway),
		jwt.WithExpirationRequired(),
		jwt.WithIssuer(cmp.Or(o.Issuer, DefaultIssuer)),
	}
	return &Verifier{
		keys: keys, parser: jwt.NewParser(rules...), validator: jwt.NewValidator(rules...), once: o.Once, leeway: o.Leeway,
		http: cmp.Or(o.HTTP, http.DefaultClient),
	}, nil
}

// Close ends what Open began. It is to be called when no more passes come.
func (v *Verifier) Close() { v.keys.Stop() }

// Verify returns what a pass of the zone says. Its errors wrap ErrMissing, ErrInvalid,
// ErrExpired, ErrUsed or ErrUnverified. It waits as the package says, at most until ctx ends.
func (v *Verifier) Verify(ctx context.Context, zone, pass string) (Pass, error) {
	if pass == "" {
		return Pass{}, ErrMissing
	}
	if len(pass) > maxPass || strings.ContainsAny(pass, "\r\n") { // base64 would skip them
		return Pass{}, fmt.Errorf("%w: too long, or with a line break", ErrInvalid)
	}
	var c claims
	_, err := v.parser.ParseWithClaims(pass, &c, func(t *jwt.Token) (any, error) { return v.key(ctx, t, &c, zone) })
	if err == nil {
		err = c.check(zone)
	}
	switch {
	case errors.Is(err, ErrUnverified), errors.Is(err, ErrInvalid):
		return Pass{}, err
	case errors.Is(err, jwt.ErrTokenExpired):
		return Pass{}, fmt.Errorf("%w: %w", ErrExpired, err)
	case err != nil:
		return Pass{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if v.once != nil {
		first, err := v.use(ctx, &c)
		switch {
		case err != nil:
			return Pass{}, fmt.Errorf("%w: %w", ErrUnverified, err)
		case !first:
			return Pass{}, ErrUsed
		}
	}
	return Pass{
		Zone: c.Zone, Visitor: c.Subject, ID: c.ID,
		AdmittedAt: time.UnixMilli(c.AdmittedAt), ExpiresAt: c.ExpiresAt.Time, Local: c.Local,
	}, nil
}

// use reports whether a pass is used for the first time. While the room's store is away, two of its servers may let one visitor in:
// so of a local pass the visitor is remembered, too, for as long as another such pass may be good.
func (v *Verifier) use(ctx context.Context, c *claims) (first bool, err error) {
	until := c.ExpiresAt.Add(v.leeway)
	first, err = v.once.Use(ctx, c.ID, until)
	if first && err == nil && c.Local {
		return v.once.Use(ctx, c.Zone+"/"+c.Subject, until.Add(c.ExpiresAt.Sub(time.UnixMilli(c.AdmittedAt))))
	}
	return first, err
}

// key finds the key that the header of a pass names. A key that is not known is looked for
// only if everything else is right: the wrong pass is refused anyhow.
func (v *Verifier) key(ctx context.Context, t *jwt.Token, c *claims, zone string) (any, error) {
	if _, critical := t.Header["crit"]; critical {
		return nil, fmt.Errorf("%w: an extension that must be understood, and is not", ErrInvalid)
	}
	id, _ := t.Header["kid"].(string)
	return find(ctx, v.keys, id, t.Method.Alg(), func() error {
		if err := v.validator.Validate(c); err != nil {
			return err
		}
		return c.check(zone)
	})
}

// check looks at the claims that every pass has, and that the parser does not look at.
func (c *claims) check(zone string) error {
	switch {
	case zone == "" || c.Zone != zone || c.Audience != zone:
		return fmt.Errorf("%w: of zone %q, for %q, not %q", ErrInvalid, c.Zone, c.Audience, zone)
	case c.ID == "" || c.Subject == "" || c.AdmittedAt == 0:
		return fmt.Errorf("%w: without jti, sub or admittedAt", ErrInvalid)
	}
	return nil
}
