package pass

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/zone"
)

// Errors of Issue and Verify. Compare with errors.Is.
var (
	// ErrGrant: no pass can be made of the grant; the caller is at fault.
	ErrGrant = errors.New("pass: unusable grant")
	// ErrInvalid: the string is not a pass of this issuer that one of the secrets signed.
	ErrInvalid = errors.New("pass: invalid")
	// ErrExpired: a genuine pass whose time is over.
	ErrExpired = errors.New("pass: expired")
)

// issuedEarlier is by how much iat lies before the admission: more than clocks differ by that are kept in time. PyJWT refuses
// a pass whose iat is a second in its future.
const issuedEarlier = 10 * time.Second

// maxPass bounds a pass, in bytes, as the public package pass does: those that are made have at most 2048.
const maxPass = 4096

// Grant is one admission.
type Grant struct {
	// ZoneID names the zone.
	ZoneID string
	// ID is the visitor's.
	ID line.ID
	// AdmittedAtMillis and ExpiresAtMillis are Unix milliseconds; the pass
	// carries the latter in whole seconds, rounded down.
	AdmittedAtMillis, ExpiresAtMillis int64
	// AheadMillis is by how much the clock of AdmittedAtMillis and ExpiresAtMillis was ahead of the true time at the
	// admission, 0 or more. The pass carries the true time.
	AheadMillis int64
	// Local: a server admitted the visitor by itself, while the store was away.
	Local bool
	// Admission is the jti. Verify sets it. Issue ignores it and makes it from the other fields.
	Admission uuid.UUID
}

// claims are what a pass says.
type claims struct {
	Zone string `json:"zone"`
	// Audience is one string, not the list of RegisteredClaims.
	Audience string `json:"aud"`
	Local    bool   `json:"local,omitempty"`
	// AdmittedAt is in Unix milliseconds.
	AdmittedAt int64 `json:"admittedAt"`
	jwt.RegisteredClaims
}

// Issue returns the pass of an admission, signed under the newest secret. The
// same grant always gets the same pass. A zone's name that is not valid, an
// admission not after the beginning of 1970, or one that ends before it begins is an error that
// wraps ErrGrant.
func (s *Signer) Issue(g Grant) (string, error) {
	switch {
	case !zone.ValidID(g.ZoneID):
		return "", fmt.Errorf("%w: zone %q", ErrGrant, g.ZoneID)
	case g.AheadMillis < 0 || g.AdmittedAtMillis <= g.AheadMillis || g.ExpiresAtMillis <= g.AdmittedAtMillis:
		return "", fmt.Errorf("%w: from %d to %d", ErrGrant, g.AdmittedAtMillis, g.ExpiresAtMillis)
	}
	admitted := g.AdmittedAtMillis - g.AheadMillis
	// Not jwt.NewWithClaims, which would make the same header every time.
	pass, err := (&jwt.Token{
		Header: s.newest.header,
		Method: s.newest.method,
		Claims: claims{
			Zone:       g.ZoneID,
			Audience:   g.ZoneID,
			Local:      g.Local,
			AdmittedAt: admitted,
			RegisteredClaims: jwt.RegisteredClaims{
				Issuer:    s.issuer,
				Subject:   hex.EncodeToString(g.ID[:]),
				IssuedAt:  seconds(max(0, admitted-issuedEarlier.Milliseconds())),
				ExpiresAt: seconds(g.ExpiresAtMillis - g.AheadMillis),
				ID:        g.jti().String(),
			},
		},
	}).SignedString(s.newest.private)
	if err != nil {
		return "", fmt.Errorf("pass: sign: %w", err)
	}
	return pass, nil
}

// seconds rounds Unix milliseconds, not negative, down to whole seconds.
func seconds(millis int64) *jwt.NumericDate {
	return jwt.NewNumericDate(time.Unix(millis/1000, 0))
}

// jti names the admission: see line.Admission.JTI.
func (g Grant) jti() uuid.UUID {
	return line.Admission{ID: g.ID, AtMillis: g.AdmittedAtMillis}.JTI(g.ZoneID)
}

// Verify returns what a pass grants at the given time; the grant expires at a whole second. The caller compares
// the zone. It accepts only passes of this issuer, with the algorithm of the key that the pass names, which must be
// one of the secrets' or of the RSA keys. The error wraps ErrExpired for a genuine pass from the second of its exp on, and ErrInvalid in
// every other case.
func (s *Signer) Verify(pass string, now time.Time) (Grant, error) {
	if len(pass) > maxPass || strings.ContainsAny(pass, "\r\n") { // base64 would skip these
		return Grant{}, fmt.Errorf("%w: too long, or with a line break", ErrInvalid)
	}
	var c claims
	_, err := jwt.ParseWithClaims(pass, &c, s.key,
		jwt.WithValidMethods(Algorithms),
		jwt.WithTimeFunc(func() time.Time { return now }),
		jwt.WithExpirationRequired(),
		jwt.WithIssuer(s.issuer),
		jwt.WithStrictDecoding(),
	)
	switch {
	case errors.Is(err, jwt.ErrTokenExpired):
		return Grant{}, fmt.Errorf("%w: %w", ErrExpired, err)
	case err != nil:
		return Grant{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return c.grant()
}

// key finds the public key that the header of a pass names.
func (s *Signer) key(t *jwt.Token) (any, error) {
	kid, ok := t.Header["kid"].(string)
	if !ok {
		return nil, errors.New("no kid")
	}
	key, ok := s.keys[kid]
	if !ok || key.method.Alg() != t.Method.Alg() {
		return nil, errors.New("unknown kid, or not of that algorithm")
	}
	return key.private.Public(), nil
}

// grant reads claims whose signature and exp are good.
func (c claims) grant() (Grant, error) {
	id, err := hex.DecodeString(c.Subject)
	admission, noID := uuid.Parse(c.ID)
	if err != nil || noID != nil || len(id) != len(line.ID{}) || c.AdmittedAt == 0 || c.Audience != c.Zone {
		return Grant{}, fmt.Errorf("%w: not the claims of a pass", ErrInvalid)
	}
	return Grant{
		ZoneID:           c.Zone,
		ID:               line.ID(id),
		AdmittedAtMillis: c.AdmittedAt,
		ExpiresAtMillis:  c.ExpiresAt.UnixMilli(),
		Local:            c.Local,
		Admission:        admission,
	}, nil
}
