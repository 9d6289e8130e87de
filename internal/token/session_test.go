package token_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/openqueue/waitingroom/internal/token"
)

var begun = time.Unix(1_795_223_434, 0)

func TestSessionIsOfItsZoneAndSecret(t *testing.T) {
	t.Parallel()
	s := token.Session{Admission: [16]byte{1, 2, 3}, Begun: begun, Issued: begun.Add(time.Hour), Length: 30 * time.Minute}
	old, rotated, other := newKeys(t, 1), newKeys(t, 2, 1), newKeys(t, 3)
	text := old.SignSession(testZone, s)
	if len(text) != token.SessionSize || text != old.SignSession(testZone, s) {
		t.Errorf("%q", text)
	}
	for _, k := range []*token.Keys{old, rotated} {
		if got, err := k.VerifySession(testZone, text); err != nil || got != s {
			t.Errorf("got %+v, %v, want %+v", got, err, s)
		}
	}
	if rotated.SignSession(testZone, s) == text {
		t.Error("the newest secret does not sign")
	}
	for name, fails := range map[string]func() (token.Session, error){
		"another zone":     func() (token.Session, error) { return old.VerifySession("OTHER", text) },
		"another secret":   func() (token.Session, error) { return other.VerifySession(testZone, text) },
		"a token":          func() (token.Session, error) { return old.VerifySession(testZone, old.Sign(testZone, place)) },
		"longer":           func() (token.Session, error) { return old.VerifySession(testZone, text+"A") },
		"nothing":          func() (token.Session, error) { return old.VerifySession(testZone, "") },
		"with a line feed": func() (token.Session, error) { return old.VerifySession(testZone, text[:70]+"\n") },
	} {
		if got, err := fails(); err == nil || got != (token.Session{}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if _, err := old.Verify(testZone, text); err == nil {
		t.Error("a session is a token")
	}
}

func TestSessionIsGoodForItsLength(t *testing.T) {
	t.Parallel()
	s := token.Session{Begun: begun, Issued: begun.Add(time.Hour), Length: time.Minute}
	for after, want := range map[time.Duration]bool{
		-61 * time.Second: false, -60 * time.Second: true, 0: true, time.Minute - 1: true, time.Minute: false, time.Hour: false,
	} {
		if got := s.Good(s.Issued.Add(after)); got != want {
			t.Errorf("%v after it was issued: %v", after, got)
		}
	}
}

// TestNoForgedSession: whatever one byte of a session becomes, it is none, or the same.
func TestNoForgedSession(t *testing.T) {
	t.Parallel()
	keys := newKeys(t, 1, 2)
	rapid.Check(t, func(t *rapid.T) {
		s := token.Session{
			Admission: [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "admission")),
			Begun:     begun, Issued: begun.Add(time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "issued")) * time.Second),
			Length: time.Duration(rapid.Int64Range(60, 86_400).Draw(t, "length")) * time.Second,
		}
		text := []byte(keys.SignSession(testZone, s))
		if got, err := keys.VerifySession(testZone, string(text)); err != nil || got != s {
			t.Fatalf("%+v, %v, want %+v", got, err, s)
		}
		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		was := text[at]
		text[at] = rapid.Byte().Draw(t, "becomes")
		if _, err := keys.VerifySession(testZone, string(text)); (err == nil) != (text[at] == was) {
			t.Fatalf("%s: %v", text, err)
		}
	})
}
