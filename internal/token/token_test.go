package token_test

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/token"
)

const testZone = "TEST_ZONE"

var place = line.Place{
	ID:              line.ID{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef},
	ArrivedAtMicros: 1_795_223_373_123_456,
	Epoch:           1_795_223_000,
	DueMillis:       1_795_223_380_000,
}

// decode returns the bytes of a token that Sign made.
func decode(t testing.TB, tok string) []byte {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(tok)
	if err != nil {
		t.Fatalf("%q: %v", tok, err)
	}
	return raw
}

// encode is decode's inverse.
func encode(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

// forge returns a token of testZone over any bytes with a code that is right.
func forge(t testing.TB, secret, head []byte) string {
	t.Helper()
	code := hmacUnder(t, secret, "openqueue/waitingroom/v1 token key", testZone, string(head))
	return encode(slices.Concat(head, code[:16]))
}

// refuse fails the test unless the token is invalid and says nothing else.
func refuse(t *testing.T, keys *token.Keys, zoneID, tok string) {
	t.Helper()
	got, err := keys.Verify(zoneID, tok)
	if !errors.Is(err, token.ErrInvalid) {
		t.Errorf("Verify(%q, %q) = %v, %v, want ErrInvalid", zoneID, tok, got, err)
	}
	if got != (line.Place{}) {
		t.Errorf("Verify(%q, %q) gave the place %v with its error", zoneID, tok, got)
	}
}

// TestLayout: tokens that are out there have the documented layout.
func TestLayout(t *testing.T) {
	t.Parallel()
	tok := newKeys(t, 1).Sign(testZone, place)
	raw := decode(t, tok)
	if len(raw) != 42 || len(tok) != 56 || raw[0] != 1 || line.ID(raw[2:10]) != place.ID ||
		int64(binary.BigEndian.Uint64(raw[10:])) != place.ArrivedAtMicros ||
		binary.BigEndian.Uint32(raw[18:]) != place.Epoch || int64(binary.BigEndian.Uint32(raw[22:]))*1000 != place.DueMillis {
		t.Errorf("% x is not laid out as documented", raw)
	}
	if want := forge(t, secret(1), raw[:26]); tok != want {
		t.Errorf("token is %s, want %s", tok, want)
	}
}

// TestTold: a token carries the position that the visitor was told, and none where there is none.
func TestTold(t *testing.T) {
	t.Parallel()
	keys := newKeys(t, 1)
	for told, length := range map[int64]int{0: 56, 1: token.Size, 1 << 27: token.Size} {
		p := place
		p.Told = told
		tok := keys.Sign(testZone, p)
		got, err := keys.Verify(testZone, tok)
		if err != nil || got != p || len(tok) != length || keys.Renew(testZone, tok, p) != tok {
			t.Errorf("%d characters: %+v, %v; want %d of %+v", len(tok), got, err, length, p)
		}
		p.Told++
		if again := keys.Renew(testZone, tok, p); again == tok {
			t.Errorf("told %d, the token says %d", p.Told, told)
		}
	}
}

// Every way a token may be wrong.
func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	keys := newKeys(t, 1, 2)
	good := keys.Sign(testZone, place)
	raw := decode(t, good)
	// with returns a well-signed token whose arrival or version is another.
	with := func(change func(head []byte)) string {
		head := slices.Clone(raw[:26])
		change(head)
		return forge(t, secret(1), head)
	}
	arrival := func(micros int64) string {
		return with(func(head []byte) { binary.BigEndian.PutUint64(head[10:], uint64(micros)) })
	}
	if tok := with(func([]byte) {}); tok != good {
		t.Fatalf("a forged token without a change is %s, want %s", tok, good)
	}
	dashes := keys.Sign(testZone, line.Place{ID: line.ID{0xff, 0xff, 0xff}, ArrivedAtMicros: 1})
	if !strings.Contains(dashes, "__") {
		t.Fatalf("%s is the same in both alphabets", dashes)
	}
	for _, tt := range []struct{ name, zoneID, tok string }{
		{"empty", testZone, ""},
		{"no base64", testZone, strings.Repeat("!", 56)},
		{"a character short", testZone, good[:55]},
		{"a character long", testZone, good + "A"},
		{"a byte short", testZone, encode(raw[:41])},
		{"a byte long", testZone, encode(append(slices.Clone(raw), 0))},
		{"a whole token twice", testZone, good + good},
		{"padded", testZone, good + "=="},
		{"space before", testZone, " " + good},
		{"line break after", testZone, good + "\n"},
		{"line break for a character", testZone, good[:55] + "\n"},
		{"standard base64", testZone, base64.RawStdEncoding.EncodeToString(decode(t, dashes))},
		{"another zone", "OTHER_ZONE", good},
		{"no zone", "", good},
		{"zone with more behind", testZone + "\x00", good},
		{"version 3", testZone, with(func(head []byte) { head[0] = 3 })},
		{"arrival 0", testZone, arrival(0)},
		{"arrival before 1970", testZone, arrival(-1)},
		{"arrival at 2^53", testZone, arrival(1 << 53)},
		{"unknown key id", testZone, with(func(head []byte) { head[1] ^= 0x55 })},
		{"no code", testZone, encode(append(slices.Clone(raw[:26]), make([]byte, 16)...))},
		{"another place's code", testZone, encode(slices.Concat(raw[:26],
			decode(t, keys.Sign(testZone, line.Place{ArrivedAtMicros: 1}))[26:]))},
		{"another zone's code", testZone, encode(slices.Concat(raw[:26],
			decode(t, keys.Sign("OTHER_ZONE", place))[26:]))},
		{"unknown secret", testZone, newKeys(t, 3).Sign(testZone, place)},
		{"unknown secret under a known key id", testZone, forge(t, secret(3), raw[:26])},
		{"old secret under the new key id", testZone, forge(t, secret(2), raw[:26])},
		{"signed with the key for ids", testZone, encode(slices.Concat(raw[:26], hmacUnder(t, secret(1),
			"openqueue/waitingroom/v1 visitor id key", testZone, string(raw[:26]))[:16]))},
	} {
		t.Log(tt.name)
		refuse(t, keys, tt.zoneID, tt.tok)
	}
}

