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
)

// subject returns the name of a key in the stores: the beginning of the SHA-256 of the secret and the
// key. Without the secret, nobody can find the key by trying keys.
func subject(secret []byte, key string) string {
	var text [maxSecret + MaxKey]byte
	n := copy(text[:], secret[:min(len(secret), maxSecret)])
	n += copy(text[n:], key)
	sum := sha256.Sum256(text[:n])
	return base64.RawURLEncoding.EncodeToString(sum[:subjectBytes])
}
