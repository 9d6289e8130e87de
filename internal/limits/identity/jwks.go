package identity

import (
	"crypto"
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
)

// ErrKeySet is wrapped by what is wrong with a key set.
var ErrKeySet = errors.New("identity: unusable key set")

// Bounds of a key set.
const (
	// maxKeySet bounds the document, in bytes.
	maxKeySet = 1 << 20
	// maxKeys is far above what anybody rotates through.
	maxKeys = 100
	// minRSABits is the least that RFC 7518 allows; above maxRSABits, a signature
	// takes milliseconds to check.
	minRSABits, maxRSABits = 2048, 8192
	// maxRSAExponent is what crypto/rsa can do.
	maxRSAExponent = 1<<31 - 1
	// minSecret is the least that RFC 7518 allows for HS256, in bytes.
	minSecret = 32
)

// verifyKey is what verifies a token, a public key or a shared secret ([]byte), and
// the algorithms that it is for. A token never chooses an algorithm that its key is
// not for: neither none, nor HMAC with a public key for a secret.
type verifyKey struct {
	id         string
	algorithms []string
	verifier   any
}

// jsonKey is a key as in RFC 7517 and 7518.
type jsonKey struct {
	Type      string `json:"kty"`
	Use       string `json:"use"`
	KeyID     string `json:"kid"`
	Algorithm string `json:"alg"`
	Curve     string `json:"crv"`
	X         string `json:"x"`
	Y         string `json:"y"`
	N         string `json:"n"`
	E         string `json:"e"`
	K         string `json:"k"`
}

// parseKeySet reads a JWK set. Shared secrets are read where secrets is true: what is
// fetched from a URL is public, and whoever can read a secret can sign with it. Keys that do not sign, are of a type that is not known
// here, or are broken or out of range, are skipped, as RFC 7517 says: one old key must
// not cost its issuer all others. What is wrong with those is returned besides. It is
// an error if there is no other.
func parseKeySet(text []byte, secrets bool) (keys []verifyKey, skipped, err error) {
	var set struct {
		Keys []jsonKey `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrKeySet, err)
	}
	if len(set.Keys) > maxKeys {
		return nil, nil, fmt.Errorf("%w: %d keys, at most %d", ErrKeySet, len(set.Keys), maxKeys)
	}
	for i, k := range set.Keys {
		if k.Use != "" && k.Use != "sig" {
			continue
		}
		if k.Type == "oct" && !secrets {
			skipped = errors.Join(skipped, fmt.Errorf("key %d: a shared secret, which is one in a file only", i+1))
			continue
		}
		key, err := k.read()
		switch {
		case err != nil:
			skipped = errors.Join(skipped, fmt.Errorf("key %d: %w", i+1, err))
		case key.verifier != nil && len(key.algorithms) > 0:
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, nil, errors.Join(fmt.Errorf("%w: it has no key that signs", ErrKeySet), skipped)
	}
	return keys, skipped, nil
}

// read returns the key, without a verifier for what is not known here.
func (k jsonKey) read() (verifyKey, error) {
	out := verifyKey{id: k.KeyID}
	var err error
	switch k.Type {
	case "RSA":
		out.verifier, err = k.rsa()
		out.algorithms = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}
	case "EC":
		out.verifier, out.algorithms, err = k.ec()
	case "OKP":
		if k.Curve == "Ed25519" {
			out.verifier, err = k.ed25519()
			out.algorithms = []string{"EdDSA"}
		}
	case "oct":
		out.verifier, out.algorithms, err = k.secret()
	}
	if err == nil && k.Algorithm != "" {
		out.algorithms = slices.DeleteFunc(out.algorithms, func(a string) bool { return a != k.Algorithm })
	}
	return out, err
}

// secret reads a shared secret. It is for the algorithms whose hash is no longer than
// it, as RFC 7518 has it.
func (k jsonKey) secret() (any, []string, error) {
	secret, err := base64.RawURLEncoding.DecodeString(k.K)
	if err != nil || len(secret) < minSecret {
		return nil, nil, fmt.Errorf("k must have %d bytes or more, in base64url", minSecret)
	}
	algorithms := []string{"HS256"}
	if len(secret) >= 48 {
		algorithms = append(algorithms, "HS384")
	}
	if len(secret) >= 64 {
		algorithms = append(algorithms, "HS512")
	}
	return secret, algorithms, nil
}

func (k jsonKey) rsa() (crypto.PublicKey, error) {
	n, err := base64.RawURLEncoding.DecodeString(k.N)
	if err != nil {
		return nil, fmt.Errorf("n: %w", err)
	}
	e, err := base64.RawURLEncoding.DecodeString(k.E)
	if err != nil {
		return nil, fmt.Errorf("e: %w", err)
	}
	modulus, exponent := new(big.Int).SetBytes(n), new(big.Int).SetBytes(e)
	if bits := modulus.BitLen(); bits < minRSABits || bits > maxRSABits {
		return nil, fmt.Errorf("%d bits, must be between %d and %d", bits, minRSABits, maxRSABits)
	}
	if !exponent.IsInt64() || exponent.Int64() < 3 || exponent.Int64() > maxRSAExponent || exponent.Bit(0) == 0 {
		return nil, errors.New("e is no exponent")
	}
	return &rsa.PublicKey{N: modulus, E: int(exponent.Int64())}, nil
}

func (k jsonKey) ec() (public crypto.PublicKey, algorithms []string, err error) {
	var curve elliptic.Curve
	switch k.Curve {
	case "P-256":
		curve, algorithms = elliptic.P256(), []string{"ES256"}
	case "P-384":
		curve, algorithms = elliptic.P384(), []string{"ES384"}
	case "P-521":
		curve, algorithms = elliptic.P521(), []string{"ES512"}
	default:
		return nil, nil, nil
	}
	x, errX := base64.RawURLEncoding.DecodeString(k.X)
	y, errY := base64.RawURLEncoding.DecodeString(k.Y)
	size := (curve.Params().BitSize + 7) / 8
	if err := errors.Join(errX, errY); err != nil || len(x) != size || len(y) != size {
		return nil, nil, fmt.Errorf("x and y must have %d bytes each: %w", size, err)
	}
	// Uncompressed, as SEC 1 writes a point; one that is not on the curve is refused.
	point := slices.Concat([]byte{4}, x, y)
	key, err := ecdsa.ParseUncompressedPublicKey(curve, point)
	return key, algorithms, err
}

func (k jsonKey) ed25519() (crypto.PublicKey, error) {
	x, err := base64.RawURLEncoding.DecodeString(k.X)
	if err != nil || len(x) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("x must have %d bytes", ed25519.PublicKeySize)
	}
	return ed25519.PublicKey(x), nil
}
