package secret

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

const (
	// fingerprintInfo makes a fingerprint differ from all keys that are derived from a secret.
	fingerprintInfo = "openqueue/waitingroom/v1 secret fingerprint"
	// fingerprintBytes is the length of a fingerprint: two secrets have the same one once in
	// 10^19 times.
	fingerprintBytes = 8
)

// Fingerprints returns a name of each secret, in their order: 16 hexadecimal digits, by HKDF
// (RFC 5869). Servers with the same secret have the same name for it. It tells nothing of the
// secret, nor of a key that is derived from it.
func Fingerprints(secrets [][]byte) ([]string, error) {
	all := make([]string, len(secrets))
	for i, s := range secrets {
		b, err := hkdf.Key(sha256.New, s, nil, fingerprintInfo, fingerprintBytes)
		if err != nil {
			return nil, fmt.Errorf("secret: fingerprint: %w", err)
		}
		all[i] = hex.EncodeToString(b)
	}
	return all, nil
}
