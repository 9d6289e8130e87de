package token_test

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/openqueue/waitingroom/internal/line"
)

// told is place as an answer names it to one who waits.
var told = line.Place{ID: place.ID, ArrivedAtMicros: place.ArrivedAtMicros, Epoch: 1_795_223_000, DueMillis: 1_795_223_380_000}

// The layout of version 2 is a contract with tokens that are out there, as that of
// version 1 is.
func TestVersion2IsFrozen(t *testing.T) {
	t.Parallel()
	const want = "AqUBI0VniavN7wAGYL8Dco-AawDt2GsA71QsWnK0Jnaq8VCfhTHcFTmj"
	keys := newKeys(t, 1)
	tok := keys.Sign(testZone, told)
	if tok != want {
		t.Errorf("Sign = %s, want %s", tok, want)
	}
	if got, err := keys.Verify(testZone, want); err != nil || got != told {
		t.Errorf("Verify = %+v, %v, want %+v", got, err, told)
	}
	raw := decode(t, tok)
	if len(raw) != 42 || raw[0] != 2 || line.ID(raw[2:10]) != told.ID ||
		int64(binary.BigEndian.Uint64(raw[10:])) != told.ArrivedAtMicros ||
		binary.BigEndian.Uint32(raw[18:]) != told.Epoch || int64(binary.BigEndian.Uint32(raw[22:]))*1000 != told.DueMillis {
		t.Errorf("% x is not laid out as documented", raw)
	}
	if forged := forge(t, secret(1), raw[:26]); tok != forged {
		t.Errorf("token is %s, want %s", tok, forged)
	}
}

// TestVersionsAreNotMixed: each version has its length, and every byte is signed.
func TestVersionsAreNotMixed(t *testing.T) {
	t.Parallel()
	keys := newKeys(t, 1, 2)
	good := keys.Sign(testZone, told)
	raw := decode(t, good)
	for i := range raw {
		changed := slices.Clone(raw)
		changed[i] ^= 1
		refuse(t, keys, testZone, encode(changed))
	}
	short := decode(t, keys.Sign(testZone, place))
	refuse(t, keys, testZone, encode(slices.Concat(short[:18], raw[18:])))
	refuse(t, keys, testZone, encode(slices.Concat(raw[:18], short[18:])))
	for _, version := range []byte{0, 1, 3, 255} {
		head := slices.Clone(raw[:26])
		head[0] = version
		refuse(t, keys, testZone, forge(t, secret(1), head))
	}
	// The decoder skips line breaks: a token of version 1 with ten of them has the
	// length of one of version 2.
	refuse(t, keys, testZone, keys.Sign(testZone, place)+strings.Repeat("\n", 10))
	refuse(t, keys, "OTHER_ZONE", good)
}

// TestRenewSaysHowFresh: what is signed is what the answer says, in whole seconds; the
// same answer has the same token, which is then not signed again.
func TestRenewSaysHowFresh(t *testing.T) {
	t.Parallel()
	keys := newKeys(t, 1, 2)
	rapid.Check(t, func(t *rapid.T) {
		p := told
		p.Epoch = rapid.Uint32().Draw(t, "epoch")
		p.DueMillis = rapid.Int64Range(-5, 1<<32*1000).Draw(t, "due")
		tok := keys.Renew(testZone, keys.Sign(testZone, told), p)
		want := p
		want.DueMillis = min(max(0, p.DueMillis/1000), 1<<32-1) * 1000
		if p.Epoch == 0 {
			want.DueMillis = 0 // of version 1
		}
		if got, err := keys.Verify(testZone, tok); err != nil || got != want {
			t.Fatalf("Verify = %+v, %v, want %+v", got, err, want)
		}
		if again := keys.Renew(testZone, tok, p); again != tok || keys.Sign(testZone, p) != tok {
			t.Fatalf("renewed as %s, signed as %s, was %s", again, keys.Sign(testZone, p), tok)
		}
	})
}
