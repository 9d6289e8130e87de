package console

import (
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/operate/people"
)

const (
	// cookieName is what the browser keeps the session under. Over TLS, securePrefix stands before it: no page of another
	// name, and none without TLS, can set such a cookie.
	cookieName   = "queue_console"
	securePrefix = "__Host-"
	// maxWhoBytes bounds the name that goes into the record of changes.
	maxWhoBytes = 64
)

// session is who a request comes from.
type session struct {
	// who is the name for the record of changes.
	who string
	people.Session
}

// by is who makes a change from the console.
func (s session) by() audit.By { return s.By.By(audit.ViaConsole) }

// cookie is the session's; of a negative age, one that removes it. The browser came over TLS or not: see Parts.Secure.
func cookie(secure bool, text string, age time.Duration) *http.Cookie {
	c := &http.Cookie{
		Name: cookieName, Value: text, Path: root, MaxAge: int(age / time.Second),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: secure,
	}
	if secure {
		c.Name, c.Path = securePrefix+cookieName, "/" // the prefix asks for that path
	}
	return c
}

// checkWho returns the operator's name without blanks around it, or what is
// wrong with it.
func checkWho(name string) (who, fault string) {
	who = strings.TrimSpace(name)
	switch {
	case who == "":
		return who, "Enter your name: the record of changes needs it."
	case len(who) > maxWhoBytes:
		return who, "That name is too long: it may have 64 bytes."
	case !utf8.ValidString(who) || strings.ContainsFunc(who, func(r rune) bool { return !unicode.IsPrint(r) }):
		return who, "That name has characters that cannot be shown."
	}
	return who, ""
}
