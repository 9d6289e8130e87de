package pass

import (
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

// MinSecretBytes is the least length of a secret: that of the Ed25519 seed
// which is derived from it.
const MinSecretBytes = 32

// What tells the seeds of the signing keys from the secret's other uses.
const (
	keyInfo   = "openqueue/waitingroom/v1 pass key"
	es256Info = "openqueue/waitingroom/v1 pass key ES256"
)

// Algorithms are what can sign passes, by their names in RFC 7518 and RFC 8037. The first is the default.
var Algorithms = []string{"EdDSA", "ES256", "RS256"}

// minRSABits is the least that RFC 7518 allows.
const minRSABits = 2048

// DefaultIssuer is the iss of passes where the operator names no other.
const DefaultIssuer = "waitingroom"

// maxIssuer bounds an issuer, in bytes.
const maxIssuer = 256

// Errors of NewSigner. Compare with errors.Is.
var (
	ErrSecret = errors.New("pass: unusable secret")
	// ErrKey: there is no key for the algorithm, or the file has none that can be used.
	ErrKey = errors.New("pass: unusable key")
	// ErrIssuer: the issuer is not 1 to 256 printable ASCII characters without spaces, quotes and backslashes; or it
	// has a colon and is no URI (RFC 7519, StringOrURI).
	ErrIssuer = errors.New("pass: unusable issuer")
)

var errNotRSA = errors.New("it is of another type")

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
	newest signingKey
	keys   map[string]signingKey // by kid
	jwks   []byte
	lists  signedLists
}

// signingKey is one key, with the algorithm that it is for.
type signingKey struct {
	method  jwt.SigningMethod
	private crypto.Signer
	header  map[string]any // of every pass; never written to
}

// Keys say what signs. The zero value is EdDSA, with keys that are derived from the secrets.
type Keys struct {
	// Algorithms are some of Algorithms. The first signs. The keys of all are published, and of no other: some verifiers refuse a
	// whole set for one key of a type that they do not know. None is the default alone.
	Algorithms []string
	// RSA are the keys for RS256, newest first: they cannot be derived from a secret.
	RSA []*rsa.PrivateKey
}

// ReadRSA reads the private keys of a PEM file, newest first. Its errors wrap ErrKey.
func ReadRSA(file string) ([]*rsa.PrivateKey, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	var all []*rsa.PrivateKey
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
		if err != nil {
			var either any
			either, err = x509.ParsePKCS8PrivateKey(block.Bytes)
			key, _ = either.(*rsa.PrivateKey)
		}
		if key == nil {
			return nil, fmt.Errorf("%w: %s: key %d is no private RSA key: %w", ErrKey, file, len(all)+1, cmp.Or(err, errNotRSA))
		}
		if bits := key.N.BitLen(); bits < minRSABits {
			return nil, fmt.Errorf("%w: %s: key %d has %d bits, must have at least %d", ErrKey, file, len(all)+1, bits, minRSABits)
		}
		all = append(all, key)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: %s has none", ErrKey, file)
	}
	return all, nil
}

// NewSigner returns the signer of an issuer. It derives the keys of one or more secrets, newest first, of at least
// MinSecretBytes each, as package secret reads them. A secret that is too short, or none at all, is an error that wraps
// ErrSecret. An unusable issuer is an error that wraps ErrIssuer. The secrets themselves are not kept.
func NewSigner(issuer string, secrets ...[]byte) (*Signer, error) {
	return Keys{}.NewSigner(issuer, secrets...)
}

// NewSigner is as the function, with these keys. An algorithm that is none of Algorithms, or RS256 without a key, is an error
// that wraps ErrKey. The keys of all algorithms verify here, so that servers may be told to change it one after the other.
func (k Keys) NewSigner(issuer string, secrets ...[]byte) (*Signer, error) {
	if err := CheckIssuer(issuer); err != nil {
		return nil, err
	}
	if len(secrets) == 0 {
		return nil, fmt.Errorf("%w: none was given", ErrSecret)
	}
	var all []signingKey
	for i, secret := range secrets {
		if len(secret) < MinSecretBytes {
			return nil, fmt.Errorf("%w: number %d has %d bytes, must have at least %d",
				ErrSecret, i+1, len(secret), MinSecretBytes)
		}
		seed, err := hkdf.Key(sha256.New, secret, nil, keyInfo, ed25519.SeedSize)
		if err != nil {
			return nil, fmt.Errorf("%w: number %d: %w", ErrSecret, i+1, err)
		}
		curve, err := deriveES256(secret)
		if err != nil {
			return nil, fmt.Errorf("%w: number %d: %w", ErrSecret, i+1, err)
		}
		all = append(all, signingKey{method: jwt.SigningMethodEdDSA, private: ed25519.NewKeyFromSeed(seed)},
			signingKey{method: es256{jwt.SigningMethodES256}, private: curve})
	}
	for _, key := range k.RSA {
		all = append(all, signingKey{method: jwt.SigningMethodRS256, private: key})
	}
	s := &Signer{issuer: issuer, keys: make(map[string]signingKey, len(all)), lists: signedLists{zones: map[string]signedList{}}}
	var set struct {
		Keys []publicKey `json:"keys"`
	}
	algorithms := k.Algorithms
	if len(algorithms) == 0 {
		algorithms = Algorithms[:1]
	}
	for _, algorithm := range algorithms {
		if !slices.ContainsFunc(all, func(key signingKey) bool { return key.method.Alg() == algorithm }) {
			return nil, fmt.Errorf("%w: there is none for %q", ErrKey, algorithm)
		}
	}
	for _, key := range all {
		public, err := publish(key)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrKey, err)
		}
		if slices.Contains(algorithms, public.Algorithm) {
			set.Keys = append(set.Keys, public)
		}
		key.header = map[string]any{"alg": public.Algorithm, "typ": "JWT", "kid": public.ID}
		s.keys[public.ID] = key
		if s.newest.method == nil && key.method.Alg() == algorithms[0] {
			s.newest = key
		}
	}
	// RSA before EC before OKP: some verifiers read no further than a type that they do not know.
	order := []string{"RSA", "EC", "OKP"}
	slices.SortStableFunc(set.Keys, func(a, b publicKey) int { return slices.Index(order, a.Type) - slices.Index(order, b.Type) })
	var err error
	if s.jwks, err = json.Marshal(set); err != nil {
		return nil, fmt.Errorf("pass: JWK set: %w", err)
	}
	return s, nil
}

