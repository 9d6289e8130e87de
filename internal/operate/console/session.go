package console

import (
	"net/http"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/operate/people"
	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// cookieName is what the browser keeps the session under. Over TLS, securePrefix stands before it: no page of another
	// name, and none without TLS, can set such a cookie.
	cookieName   = "queue_console"
	securePrefix = "__Host-"
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
	if who = strings.TrimSpace(name); who == "" {
		return who, "Enter your name: the record of changes needs it."
	}
	if err := zone.CheckBy(who); err != nil {
		return who, "That name " + err.Error() + "."
	}
	return who, ""
}
