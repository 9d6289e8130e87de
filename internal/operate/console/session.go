package console

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/golang-jwt/jwt/v5"

	"github.com/openqueue/waitingroom/internal/store"
)

const (
	// cookieName is what the browser keeps the session under. Over TLS, securePrefix stands before it: no page of another
	// name, and none without TLS, can set such a cookie.
	cookieName   = "queue_console"
	securePrefix = "__Host-"
	// sessionAge is how long a session lasts from log in: the day of an event.
	sessionAge = 12 * time.Hour
	// maxWhoBytes bounds the name that goes into the record of changes.
	maxWhoBytes = 64
	// logOutTimeout bounds how long the store may take to say, or to keep, that a session was logged out.
	logOutTimeout = 300 * time.Millisecond
	// sessionLabel keeps keys of sessions apart from others of the secret.
	sessionLabel = "queue-server console session v1"
)

// session is who a request comes from.
type session struct {
	// who is the name that the operator gave: not proven, but the operator's
	// own word, for the record of changes.
	who     string
	expires time.Time
	id      string
}

// sessions begins sessions, and knows them again by their cookies. It is safe for
// concurrent use. Nothing of a session is kept but that it was logged out, in the store: so all servers of one store,
// secret and token know it.
type sessions struct {
	// keys sign sessions, the newest first. The token is in each: another
	// token ends all sessions. The secret is in each: who steals a cookie
	// cannot try tokens on it.
	keys   jwt.VerificationKeySet
	spends store.Spender
	now    func() time.Time
}

func newSessions(token string, secrets [][]byte, spends store.Spender, now func() time.Time) *sessions {
	g := &sessions{spends: spends, now: now}
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, secret)
		_, _ = mac.Write([]byte(sessionLabel + "\x00" + token)) // never fails
		g.keys.Keys = append(g.keys.Keys, mac.Sum(nil))
	}
	return g
}

// begin returns a new session of this operator.
func (g *sessions) begin(who string) session {
	return session{who, g.now().Add(sessionAge).Truncate(time.Second), rand.Text()}
}

// seal returns the session as a JWT for a cookie.
func (g *sessions) seal(s session) (string, error) {
	claims := jwt.RegisteredClaims{Subject: s.who, ID: s.id, ExpiresAt: jwt.NewNumericDate(s.expires)}
	return jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString(g.keys.Keys[0])
}

// open returns the session that the text stands for, if it was sealed with this
// secret and token, has not expired and was not logged out.
func (g *sessions) open(ctx context.Context, text string) (session, bool) {
	var claims jwt.RegisteredClaims
	_, err := jwt.ParseWithClaims(text, &claims, func(*jwt.Token) (any, error) { return g.keys, nil },
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithExpirationRequired(), jwt.WithTimeFunc(g.now), jwt.WithStrictDecoding())
	if err != nil {
		return session{}, false
	}
	s := session{claims.Subject, claims.ExpiresAt.Time, claims.ID}
	if !g.alive(ctx, s) {
		return session{}, false
	}
	return s, true
}

// alive reports whether the session has neither expired nor been logged out. While the store is away, a log out is not
// known: a pause must not wait for the store.
func (g *sessions) alive(ctx context.Context, s session) bool {
	if !g.now().Before(s.expires) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, logOutTimeout)
	defer cancel()
	in, err := g.spends.Spend(ctx, s.key(), logOutBy, 0)
	return in || err != nil
}

// end logs the session out on every server; or returns an error, and the session goes on.
func (g *sessions) end(ctx context.Context, s session) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), logOutTimeout)
	defer cancel()
	_, err := g.spends.Spend(ctx, s.key(), logOutBy, sessionAge)
	return err
}

// key is what a log out spends, and logOutBy who does.
func (s session) key() string { return sessionLabel + "\x00" + s.id }

const logOutBy = "log out"

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
