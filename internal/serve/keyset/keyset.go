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

// ErrKeySet is wrapped by what is wrong with a key set.
var ErrKeySet = errors.New("keyset: unusable key set")

// Bounds of a key set.
const (
	// maxBytes bounds the document.
	maxBytes = 1 << 20
	// maxKeys is far above what anybody rotates through.
	maxKeys = 100
	// minRSABits is the least that RFC 7518 allows; above maxRSABits, a signature
	// takes milliseconds to check.
	minRSABits, maxRSABits = 2048, 8192
	// minSecret is the least that RFC 7518 allows for HS256, in bytes.
	minSecret = 32
)

// Key is what verifies a token, and the algorithms that it is for. A token never
// chooses an algorithm that its key is not for: neither none, nor HMAC with a public key
// for a secret.
type Key struct {
	// ID is the kid, "" for a key without one.
	ID string
	// Algorithms are one or more of RFC 7518 and RFC 8037: RS256, EdDSA.
	Algorithms []string
	// Verifier is an *rsa.PublicKey, an *ecdsa.PublicKey, an ed25519.PublicKey, or a
	// []byte that is a shared secret.
	Verifier any
}

// Parse reads a JWK set, and returns its keys that verify. Shared secrets, and private keys
// in place of public ones, are used where secrets is true: what is fetched from a URL is
// public, and whoever can read those can sign with them. Keys that do not sign, are of a type that is not known here, or are broken or
// out of range, are skipped, as RFC 7517 says: one old key must not cost its issuer all
// others. What is wrong with those is returned besides. It is an error if there is no other.
func Parse(text []byte, secrets bool) (keys []Key, skipped, err error) {
	// What cannot be parsed stays in its place, with the reason.
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

// usableKey returns the key, without algorithms if it is for none that is known here.
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
		// For the algorithms whose hash is no longer than the secret, as RFC 7518 has it.
		key.Algorithms = []string{"HS256", "HS384", "HS512"}[:min(len(v)/16-1, 3)]
	}
	key.ID, _ = k.KeyID()
	if only, named := k.Algorithm(); named {
		key.Algorithms = slices.DeleteFunc(key.Algorithms, func(a string) bool { return a != only.String() })
	}
	return key, nil
}
