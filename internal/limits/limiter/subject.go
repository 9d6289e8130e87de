package limiter

import (
	"crypto/sha256"
	"encoding/base64"
)

const (
	// maxSecret bounds how much of the secret counts, in bytes.
	maxSecret = 64
	// subjectBytes of the hash name a key: 128 bits.
	subjectBytes = 16
	// shortBytes of it are shown to operators: 48 bits, 8 characters.
	shortBytes = 6
)

// digest is the hash of a key: SHA-256 of the secret and the key, whose end is cut
// off, so that nobody who has not the secret can tell a key by it.
func digest(secret []byte, key string) [subjectBytes]byte {
	var text [maxSecret + MaxKey]byte
	n := copy(text[:], secret[:min(len(secret), maxSecret)])
	n += copy(text[n:], key)
	sum := sha256.Sum256(text[:n])
	return [subjectBytes]byte(sum[:subjectBytes])
}

// subject is the key as the stores know it.
func (l *Limiter) subject(key string) string { return subject(l.deps.Secret, key) }

func subject(secret []byte, key string) string {
	d := digest(secret, key)
	return base64.RawURLEncoding.EncodeToString(d[:])
}

// Short is the key as operators see it, 8 characters: whoever has a suspicion can
// compare, and whoever looks on learns nothing.
func (l *Limiter) Short(key string) string { return l.short(key).String() }

type short [shortBytes]byte

func (l *Limiter) short(key string) short {
	d := digest(l.deps.Secret, key)
	return short(d[:shortBytes])
}

// String is the beginning of the subject.
func (s short) String() string { return base64.RawURLEncoding.EncodeToString(s[:]) }
