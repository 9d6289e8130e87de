package token_test

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
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

func TestNewKeysRefuses(t *testing.T) {
	t.Parallel()
	for want, secrets := range map[string][][]byte{
		"none was given": nil,
		"number 1 has 0 bytes, must have at least 32":  {{}},
		"number 2 has 31 bytes, must have at least 32": {secret(1), make([]byte, token.MinSecretBytes-1)},
	} {
		if keys, err := token.NewKeys(secrets...); keys != nil || !errors.Is(err, token.ErrSecret) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v, want ErrSecret with %q", keys, err, want)
		}
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
