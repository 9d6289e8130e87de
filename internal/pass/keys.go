package pass

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

// MinSecretBytes is the least length of a secret: that of the Ed25519 seed
// which is derived from it.
const MinSecretBytes = 32

// keyInfo tells the seed of the signing key from the secret's other uses.
const keyInfo = "openqueue/waitingroom/v1 pass key"

// DefaultIssuer is the iss of passes where the operator names no other.
const DefaultIssuer = "waitingroom"

// maxIssuer bounds an issuer, in bytes.
const maxIssuer = 256

// Errors of NewSigner. Compare with errors.Is.
var (
	ErrSecret = errors.New("pass: unusable secret")
	// ErrIssuer: the issuer is not 1 to 256 printable ASCII characters without spaces, quotes and backslashes; or it
	// has a colon and is no URI (RFC 7519, StringOrURI).
	ErrIssuer = errors.New("pass: unusable issuer")
)

// CheckIssuer returns an error that wraps ErrIssuer if the string cannot be an issuer.
func CheckIssuer(issuer string) error {
	odd := func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }
	if issuer == "" || len(issuer) > maxIssuer || strings.ContainsFunc(issuer, odd) {
		return fmt.Errorf("%w: %q is not 1 to %d printable characters without spaces, quotes and backslashes", ErrIssuer, issuer, maxIssuer)
	}
	if u, err := url.Parse(issuer); strings.Contains(issuer, ":") && (err != nil || u.Scheme == "") {
		return fmt.Errorf("%w: %q has a colon and is no URI; write https://queue.example", ErrIssuer, issuer)
	}
	return nil
}

// Signer issues and verifies passes. It may be used by many goroutines.
type Signer struct {
	issuer string
	newest ed25519.PrivateKey
	header map[string]any               // of every pass; never written to
	public map[string]ed25519.PublicKey // by kid
	jwks   []byte
}

// NewSigner returns the signer of an issuer. It derives the keys of one or more secrets, newest first, of at least
// MinSecretBytes each, as package secret reads them. A secret that is too short, or none at all, is an error that wraps
// ErrSecret. An unusable issuer is an error that wraps ErrIssuer. The secrets themselves are not kept.
func NewSigner(issuer string, secrets ...[]byte) (*Signer, error) {
	if err := CheckIssuer(issuer); err != nil {
		return nil, err
	}
	if len(secrets) == 0 {
		return nil, fmt.Errorf("%w: none was given", ErrSecret)
	}
	s := &Signer{issuer: issuer, public: make(map[string]ed25519.PublicKey, len(secrets))}
	set := jwkSet{Keys: make([]jwk, 0, len(secrets))}
	for i, secret := range secrets {
		if len(secret) < MinSecretBytes {
			return nil, fmt.Errorf("%w: number %d has %d bytes, must have at least %d",
				ErrSecret, i+1, len(secret), MinSecretBytes)
		}
		seed, err := hkdf.Key(sha256.New, secret, nil, keyInfo, ed25519.SeedSize)
		if err != nil {
			return nil, fmt.Errorf("%w: number %d: %w", ErrSecret, i+1, err)
		}
		private := ed25519.NewKeyFromSeed(seed)
		public := ed25519.PublicKey(private[ed25519.SeedSize:])
		key := newJWK(public)
		if i == 0 {
			s.newest = private
			s.header = map[string]any{
				"alg": jwt.SigningMethodEdDSA.Alg(), "typ": "JWT", "kid": key.KeyID,
			}
		}
		s.public[key.KeyID] = public
		set.Keys = append(set.Keys, key)
	}
	var err error
	if s.jwks, err = json.Marshal(set); err != nil {
		return nil, fmt.Errorf("pass: JWK set: %w", err)
	}
	return s, nil
}

// JWKS returns the public keys, newest first, as a JWK set (RFC 7517). It is the same on every server. The slice is
// shared: the caller must not change it.
func (s *Signer) JWKS() []byte { return s.jwks }

// jwkSet is the document of RFC 7517, section 5.
type jwkSet struct {
	Keys []jwk `json:"keys"`
}

// jwk is an Ed25519 public key as in RFC 8037, section 2.
type jwk struct {
	KeyType   string `json:"kty"`
	Curve     string `json:"crv"`
	X         string `json:"x"`
	KeyID     string `json:"kid"`
	Use       string `json:"use"`
	Algorithm string `json:"alg"`
}

func newJWK(public ed25519.PublicKey) jwk {
	x := base64.RawURLEncoding.EncodeToString(public)
	return jwk{
		KeyType: "OKP", Curve: "Ed25519", X: x, KeyID: thumbprint(x),
		Use: "sig", Algorithm: jwt.SigningMethodEdDSA.Alg(),
	}
}

// thumbprint is that of RFC 7638: the SHA-256 of the required members, in this order and without spaces. RFC 8037,
// appendix A.3, has an example.
func thumbprint(x string) string {
	sum := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + x + `"}`))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
