package console

import (
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/operate/people"
)

// TestCookie: TestLogIn has it behind a proxy with TLS.
func TestCookie(t *testing.T) {
	t.Parallel()
	const want = "queue_console=x; Path=/console/; Max-Age=43200; HttpOnly; SameSite=Strict"
	if got := cookie(false, "x", people.SessionAge).String(); got != want {
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
