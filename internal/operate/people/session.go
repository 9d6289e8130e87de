package people

import (
	"context"
	"crypto/rand"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/openqueue/waitingroom/internal/audit"
)

// SessionAge is how long a session of the console lasts from log in, at most: the day of an event.
const SessionAge = 12 * time.Hour

// Session is a log in to the console.
type Session struct {
	// By is who logged in, and what they may do now.
	By Identity
	// ID names the session.
	ID      string
	Begun   time.Time
	Expires time.Time
}

// claims are what a session's cookie says: who and how it was proven; and of who was proven by a provider, what they may do. What a
// token allows is looked up again each time.
type claims struct {
	jwt.RegisteredClaims
	Proof audit.Proof `json:"proof"`
	// ProofID is the ID of the token, or the subject at the provider.
	ProofID string  `json:"tid,omitempty"`
	Grants  []Grant `json:"grants,omitempty"`
}

// Begin begins a session of that age, at most SessionAge, and returns it as a text for a cookie: a JWT, signed with a key of the
// secret, so that it is good on every server.
func (r *Registry) Begin(by Identity, age time.Duration) (string, Session, error) {
	now := r.Now().Truncate(time.Second)
	s := Session{By: by, ID: rand.Text(), Begun: now, Expires: now.Add(min(age, SessionAge))}
	c := claims{
		RegisteredClaims: jwt.RegisteredClaims{Subject: by.String(), ID: s.ID, IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(s.Expires)},
		Proof:            by.Proof, ProofID: by.ID,
	}
	if by.Proof == audit.OIDC {
		c.Grants = by.Grants
	}
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, c).SignedString(r.signing.Keys[0])
	return text, s, err
}

// Open returns the session that a text of Begin stands for, if it has not ended.
func (r *Registry) Open(text string) (Session, bool) {
	var c claims
	_, err := jwt.ParseWithClaims(text, &c, func(*jwt.Token) (any, error) { return r.signing, nil },
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithExpirationRequired(), jwt.WithTimeFunc(r.Now), jwt.WithStrictDecoding())
	if err != nil || c.IssuedAt == nil || c.ID == "" {
		return Session{}, false
	}
	s := Session{By: Identity{Name: c.Subject, Proof: c.Proof, ID: c.ProofID, Grants: c.Grants}, ID: c.ID, Begun: c.IssuedAt.Time, Expires: c.ExpiresAt.Time}
	by, ok := r.Alive(s)
	s.By = by
	return s, ok
}

// Alive returns who has the session and what they may do now; false when it has ended: by its time, a log out, or because the
// token was revoked. Until this server has read the store once, it does not know which ended before it began: none of these goes on. Nor does
// one that began before the document: all servers have forgotten what ended.
func (r *Registry) Alive(s Session) (Identity, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.Now().Before(s.Expires) || !r.read && s.Begun.Before(r.begun) || s.Begun.UnixMilli() < r.book.SinceMillis || slices.ContainsFunc(r.book.Ended, func(e ended) bool {
		return e.ID != "" && e.ID == s.ID || e.Subject != "" && (e.Subject == s.By.String() || e.Subject == s.By.ID) && s.Begun.UnixMilli() <= e.AtMillis
	}) {
		return Identity{}, false
	}
	switch s.By.Proof {
	case audit.Root:
		if !slices.Contains(r.rootIDs, s.By.ID) {
			return Identity{}, false
		}
		return rootIdentity(s.By.Name, s.By.ID), true
	case audit.Token:
		i := slices.IndexFunc(r.book.Tokens, func(k kept) bool { return k.ID == s.By.ID })
		if i < 0 {
			return Identity{}, false
		}
		return r.good(r.book.Tokens[i].Issued, true)
	case audit.OIDC, audit.Proxy:
		return s.By, true
	}
	return Identity{}, false
}

// End ends a session: on this server at once, on all others within a second. While the store is away, NotKept says so.
func (r *Registry) End(ctx context.Context, s Session) {
	r.mu.Lock()
	r.end(ended{ID: s.ID, AtMillis: r.Now().UnixMilli(), UntilMillis: s.Expires.UnixMilli()})
	r.mu.Unlock()
	r.runOnce(context.WithoutCancel(ctx))
}

// EndAll ends all sessions of somebody of that name, of that token or of that subject at the provider, that were begun until now.
// Whoever has a good token, or a group with a role, can log in again.
func (r *Registry) EndAll(ctx context.Context, name string, by audit.By) {
	r.mu.Lock()
	now := r.Now()
	r.end(ended{Subject: name, AtMillis: now.UnixMilli(), UntilMillis: now.Add(SessionAge).UnixMilli()})
	r.note(by, "revoked sessions", name)
	r.mu.Unlock()
	r.Logger.InfoContext(ctx, "sessions revoked", "of", name, "by", by.Who(), "how", by.How())
	r.runOnce(ctx)
}
