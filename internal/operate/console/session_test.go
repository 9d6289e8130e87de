package console

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	testToken  = "the-operators-token-of-tests"
	otherToken = "another-operators-token"
)

var (
	oldSecret = []byte("the old secret, of 32 bytes or so")
	newSecret = []byte("the new secret, of 32 bytes or so")
)

// hand is a clock that is moved by hand.
type hand struct{ at time.Time }

func (h *hand) now() time.Time { return h.at }

func newHand() *hand { return &hand{time.Unix(1_795_000_000, 0)} }

func TestSession(t *testing.T) {
	t.Parallel()
	clock, none := newHand(), &spends{}
	g := newSessions(testToken, [][]byte{newSecret, oldSecret}, none, clock.now)
	begun := g.begin("Anna")
	text := sealed(t, g, begun)
	if s, ok := g.open(t.Context(), text); !ok || s.who != "Anna" || s.id != begun.id || !s.expires.Equal(clock.at.Add(12*time.Hour)) {
		t.Errorf("got %+v %v, want %+v", s, ok, begun)
	}
	old := newSessions(testToken, [][]byte{oldSecret}, none, clock.now)
	unsigned, err := jwt.NewWithClaims(jwt.SigningMethodNone, jwt.MapClaims{"sub": "Eve", "exp": begun.expires.Unix()}).SignedString(jwt.UnsafeAllowNoneSignatureType)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		gate *sessions
		text string
		want bool
	}{
		"as sealed":           {g, text, true},
		"sealed with the old": {g, sealed(t, old, begun), true},
		"on another server":   {newSessions(testToken, [][]byte{newSecret}, none, clock.now), text, true},
		"another token":       {newSessions(otherToken, [][]byte{newSecret, oldSecret}, none, clock.now), text, false},
		"another secret":      {old, text, false},
		"empty":               {g, "", false},
		"not signed":          {g, unsigned, false},
		"more behind":         {g, text + "A", false},
	} {
		if s, ok := tt.gate.open(t.Context(), tt.text); ok != tt.want || ok != (s.who != "") {
			t.Errorf("%s: open = %v, want %v", name, ok, tt.want)
		}
	}
	clock.at = begun.expires.Add(-time.Second)
	if _, ok := g.open(t.Context(), text); !ok {
		t.Error("ended before its time")
	}
	clock.at = begun.expires
	if s, ok := g.open(t.Context(), text); ok || s != (session{}) {
		t.Error("goes on after its time")
	}
}

// sealed is the session as a cookie has it.
func sealed(t *testing.T, g *sessions, s session) string {
	t.Helper()
	text, err := g.seal(s)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// spends is a store; while it is away, it neither takes nor says anything.
type spends struct {
	spent map[string]time.Duration
	away  error
}

func (s *spends) Spend(_ context.Context, key, _ string, life time.Duration) (bool, error) {
	_, was := s.spent[key]
	if s.away == nil && life > 0 {
		s.spent[key] = life
	}
	return !was && s.away == nil, s.away
}

// TestLogOut: every server of the store knows of it. While the store is away, sessions go on.
func TestLogOut(t *testing.T) {
	t.Parallel()
	clock, shared := newHand(), &spends{spent: map[string]time.Duration{}}
	one, other := newSessions(testToken, [][]byte{newSecret}, shared, clock.now), newSessions(testToken, [][]byte{newSecret}, shared, clock.now)
	opens := func(g *sessions, s session) bool {
		_, ok := g.open(t.Context(), sealed(t, g, s))
		return ok
	}
	anna, bea, cleo := one.begin("Anna"), one.begin("Bea"), one.begin("Cleo")
	if err := one.end(t.Context(), anna); err != nil || opens(one, anna) || opens(other, anna) {
		t.Errorf("logged out, and good: %v", err)
	}
	if !opens(one, bea) || !opens(other, bea) {
		t.Error("somebody else's session has ended")
	}
	for _, life := range shared.spent {
		if life < sessionAge {
			t.Errorf("forgotten after %v, before the session ends", life)
		}
	}
	shared.away = errors.New("away")
	if err := one.end(t.Context(), bea); err == nil || !opens(one, cleo) {
		t.Errorf("without the store: %v", err)
	}
}

// TestCookie: TestLogIn has it behind a proxy with TLS.
func TestCookie(t *testing.T) {
	t.Parallel()
	const want = "queue_console=x; Path=/console/; Max-Age=43200; HttpOnly; SameSite=Strict"
	if got := cookie(false, "x", sessionAge).String(); got != want {
		t.Errorf("plain: got %q, want %q", got, want)
	}
	if got := cookie(true, "", -time.Second).String(); !strings.HasPrefix(got, "__Host-queue_console=; Path=/; Max-Age=0; ") || !strings.Contains(got, "Secure") {
		t.Errorf("removed, over TLS, by %q", got)
	}
}

func TestCheckWho(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		typed, want string
		ok          bool
	}{
		"plain":       {"Anna", "Anna", true},
		"blanks":      {"  Anna Öz \n", "Anna Öz", true},
		"64 bytes":    {strings.Repeat("x", 64), strings.Repeat("x", 64), true},
		"65 bytes":    {strings.Repeat("x", 65), "", false},
		"empty":       {"", "", false},
		"blanks only": {" \t ", "", false},
		"two lines":   {"Anna\nBea", "", false},
		"turned":      {"Anna\u202eaeB", "", false},
		"not UTF-8":   {"\xff\xfe", "", false},
	} {
		who, fault := checkWho(tt.typed)
		if (fault == "") != tt.ok || tt.ok && who != tt.want {
			t.Errorf("%s: got %q %q", name, who, fault)
		}
	}
}
