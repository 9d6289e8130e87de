package limiter

import (
	"crypto/sha256"
	"encoding/base64"
)

const (
	// maxSecret is how many bytes of the secret count.
	maxSecret = 64
	// subjectBytes is how many bytes of the hash name a key: 128 bits.
	subjectBytes = 16
	// shortBytes is how many bytes of the hash operators see: 48 bits, 8 characters.
	shortBytes = 6
)

// digest returns the hash of a key: the beginning of the SHA-256 of the secret and the key.
// Without the secret, nobody can find the key by trying keys.
func digest(secret []byte, key string) [subjectBytes]byte {
	var text [maxSecret + MaxKey]byte
	n := copy(text[:], secret[:min(len(secret), maxSecret)])
	n += copy(text[n:], key)
	sum := sha256.Sum256(text[:n])
	return [subjectBytes]byte(sum[:subjectBytes])
}

// subject returns the name of a key in the stores.
func (l *Limiter) subject(key string) string { return subject(l.deps.Secret, key) }

func subject(secret []byte, key string) string {
	d := digest(secret, key)
	return base64.RawURLEncoding.EncodeToString(d[:])
}

// Short returns the name of a key that operators see, 8 characters. An operator who suspects a
// client can compare the name. Nobody can read the key from it.
func (l *Limiter) Short(key string) string { return l.short(key).String() }

type short [shortBytes]byte

func (l *Limiter) short(key string) short {
	d := digest(l.deps.Secret, key)
	return short(d[:shortBytes])
}

// String returns the first 8 characters of the subject.
func (s short) String() string { return base64.RawURLEncoding.EncodeToString(s[:]) }
