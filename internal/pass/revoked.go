package pass

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/openqueue/waitingroom/internal/zone"
)

const (
	// RevokedLife is how long a list of revoked passes is good.
	RevokedLife = time.Minute
	// RevokedCached is how long caches may keep a list, and how long the signer keeps it: so a flood of requests costs one signature.
	RevokedCached = 5 * time.Second
)

// sign returns a JWT of a type that no verifier takes for a pass.
func (s *Signer) sign(typ string, c jwt.Claims) (string, error) {
	header := maps.Clone(s.newest.header)
	header["typ"] = typ
	text, err := (&jwt.Token{Header: header, Method: s.newest.method, Claims: c}).SignedString(s.newest.private)
	if err != nil {
		return "", fmt.Errorf("pass: sign %s: %w", typ, err)
	}
	return text, nil
}

// Sign returns a JWT of another type than a pass, whose claims are the fields of an object in JSON. The issuer is added.
func (s *Signer) Sign(typ string, claims any) (string, error) {
	text, err := json.Marshal(claims)
	if err != nil {
		return "", fmt.Errorf("pass: sign %s: %w", typ, err)
	}
	all := jwt.MapClaims{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // a float64 would lose digits
	if err := decoder.Decode(&all); err != nil {
		return "", fmt.Errorf("pass: sign %s: %w", typ, err)
	}
	all["iss"] = s.issuer
	return s.sign(typ, all)
}

// revoked are the claims of a list of revoked passes. It lacks what a pass has, so no verifier takes it for one.
type revoked struct {
	// UpTo: all admissions up to then are revoked, in Unix milliseconds as the jti has them. Passes are the jti of others.
	UpTo   int64    `json:"revokedUpTo"`
	Passes []string `json:"revoked"`
	jwt.RegisteredClaims
}

// signedLists are the newest signed list of each zone, none older than RevokedCached when another is added.
type signedLists struct {
	mu    sync.Mutex
	zones map[string]signedList
}

// signedList is a list as it was signed, with what it says.
type signedList struct {
	is     zone.InsideState
	signed time.Time
	text   string
}

// stale reports whether the list is no longer to be sent: time has passed, or the clock was set back.
func (l signedList) stale(now time.Time) bool {
	age := now.Sub(l.signed)
	return age < 0 || age >= RevokedCached
}

// Revoked returns the signed list of what operators have revoked in a zone: a JWT whose type is revoked+jwt. It signs again when
// what was revoked has changed, or when RevokedCached has passed.
func (s *Signer) Revoked(z zone.Settings, now time.Time) (string, error) {
	s.lists.mu.Lock()
	defer s.lists.mu.Unlock()
	is := z.InsideState
	if kept, ok := s.lists.zones[z.ZoneID]; ok && !kept.stale(now) && kept.is.RevokedUpToMillis == is.RevokedUpToMillis && slices.Equal(kept.is.Revoked, is.Revoked) {
		return kept.text, nil
	}
	text, err := s.sign("revoked+jwt", revoked{
		UpTo: is.RevokedUpToMillis, Passes: append([]string{}, is.Revoked...),
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: s.issuer, Audience: jwt.ClaimStrings{z.ZoneID},
			IssuedAt: jwt.NewNumericDate(now.Add(-issuedEarlier)), ExpiresAt: jwt.NewNumericDate(now.Add(RevokedLife)),
		},
	})
	if err != nil {
		return "", err
	}
	maps.DeleteFunc(s.lists.zones, func(_ string, l signedList) bool { return l.stale(now) })
	s.lists.zones[z.ZoneID] = signedList{is: is, signed: now, text: text}
	return text, nil
}