// publicKey is a key as it is published (RFC 7517). Its members are in the order of their names, as RFC 7638 wants them.
type publicKey struct {
	Algorithm string `json:"alg,omitempty"`
	Curve     string `json:"crv,omitempty"`
	E         string `json:"e,omitempty"`
	ID        string `json:"kid,omitempty"`
	Type      string `json:"kty"`
	N         string `json:"n,omitempty"`
	Use       string `json:"use,omitempty"`
	X         string `json:"x,omitempty"`
	Y         string `json:"y,omitempty"`
}

// publish returns the public part of a key. Its kid is the thumbprint (RFC 7638).
func publish(key signingKey) (publicKey, error) {
	encode := base64.RawURLEncoding.EncodeToString
	var p publicKey
	switch public := key.private.Public().(type) {
	case ed25519.PublicKey:
		p = publicKey{Type: "OKP", Curve: "Ed25519", X: encode(public)}
	case *ecdsa.PublicKey:
		point, err := public.Bytes() // 4, x, y
		if err != nil {
			return p, err
		}
		half := len(point) / 2
		p = publicKey{Type: "EC", Curve: public.Params().Name, X: encode(point[1 : 1+half]), Y: encode(point[1+half:])}
	case *rsa.PublicKey:
		p = publicKey{Type: "RSA", N: encode(public.N.Bytes()), E: encode(big.NewInt(int64(public.E)).Bytes())}
	}
	text, err := json.Marshal(p)
	sum := sha256.Sum256(text)
	p.ID, p.Use, p.Algorithm = encode(sum[:]), "sig", key.method.Alg()
	return p, err
}

// deriveES256 makes a private key of P-256 of a secret, as FIPS 186-5, A.2.1, does of random bits: 64 more than the
// order has make the bias negligible.
func deriveES256(secret []byte) (*ecdsa.PrivateKey, error) {
	order := elliptic.P256().Params().N
	bits, err := hkdf.Key(sha256.New, secret, nil, es256Info, order.BitLen()/8+8)
	if err != nil {
		return nil, err
	}
	d := new(big.Int).SetBytes(bits)
	d.Mod(d, new(big.Int).Sub(order, big.NewInt(1))).Add(d, big.NewInt(1))
	return ecdsa.ParseRawPrivateKey(elliptic.P256(), d.FillBytes(make([]byte, order.BitLen()/8)))
}

// es256 signs as RFC 6979 says, so that the same pass is signed the same on every server.
type es256 struct{ *jwt.SigningMethodECDSA }

// Sign returns r and s, 32 bytes each (RFC 7518, section 3.4).
func (m es256) Sign(signed string, key any) ([]byte, error) {
	private, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return nil, jwt.ErrInvalidKeyType
	}
	sum := sha256.Sum256([]byte(signed))
	der, err := private.Sign(nil, sum[:], crypto.SHA256)
	if err != nil {
		return nil, err
	}
	var pair struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(der, &pair); err != nil {
		return nil, err
	}
	out := make([]byte, 64)
	pair.R.FillBytes(out[:32])
	pair.S.FillBytes(out[32:])
	return out, nil
}

// JWKS returns the public keys, RSA before EC before OKP and each newest first, as a JWK set (RFC 7517). It is the same on every server. The slice is
// shared: the caller must not change it.
func (s *Signer) JWKS() []byte { return s.jwks }

// Discovery returns the document of OpenID Connect Discovery 1.0 by which verifiers find the keys; false where the issuer is
// no https URL, under which they would look.
func (s *Signer) Discovery() ([]byte, bool) {
	if u, err := url.Parse(s.issuer); err != nil || u.Scheme != "https" || u.Host == "" {
		return nil, false
	}
	text, err := json.Marshal(map[string]any{
		"issuer": s.issuer, "jwks_uri": strings.TrimSuffix(s.issuer, "/") + "/.well-known/jwks.json",
		"id_token_signing_alg_values_supported": []string{s.newest.method.Alg()},
		"response_types_supported":              []string{"id_token"}, "subject_types_supported": []string{"public"},
	})
	return text, err == nil
}
