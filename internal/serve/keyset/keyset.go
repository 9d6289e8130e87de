package keyset

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"errors"
	"fmt"
	"slices"

	"github.com/lestrrat-go/jwx/v3/jwk"
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

// Parse reads a JWK set, and returns its keys that verify signatures. Shared secrets, and private
// keys in place of public ones, are used only if secrets is true: a set that a URL serves is
// public, and whoever can read such a key can sign with it. Keys are skipped that are not for
// signatures, have an unknown type, are broken or out of bounds, as RFC 7517 says: one old key
// must not make the others of its issuer useless. skipped says what is wrong with the broken
// ones. err wraps ErrKeySet: the set cannot be read, or has no usable key.
func Parse(text []byte, secrets bool) (keys []Key, skipped, err error) {
	// A key that cannot be parsed stays in the set, with the reason.
	set, err := jwk.Parse(text, jwk.WithMaxKeys(maxKeys), jwk.WithStrictKeySetParsing(false))
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrKeySet, err)
	}
	for i := range set.Len() {
		k, _ := set.Key(i)
		if use, named := k.KeyUsage(); named && use != "sig" {
			continue
		}
		key, err := usableKey(k, secrets)
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

// usableKey returns the key; without Algorithms if it is for none that this package knows.
func usableKey(k jwk.Key, secrets bool) (key Key, err error) {
	if pair, ok := k.(jwk.AsymmetricKey); ok && pair.IsPrivate() && !secrets {
		return key, errors.New("a private key, which is one in a file only")
	}
	if public, err := k.PublicKey(); err != nil {
		return key, err
	} else if err := jwk.Export(public, &key.Verifier); err != nil {
		return key, err
	}
	switch v := key.Verifier.(type) {
	case *rsa.PublicKey:
		if bits := v.N.BitLen(); bits < minRSABits || bits > maxRSABits {
			return key, fmt.Errorf("%d bits, must be between %d and %d", bits, minRSABits, maxRSABits)
		}
		key.Algorithms = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}
	case *ecdsa.PublicKey:
		key.Algorithms = map[string][]string{"P-256": {"ES256"}, "P-384": {"ES384"}, "P-521": {"ES512"}}[v.Params().Name]
	case ed25519.PublicKey:
		key.Algorithms = []string{"EdDSA"}
	case []byte:
		if !secrets {
			return key, errors.New("a shared secret, which is one in a file only")
		}
		if len(v) < minSecret {
			return key, fmt.Errorf("k must have %d bytes or more", minSecret)
		}
		// The algorithms are those whose hash is not longer than the secret (RFC 7518, section 3.2).
		key.Algorithms = []string{"HS256", "HS384", "HS512"}[:min(len(v)/16-1, 3)]
	}
	key.ID, _ = k.KeyID()
	if only, named := k.Algorithm(); named {
		key.Algorithms = slices.DeleteFunc(key.Algorithms, func(a string) bool { return a != only.String() })
	}
	return key, nil
}
