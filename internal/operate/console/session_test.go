package console

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
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
	clock := newHand()
	g := newSessions(testToken, [][]byte{newSecret, oldSecret}, clock.now)
	begun := g.begin("Anna")
	text := g.seal(begun)
	if s, ok := g.open(text); !ok || s != begun || s.who != "Anna" || !s.expires.Equal(clock.at.Add(12*time.Hour)) {
		t.Errorf("got %+v %v, want %+v", s, ok, begun)
	}
	older := newSessions(testToken, [][]byte{oldSecret}, clock.now).seal(begun)
	tests := map[string]struct {
		gate *sessions
		text string
		want bool
	}{
		"as sealed":             {g, text, true},
		"sealed with the old":   {g, older, true},
		"on another server":     {newSessions(testToken, [][]byte{newSecret}, clock.now), text, true},
		"another token":         {newSessions(otherToken, [][]byte{newSecret, oldSecret}, clock.now), text, false},
		"another secret":        {newSessions(testToken, [][]byte{oldSecret}, clock.now), text, false},
		"empty":                 {g, "", false},
		"no signature":          {g, strings.Split(text, ".")[0] + ".", false},
		"no dot":                {g, strings.Split(text, ".")[0], false},
		"not base64":            {g, "?" + text, false},
		"short":                 {g, "AAAA.AAAA", false},
		"more behind":           {g, text + "A", false},
		"a name that is longer": {g, longer(text), false},
	}
	for name, tt := range tests {
		if s, ok := tt.gate.open(tt.text); ok != tt.want || ok != (s.who != "") {
			t.Errorf("%s: open = %v, want %v", name, ok, tt.want)
		}
	}
	for i := range len(text) { // one bit of each character
		broken := []byte(text)
		broken[i] ^= 1
		if _, ok := g.open(string(broken)); ok {
			t.Errorf("opened with character %d changed", i)
		}
	}

	clock.at = begun.expires.Add(-time.Second)
	if _, ok := g.open(text); !ok {
		t.Error("ended before its time")
	}
	clock.at = begun.expires
	if s, ok := g.open(text); ok || s != (session{}) {
		t.Error("goes on after its time")
	}
}

// longer moves the boundary between body and signature.
func longer(text string) string {
	left, right, _ := strings.Cut(text, ".")
	return left + right[:4] + "." + right[4:]
}

func TestLogOutIsRememberedUntilTheSessionExpires(t *testing.T) {
	t.Parallel()
	clock := newHand()
	g := newSessions(testToken, [][]byte{newSecret}, clock.now)
	out, stays := g.begin("Anna"), g.begin("Bea")
	g.end(out)
	if s, ok := g.open(g.seal(out)); ok || s != (session{}) {
		t.Error("a session that was logged out opens")
	}
	if _, ok := g.open(g.seal(stays)); !ok {
		t.Error("the other one does not")
	}
	clock.at = clock.at.Add(time.Second)
	for range maxLoggedOut + 10 {
		g.end(g.begin("a robot"))
	}
	if n := len(g.loggedOut); n != maxLoggedOut {
		t.Errorf("%d are remembered, want %d", n, maxLoggedOut)
	}
	clock.at = clock.at.Add(sessionAge)
	g.end(g.begin("Anna"))
	if n := len(g.loggedOut); n != 1 {
		t.Errorf("%d are remembered after their time, want 1", n)
	}
}

// TestCookie: TestLogIn has it behind a proxy with TLS.
func TestCookie(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodPost, "/console/login", nil)
	const want = "queue_console=x; Path=/console/; Max-Age=43200; HttpOnly; SameSite=Strict"
	if got := cookie(r, "x", sessionAge).String(); got != want {
		t.Errorf("plain: got %q, want %q", got, want)
	}
	r.TLS = &tls.ConnectionState{}
	if got := cookie(r, "", -time.Second).String(); !strings.Contains(got, "Max-Age=0") || !strings.Contains(got, "Secure") {
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
