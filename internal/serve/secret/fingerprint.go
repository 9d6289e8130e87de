package secret

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

const (
	// fingerprintInfo tells a fingerprint from the keys that are derived from a secret.
	fingerprintInfo = "openqueue/waitingroom/v1 secret fingerprint"
	// fingerprintBytes tell secrets apart: two are alike once in 10^19 times.
	fingerprintBytes = 8
)

// Fingerprints name secrets, in their order, to whoever has the same: 16 hexadecimal
// digits each, by HKDF. Who sees one learns nothing of the secret, or of a key.
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
