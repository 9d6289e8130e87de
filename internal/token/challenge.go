package token

import (
	"crypto/hmac"
	"encoding/hex"
)

// SignChallenge returns the code of a challenge's text in a zone, in hexadecimal digits, under the newest secret.
func (k *Keys) SignChallenge(zoneID, text string) string {
	code := sum(k.keys[0].work, zoneID, text)
	return hex.EncodeToString(code[:])
}

// VerifyChallenge reports whether SignChallenge returned the code, under any of the secrets.
func (k *Keys) VerifyChallenge(zoneID, text, code string) bool {
	given, err := hex.DecodeString(code)
	if err != nil {
		return false
	}
	for _, key := range k.keys {
		if want := sum(key.work, zoneID, text); hmac.Equal(want[:], given) {
			return true
		}
	}
	return false
}
