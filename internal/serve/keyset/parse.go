package keyset

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// ErrKeySet is wrapped by every error of a key set.
var ErrKeySet = errors.New("keyset: unusable key set")

// Bounds of a key set.
const (
	// maxBytes bounds the document.
	maxBytes = 1 << 20
	// maxKeys is far above the number of keys that any issuer rotates through.
	maxKeys = 100
	// minRSABits is the least that RFC 7518 allows. With more than maxRSABits, a
	// signature takes milliseconds to check.
	minRSABits, maxRSABits = 2048, 8192
	// minSecret is the least that RFC 7518 allows for HS256, in bytes.
	minSecret = 32
)

// Key verifies tokens by the algorithms that it is for. A token cannot choose an algorithm
// that its key is not for: neither "none", nor HMAC with a public key in place of a secret.
type Key struct {
	// ID is the kid, "" for a key without one.
	ID string
	// Algorithms are one or more names of RFC 7518 and RFC 8037, such as RS256 and EdDSA.
	Algorithms []string
	// Verifier is an *rsa.PublicKey, an *ecdsa.PublicKey, an ed25519.PublicKey, or a
	// []byte that is a shared secret.
	Verifier any
}

// member is a number or a string of bytes in a JWK, in base64url. Padding and the standard alphabet are read, too: some issuers
// write them.
type member []byte

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *member) UnmarshalText(text []byte) (err error) {
	*m, err = base64.RawURLEncoding.DecodeString(strings.NewReplacer("+", "-", "/", "_", "=", "").Replace(string(text)))
	return err
}

// jwk is one key of a set, as RFC 7518 and RFC 8037 write it.
type jwk struct {
	Type      string          `json:"kty"`
	ID        string          `json:"kid"`
	Use       string          `json:"use"`
	Algorithm string          `json:"alg"`
	Curve     string          `json:"crv"`
	N         member          `json:"n"`
	E         member          `json:"e"`
	X         member          `json:"x"`
	Y         member          `json:"y"`
	Secret    member          `json:"k"`
	Private   json.RawMessage `json:"d"`
}

// Parse reads a JWK set, and returns its keys that verify signatures. Shared secrets, and private
// keys in place of public ones, are used only if secrets is true: a set that a URL serves is
// public, and whoever can read such a key can sign with it. Keys are skipped that are not for
// signatures, have an unknown type, are broken or out of bounds, as RFC 7517 says: one old key
// must not make the others of its issuer useless. skipped says what is wrong with the broken
// ones. err wraps ErrKeySet: the set cannot be read, or has no usable key.
func Parse(text []byte, secrets bool) (keys []Key, skipped, err error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrKeySet, err)
	}
	if len(set.Keys) > maxKeys {
		return nil, nil, fmt.Errorf("%w: %d keys, must be at most %d", ErrKeySet, len(set.Keys), maxKeys)
	}
	for i, text := range set.Keys {
		var k jwk
		err := json.Unmarshal(text, &k)
		if err == nil && k.Use != "" && k.Use != "sig" {
			continue
		}
		key := Key{ID: k.ID}
		if err == nil {
			key.Verifier, key.Algorithms, err = k.verifier(secrets)
		}
		if k.Algorithm != "" {
			key.Algorithms = slices.DeleteFunc(key.Algorithms, func(a string) bool { return a != k.Algorithm })
		}
		if err != nil {
			skipped = errors.Join(skipped, fmt.Errorf("key %d: %w", i+1, err))
		} else if len(key.Algorithms) > 0 {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, nil, errors.Join(fmt.Errorf("%w: it has no key that signs", ErrKeySet), skipped)
	}
	return keys, skipped, nil
}

// verifier returns the key, and the algorithms that it is for; none if its type is not known.
func (k *jwk) verifier(secrets bool) (key any, algorithms []string, err error) {
	switch {
	case k.Private != nil && !secrets:
		return nil, nil, errors.New("a private key, which is one in a file only")
	case k.Type == "RSA":
		n, e := new(big.Int).SetBytes(k.N), new(big.Int).SetBytes(k.E)
		if bits := n.BitLen(); bits < minRSABits || bits > maxRSABits {
			return nil, nil, fmt.Errorf("%d bits, must be between %d and %d", bits, minRSABits, maxRSABits)
		}
		if e.BitLen() < 2 || e.BitLen() > 31 || e.Bit(0) == 0 {
			return nil, nil, fmt.Errorf("e is %x, must be odd, and between 3 and 2^31-1", k.E)
		}
		return &rsa.PublicKey{N: n, E: int(e.Int64())}, []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}, nil
	case k.Type == "EC":
		curve, known := map[string]elliptic.Curve{"P-256": elliptic.P256(), "P-384": elliptic.P384(), "P-521": elliptic.P521()}[k.Curve]
		if !known {
			return nil, nil, nil
		}
		size := (curve.Params().BitSize + 7) / 8
		if len(k.X) > size || len(k.Y) > size {
			return nil, nil, fmt.Errorf("x or y has more than %d bytes", size)
		}
		pad := func(m member) []byte { return append(make([]byte, size-len(m)), m...) }
		key, err := ecdsa.ParseUncompressedPublicKey(curve, bytes.Join([][]byte{{4}, pad(k.X), pad(k.Y)}, nil))
		return key, []string{map[string]string{"P-256": "ES256", "P-384": "ES384", "P-521": "ES512"}[k.Curve]}, err
	case k.Type == "OKP" && k.Curve == "Ed25519":
		if len(k.X) != ed25519.PublicKeySize {
			return nil, nil, fmt.Errorf("x has %d bytes, must have %d", len(k.X), ed25519.PublicKeySize)
		}
		return ed25519.PublicKey(k.X), []string{"EdDSA"}, nil
	case k.Type == "oct" && !secrets:
		return nil, nil, errors.New("a shared secret, which is one in a file only")
	case k.Type == "oct" && len(k.Secret) < minSecret:
		return nil, nil, fmt.Errorf("k must have %d bytes or more", minSecret)
	case k.Type == "oct":
		// The algorithms are those whose hash is not longer than the secret (RFC 7518, section 3.2).
		return []byte(k.Secret), []string{"HS256", "HS384", "HS512"}[:min(len(k.Secret)/16-1, 3)], nil
	}
	return nil, nil, nil
}