func TestRotation(t *testing.T) {
	t.Parallel()
	old, both, swapped, renewed := newKeys(t, 1), newKeys(t, 1, 2), newKeys(t, 2, 1), newKeys(t, 2)
	underOld, underNew := old.Sign(testZone, place), renewed.Sign(testZone, place)
	if underOld == underNew {
		t.Fatal("two secrets make the same token")
	}
	for _, tt := range []struct {
		name     string
		keys     *token.Keys
		signs    string
		verifies []string
		refuses  []string
	}{
		{"before", old, underOld, []string{underOld}, []string{underNew}},
		{"the new one announced", both, underOld, []string{underOld, underNew}, nil},
		{"the new one signs", swapped, underNew, []string{underOld, underNew}, nil},
		{"the old one dropped", renewed, underNew, []string{underNew}, []string{underOld}},
	} {
		t.Log(tt.name)
		if got := tt.keys.Sign(testZone, place); got != tt.signs {
			t.Errorf("Sign = %s, want %s", got, tt.signs)
		}
		for _, tok := range tt.verifies {
			if got, err := tt.keys.Verify(testZone, tok); err != nil || got != place {
				t.Errorf("Verify(%s) = %v, %v", tok, got, err)
			}
		}
		for _, tok := range tt.refuses {
			refuse(t, tt.keys, testZone, tok)
		}
	}
}

// Of 256 key ids two secrets may well have the same: both must work.
func TestSecretsWithTheSameKeyID(t *testing.T) {
	t.Parallel()
	numbers := make(map[byte]int)
	var a, b int
	for n := 1; b == 0; n++ { // at most 257 rounds
		id := decode(t, newKeys(t, n).Sign(testZone, place))[1]
		if first, ok := numbers[id]; ok {
			a, b = first, n
		}
		numbers[id] = n
	}
	keys := newKeys(t, a, b)
	for _, n := range []int{a, b} {
		tok := newKeys(t, n).Sign(testZone, place)
		if got, err := keys.Verify(testZone, tok); err != nil || got != place {
			t.Errorf("secret %d: %v, %v", n, got, err)
		}
		// The key id does not say whose it is, so it is signed anew.
		if got, want := keys.Renew(testZone, tok, place), keys.Sign(testZone, place); got != want {
			t.Errorf("secret %d: renewed as %s, want %s", n, got, want)
		}
		raw := decode(t, tok)
		raw[33] ^= 1
		refuse(t, keys, testZone, encode(raw))
	}
}

