package token_test

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/token"
)

// secret returns a secret of 32 bytes that depends on n only.
func secret(n int) []byte {
	s := sha256.Sum256(fmt.Appendf(nil, "secret %d", n))
	return s[:]
}

// newKeys returns the keys of the secrets with these numbers, newest first.
func newKeys(t testing.TB, numbers ...int) *token.Keys {
	t.Helper()
	secrets := make([][]byte, len(numbers))
	for i, n := range numbers {
		secrets[i] = secret(n)
	}
	keys, err := token.NewKeys(secrets...)
	if err != nil {
		t.Fatalf("NewKeys: %v", err)
	}
	return keys
}

// hmacUnder computes, by the book, what the package computes with a pool.
func hmacUnder(t testing.TB, secret []byte, info, zoneID, rest string) []byte {
	t.Helper()
	key, err := hkdf.Key(sha256.New, secret, nil, info, 32)
	if err != nil {
		t.Fatal(err)
	}
	h := hmac.New(sha256.New, key)
	h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(zoneID))))
	h.Write([]byte(zoneID))
	h.Write([]byte(rest))
	return h.Sum(nil)
}

func TestNewKeys(t *testing.T) {
	t.Parallel()
	short := make([]byte, token.MinSecretBytes-1)
	long := make([]byte, 1000)
	for _, tt := range []struct {
		name    string
		secrets [][]byte
		want    string // part of the error; "" for none
	}{
		{"one", [][]byte{secret(1)}, ""},
		{"a long one", [][]byte{long}, ""},
		{"several", [][]byte{secret(1), secret(2), secret(3)}, ""},
		{"none", nil, "none was given"},
		{"an empty one", [][]byte{{}}, "number 1 has 0 bytes, must have at least 32"},
		{"a short one", [][]byte{secret(1), short}, "number 2 has 31 bytes, must have at least 32"},
		{"one twice", [][]byte{secret(1), secret(2), secret(1)}, "number 3 is the same as number 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			keys, err := token.NewKeys(tt.secrets...)
			if tt.want == "" {
				if err != nil || keys == nil {
					t.Fatalf("NewKeys = %v, %v", keys, err)
				}
				return
			}
			if !errors.Is(err, token.ErrSecret) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want ErrSecret with %q", err, tt.want)
			}
			if keys != nil {
				t.Error("keys came with the error")
			}
		})
	}
}

// The keys do not depend on the caller leaving the secret's bytes alone.
func TestNewKeysCopiesSecrets(t *testing.T) {
	t.Parallel()
	own := secret(1)
	keys, err := token.NewKeys(own)
	if err != nil {
		t.Fatal(err)
	}
	clear(own)
	if got, want := keys.Sign("Z", place), newKeys(t, 1).Sign("Z", place); got != want {
		t.Errorf("Sign = %s, want %s", got, want)
	}
}

func TestVisitorID(t *testing.T) {
	t.Parallel()
	keys := newKeys(t, 1, 2, 3)
	want := func(n int) line.ID {
		return line.ID(hmacUnder(t, secret(n), "openqueue/waitingroom/v1 visitor id key", "TEST_ZONE", "customer-4711")[:8])
	}
	if got := keys.VisitorID("TEST_ZONE", "customer-4711"); got != want(1) {
		t.Errorf("VisitorID = %x, want %x", got, want(1))
	}
	if err := keys.UseVisitorKey(newKeys(t, 3).VisitorKey()); err != nil {
		t.Fatal(err)
	}
	if got := keys.VisitorID("TEST_ZONE", "customer-4711"); got != want(3) {
		t.Errorf("by a key of its own: %x, want %x", got, want(3))
	}
	if err := keys.UseVisitorKey([]byte("short")); !errors.Is(err, token.ErrSecret) {
		t.Errorf("a short key: %v", err)
	}
}

// A change of these would move everybody's place: new info strings need a new
// version of the scheme.
func TestVisitorIDIsFrozen(t *testing.T) {
	t.Parallel()
	got := newKeys(t, 1).VisitorID("TEST_ZONE", "customer-4711")
	if want := "41a37d437c4281e2"; hex.EncodeToString(got[:]) != want {
		t.Errorf("id = %x, want %s", got, want)
	}
}

func TestVisitorIDsDiffer(t *testing.T) {
	t.Parallel()
	keys := newKeys(t, 1)
	seen := make(map[line.ID]string)
	for _, v := range []struct{ zoneID, clientID string }{
		{"A", "x"}, {"B", "x"}, {"A", "y"}, {"A", ""}, {"", "A"},
		{"AB", "C"}, {"A", "BC"}, {"", "ABC"}, {"ABC", ""},
		{"A", "x\x00"}, {"A", strings.Repeat("x", 4096)},
	} {
		id, name := keys.VisitorID(v.zoneID, v.clientID), fmt.Sprintf("%q %.10q", v.zoneID, v.clientID)
		if other, ok := seen[id]; ok {
			t.Errorf("%s and %s have the same id", name, other)
		}
		seen[id] = name
	}
}

func TestNewID(t *testing.T) {
	t.Parallel()
	const n = 10_000
	seen := make(map[line.ID]bool, n)
	var ones [64]int
	for range n {
		id := token.NewID()
		if seen[id] {
			t.Fatalf("%x came twice", id)
		}
		seen[id] = true
		bits := binary.BigEndian.Uint64(id[:])
		for i := range ones {
			ones[i] += int(bits >> i & 1)
		}
	}
	// Each bit is a fair coin: 10 standard deviations (50 each) off is a fault.
	for i, k := range ones {
		if k < n/2-500 || k > n/2+500 {
			t.Errorf("bit %d is set in %d of %d ids", i, k, n)
		}
	}
}
