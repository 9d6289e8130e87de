package identity

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/golang-jwt/jwt/v5"

	"github.com/openqueue/waitingroom/internal/limits/limit"
)

// Bounds of tokens.
const (
	// maxToken is the longest token in bytes. Most servers refuse a header with more.
	maxToken = 8 << 10
	// maxMember is the longest claim that names a client, in bytes: a limiter takes keys of 256.
	maxMember = 200
	// leeway is how far the issuer's clock may be off.
	leeway = 30 * time.Second
)

// algorithms are all algorithms that a token may name. Its key must be for the one it names.
var algorithms = []string{
	"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
	"HS256", "HS384", "HS512",
}

var (
	errKeyUnknown = errors.New("no such key")
	errCritical   = errors.New("an extension that must be understood, and is not")
)

// byToken returns the identity that a bearer token names, if the token verifies.
func (f *Finder) byToken(r *http.Request) (Identity, bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || strings.ContainsAny(token, "\r\n") {
		return Identity{}, false
	}
	claims, err := f.Claims(token)
	if err != nil {
		return Identity{}, false
	}
	member := text(claims[f.options.Claim])
	if member == "" || len(member) > maxMember {
		return Identity{}, false
	}
	tier := text(claims[f.options.TierClaim])
	if !limit.ValidName(tier) {
		tier = ""
	}
	return Identity{Key: "member:" + member, Tier: tier}, true
}

// Claims returns the claims of a token that a key of the set has signed, and whose exp, nbf,
// iss and aud are good. It is for callers that need more than an Identity. The errors are
// those of package jwt, such as jwt.ErrTokenExpired.
func (f *Finder) Claims(token string) (jwt.MapClaims, error) {
	if f.keys == nil || len(token) > maxToken {
		return nil, jwt.ErrTokenUnverifiable
	}
	claims := jwt.MapClaims{}
	_, err := f.parser.ParseWithClaims(token, claims, f.key)
	if err != nil {
		return claims, err
	}
	// encoding/json takes the last of two claims of one name, and half a surrogate pair for U+FFFD: two clients as one.
	payload, err := f.parser.DecodeSegment(strings.Split(token, ".")[1])
	if err == nil && !jsontext.Value(payload).IsValid() {
		err = jwt.ErrTokenMalformed
	}
	return claims, err
}

// key returns the key that a token names. A token that names none is verified with the only
// key of the set.
func (f *Finder) key(t *jwt.Token) (any, error) {
	if _, critical := t.Header["crit"]; critical {
		return nil, errCritical
	}
	id, _ := t.Header["kid"].(string)
	if key, _ := f.keys.Find(id, t.Method.Alg()); key != nil {
		return key, nil
	}
	return nil, errKeyUnknown
}

// text returns a claim that is a string or a number as text, else "".
func text(claim any) string {
	switch v := claim.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

func newParser(o FinderOptions) *jwt.Parser {
	options := []jwt.ParserOption{
		jwt.WithValidMethods(algorithms),
		jwt.WithTimeFunc(o.Now),
		jwt.WithLeeway(leeway),
		jwt.WithExpirationRequired(),
		jwt.WithStrictDecoding(),
		jwt.WithJSONNumber(),
	}
	if o.Issuer != "" {
		options = append(options, jwt.WithIssuer(o.Issuer))
	}
	if o.Audience != "" {
		options = append(options, jwt.WithAudience(o.Audience))
	}
	return jwt.NewParser(options...)
}