// What is signed is read back, and nothing of the zone, the id or the arrival
// can be exchanged.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	keys := newKeys(t, 1, 2)
	zoneIDs := rapid.StringMatching(`[A-Za-z0-9._-]{1,64}`)
	places := rapid.Custom(func(t *rapid.T) line.Place {
		return line.Place{
			ID:              line.ID(rapid.SliceOfN(rapid.Byte(), 8, 8).Draw(t, "id")),
			ArrivedAtMicros: rapid.Int64Range(1, 1<<53-1).Draw(t, "arrival"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		zoneID, other := zoneIDs.Draw(t, "zone"), zoneIDs.Draw(t, "other zone")
		p, q := places.Draw(t, "place"), places.Draw(t, "other place")
		tok := keys.Sign(zoneID, p)
		if got, err := keys.Verify(zoneID, tok); err != nil || got != p {
			t.Fatalf("Verify = %v, %v, want %v", got, err, p)
		}
		if _, err := keys.Verify(other, tok); (err == nil) != (other == zoneID) {
			t.Fatalf("in zone %q: %v", other, err)
		}
		if (keys.Sign(zoneID, q) == tok) != (q == p) {
			t.Fatalf("%v and %v have one token", p, q)
		}
	})
}

// Under -race this shows that the pooled states are not shared.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	keys := newKeys(t, 1, 2)
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 500 {
				p := line.Place{ID: line.ID{byte(worker)}, ArrivedAtMicros: int64(i + 1)}
				if got, err := keys.Verify(testZone, keys.Sign(testZone, p)); err != nil || got != p {
					t.Errorf("Verify = %v, %v, want %v", got, err, p)
				}
			}
		})
	}
	wg.Wait()
}

func FuzzVerify(f *testing.F) {
	keys := newKeys(f, 1, 2)
	signers := []*token.Keys{newKeys(f, 1), newKeys(f, 2)}
	good := keys.Sign(testZone, place)
	old := signers[1].Sign(testZone, place)
	f.Add(testZone, good)
	f.Add(testZone, old)
	f.Add("OTHER_ZONE", good)
	f.Add("", "")
	f.Add(testZone, good[:55]+"\n")
	f.Add(testZone, good[:55]+"_")
	f.Add(testZone, good+"==")
	f.Add(testZone, strings.Repeat("A", 56))
	f.Fuzz(func(t *testing.T, zoneID, tok string) {
		p, err := keys.Verify(zoneID, tok)
		if err != nil {
			if !errors.Is(err, token.ErrInvalid) || p != (line.Place{}) {
				t.Fatalf("Verify = %v, %v, want nothing and ErrInvalid", p, err)
			}
			return
		}
		if !slices.ContainsFunc(signers, func(s *token.Keys) bool { return s.Sign(zoneID, p) == tok }) {
			t.Fatalf("%q verifies in zone %q, but is no token of %v", tok, zoneID, p)
		}
	})
}

// Renew gives what Sign gives, whatever was shown.
func TestRenew(t *testing.T) {
	t.Parallel()
	keys, before, after := newKeys(t, 1, 2), newKeys(t, 2), newKeys(t, 3, 1, 2)
	other := line.Place{ID: place.ID, ArrivedAtMicros: place.ArrivedAtMicros + 1}
	elsewhere := line.Place{ID: line.ID{9}, ArrivedAtMicros: place.ArrivedAtMicros}
	want := keys.Sign(testZone, place)
	for name, shown := range map[string]string{
		"its own":               want,
		"under an older secret": before.Sign(testZone, place),
		"under a newer secret":  after.Sign(testZone, place),
		"of another arrival":    keys.Sign(testZone, other),
		"of another visitor":    keys.Sign(testZone, elsewhere),
		"cut off":               want[:len(want)-1],
		"no base64":             strings.Repeat("!", len(want)),
		"none":                  "",
	} {
		if got := keys.Renew(testZone, shown, place); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestRenewSaysHowFresh: what is signed is what the answer says, in whole seconds; the
// same answer has the same token, which is then not signed again.
func TestRenewSaysHowFresh(t *testing.T) {
	t.Parallel()
	keys := newKeys(t, 1, 2)
	rapid.Check(t, func(t *rapid.T) {
		p := place
		p.Epoch = rapid.Uint32().Draw(t, "epoch")
		p.DueMillis = rapid.Int64Range(-5, 1<<32*1000).Draw(t, "due")
		tok := keys.Renew(testZone, keys.Sign(testZone, place), p)
		want := p
		want.DueMillis = min(max(0, p.DueMillis/1000), 1<<32-1) * 1000
		if got, err := keys.Verify(testZone, tok); err != nil || got != want {
			t.Fatalf("Verify = %+v, %v, want %+v", got, err, want)
		}
		if again := keys.Renew(testZone, tok, p); again != tok || keys.Sign(testZone, p) != tok {
			t.Fatalf("renewed as %s, signed as %s, was %s", again, keys.Sign(testZone, p), tok)
		}
	})
}
