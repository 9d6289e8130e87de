package console

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// cookieName is what the browser keeps the session under.
	cookieName = "queue_console"
	// sessionAge is how long a session lasts from log in: the day of an event.
	sessionAge = 12 * time.Hour
	// maxWhoBytes bounds the name that goes into the record of changes.
	maxWhoBytes = 64
	// sessionIDBytes make a session's id, by which it is logged out.
	sessionIDBytes = 16
	// maxLoggedOut bounds how many sessions that were logged out are
	// remembered until they expire. Beyond it the oldest is forgotten; by
	// then somebody logs in and out twice a minute all day long.
	maxLoggedOut = 2048
	// sessionLabel keeps keys of sessions apart from others of the secret.
	sessionLabel = "queue-server console session v1"
)

// session is who a request comes from.
type session struct {
	// who is the name that the operator gave: not proven, but the operator's
	// own word, for the record of changes.
	who     string
	expires time.Time
	id      [sessionIDBytes]byte
}

// sessions begins sessions, and knows them again by their cookies. It is safe for
// concurrent use. Nothing of a session is kept on the server but that it was logged
// out, so all servers of one secret and token know it.
type sessions struct {
	// keys sign sessions, the newest first. The token is in each: another
	// token ends all sessions. The secret is in each: who steals a cookie
	// cannot try tokens on it.
	keys [][]byte
	now  func() time.Time

	mu        sync.Mutex
	loggedOut map[[sessionIDBytes]byte]time.Time // until when it would have lasted
}

func newSessions(token string, secrets [][]byte, now func() time.Time) *sessions {
	g := &sessions{now: now, loggedOut: map[[sessionIDBytes]byte]time.Time{}}
	for _, secret := range secrets {
		g.keys = append(g.keys, sign(secret, []byte(sessionLabel+"\x00"+token)))
	}
	return g
}

// begin returns a new session of this operator.
func (g *sessions) begin(who string) session {
	s := session{who: who, expires: g.now().Add(sessionAge).Truncate(time.Second)}
	_, _ = rand.Read(s.id[:]) // never fails: crypto/rand ends the program instead
	return s
}

// seal returns the session as text for a cookie: base64url of the expiry (Unix
// seconds, 8 bytes), the id and the name, then of their HMAC.
func (g *sessions) seal(s session) string {
	body := binary.BigEndian.AppendUint64(nil, uint64(s.expires.Unix()))
	body = append(append(body, s.id[:]...), s.who...)
	encode := base64.RawURLEncoding.EncodeToString
	return encode(body) + "." + encode(sign(g.keys[0], body))
}

// open returns the session that the text stands for, if it was sealed with this
// secret and token, has not expired and was not logged out.
func (g *sessions) open(text string) (session, bool) {
	left, right, _ := strings.Cut(text, ".")
	body, err1 := base64.RawURLEncoding.Strict().DecodeString(left)
	mac, err2 := base64.RawURLEncoding.Strict().DecodeString(right)
	signed := slices.ContainsFunc(g.keys, func(key []byte) bool { return hmac.Equal(sign(key, body), mac) })
	if err1 != nil || err2 != nil || len(body) < 8+sessionIDBytes || !signed {
		return session{}, false
	}
	s := session{
		expires: time.Unix(int64(binary.BigEndian.Uint64(body)), 0),
		id:      [sessionIDBytes]byte(body[8 : 8+sessionIDBytes]),
		who:     string(body[8+sessionIDBytes:]),
	}
	if !g.alive(s) {
		return session{}, false
	}
	return s, true
}

// alive reports whether the session has neither expired nor been logged out.
func (g *sessions) alive(s session) bool {
	if !g.now().Before(s.expires) {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	_, out := g.loggedOut[s.id]
	return !out
}

// end logs the session out, on this server.
func (g *sessions) end(s session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	var first [sessionIDBytes]byte
	for id, expires := range g.loggedOut {
		if !now.Before(expires) {
			delete(g.loggedOut, id)
		} else if f, ok := g.loggedOut[first]; !ok || expires.Before(f) {
			first = id
		}
	}
	if len(g.loggedOut) >= maxLoggedOut {
		delete(g.loggedOut, first)
	}
	g.loggedOut[s.id] = s.expires
}

func sign(key, body []byte) []byte {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write(body) // never fails
	return mac.Sum(nil)
}

// cookie is the session's; of a negative age, one that removes it.
func cookie(r *http.Request, text string, age time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: cookieName, Value: text, Path: root, MaxAge: int(age / time.Second),
		HttpOnly: true, SameSite: http.SameSiteStrictMode,
		// The browser came over TLS, to here or to a proxy in front. A client that lies about it gets
		// a cookie that it will not send.
		Secure: r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https"),
	}
}

// checkWho returns the operator's name without blanks around it, or what is
// wrong with it.
func checkWho(name string) (who, fault string) {
	who = strings.TrimSpace(name)
	switch {
	case who == "":
		return who, "Say who you are: the record of changes needs a name."
	case len(who) > maxWhoBytes:
		return who, "That name is too long: it may have 64 bytes."
	case !utf8.ValidString(who) || strings.ContainsFunc(who, func(r rune) bool { return !unicode.IsPrint(r) }):
		return who, "That name has characters that cannot be shown."
	}
	return who, ""
}
