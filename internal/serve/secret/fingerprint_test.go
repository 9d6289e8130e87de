package secret

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"testing"
)

// TestFingerprints: there is one of each secret, in their order, the same on every server and in
// every version. The test computes them as RFC 5869 says.
func TestFingerprints(t *testing.T) {
	t.Parallel()
	a, b := bytes.Repeat([]byte("a"), MinBytes), bytes.Repeat([]byte("b"), MinBytes)
	code := func(key, text []byte) []byte {
		mac := hmac.New(sha256.New, key)
		mac.Write(text)
		return mac.Sum(nil)
	}
	want := make([]string, 2)
	for i, s := range [][]byte{b, a} {
		key := code(make([]byte, sha256.Size), s)
		want[i] = hex.EncodeToString(code(key, []byte("openqueue/waitingroom/v1 secret fingerprint\x01"))[:8])
	}
	got, err := Fingerprints([][]byte{b, a})
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}
