package pass

import (
	"fmt"
	"maps"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/openqueue/waitingroom/internal/zone"
)

// RevokedLife is how long a list of revoked passes is good.
const RevokedLife = time.Minute

// revoked are the claims of a list of revoked passes. It lacks what a pass has, so no verifier takes it for one.
type revoked struct {
	// UpTo: all admissions up to then are revoked, in Unix milliseconds as the jti has them. Passes are the jti of others.
	UpTo   int64    `json:"revokedUpTo"`
	Passes []string `json:"revoked"`
	jwt.RegisteredClaims
}

// Revoked returns the signed list of what operators have revoked in a zone: a JWT whose type is revoked+jwt.
func (s *Signer) Revoked(z zone.Settings, now time.Time) (string, error) {
	header := maps.Clone(s.newest.header)
	header["typ"] = "revoked+jwt"
	list, err := (&jwt.Token{Header: header, Method: s.newest.method, Claims: revoked{
		UpTo: z.InsideState.RevokedUpToMillis, Passes: append([]string{}, z.InsideState.Revoked...),
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: s.issuer, Audience: jwt.ClaimStrings{z.ZoneID},
			IssuedAt: jwt.NewNumericDate(now.Add(-issuedEarlier)), ExpiresAt: jwt.NewNumericDate(now.Add(RevokedLife)),
		},
	}}).SignedString(s.newest.private)
	if err != nil {
		return "", fmt.Errorf("pass: sign what was revoked: %w", err)
	}
	return list, nil
}
