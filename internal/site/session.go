package site

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/openqueue/waitingroom/internal/token"
)

// SessionHeader is the header of a session, for apps without cookies. It is in the answer to an app
// that shows a pass, and from then on in the app's requests.
const SessionHeader = "X-Waiting-Room-Session"

// The beginning of the cookie's name; the zone follows. Browsers accept a name with __Host- only
// from the site itself, by TLS, and for all its paths. The waiting page's cookies begin otherwise.
const (
	secureCookie = "__Host-waitingroom-"
	plainCookie  = "waitingroom_session-"
)

// find returns the first good session that the request has, in a cookie or in SessionHeader.
func (s *Service) find(zoneID string, q *request, now time.Time) (token.Session, bool) {
	name := plainCookie
	if q.secure {
		name = secureCookie
	}
	good := func(text string) (token.Session, bool) {
		if len(text) != token.SessionSize {
			return token.Session{}, false
		}
		found, err := s.Keys.VerifySession(zoneID, text)
		return found, err == nil && found.Good(now)
	}
	for _, line := range q.header["Cookie"] {
		for line != "" {
			var pair string
			pair, line, _ = strings.Cut(line, ";")
			value, ok := strings.CutPrefix(strings.TrimLeft(pair, " "), name)
			if !ok {
				continue
			}
			if value, ok = strings.CutPrefix(value, zoneID); !ok || value == "" || value[0] != '=' {
				continue
			}
			if found, ok := good(value[1:]); ok {
				return found, true
			}
		}
	}
	return good(field(q.header, SessionHeader))
}

// setSession hands a session out as a cookie.
func setSession(h http.Header, zoneID string, secure bool, text string, length time.Duration) {
	name, more := plainCookie, ""
	if secure {
		name, more = secureCookie, "; Secure"
	}
	h.Add("Set-Cookie", name+zoneID+"="+text+"; Path=/; Max-Age="+strconv.FormatInt(int64(length/time.Second), 10)+
		"; HttpOnly; SameSite=Lax"+more)
}
