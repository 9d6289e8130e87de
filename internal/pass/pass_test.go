package pass_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/pass"
	"github.com/openqueue/waitingroom/internal/zone"
)

var grant = pass.Grant{
	ZoneID:           "TEST_ZONE",
	ID:               line.ID{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef},
	AdmittedAtMillis: 1_795_223_434_123,
	ExpiresAtMillis:  1_795_223_734_123,
}

// during is a moment at which the grant's pass is good.
var during = time.UnixMilli(grant.AdmittedAtMillis)

func issue(t testing.TB, s *pass.Signer, g pass.Grant) string {
	t.Helper()
	p, err := s.Issue(g)
	if err != nil {
		t.Fatalf("Issue(%+v): %v", g, err)
	}
	return p
}

// wholeSeconds is what is left of a grant in its pass.
func wholeSeconds(g pass.Grant) pass.Grant {
	g.Admission = pass.JTI(g)
	g.ExpiresAtMillis -= g.ExpiresAtMillis % 1000
	return g
}

// parts reads a JWT's header and claims without any check.
func parts(t testing.TB, p string) (header, claims map[string]any) {
	t.Helper()
	segments := strings.Split(p, ".")
	if len(segments) != 3 {
		t.Fatalf("%q has %d parts, want 3", p, len(segments))
	}
	for i, into := range []*map[string]any{&header, &claims} {
		b, err := base64.RawURLEncoding.DecodeString(segments[i])
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, into); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
	}
	return header, claims
}

// refuse fails the test unless the pass is refused with this error.
func refuse(t testing.TB, s *pass.Signer, p string, now time.Time, want error) {
	t.Helper()
	got, err := s.Verify(p, now)
	if !errors.Is(err, want) {
		t.Errorf("Verify(%q) = %+v, %v, want %v", p, got, err, want)
	}
	if got != (pass.Grant{}) {
		t.Errorf("Verify(%q) gave %+v with its error", p, got)
	}
}

func TestIssueContent(t *testing.T) {
	t.Parallel()
	signer := newSigner(t, 1, 2)
	kids, _ := publicKeys(t, signer.JWKS())
	header, claims := parts(t, issue(t, signer, grant))
	if want := map[string]any{"alg": "EdDSA", "typ": "JWT", "kid": kids[0]}; !maps.Equal(header, want) {
		t.Errorf("header is %v, want %v", header, want)
	}
	jti, ok := claims["jti"].(string)
	if parsed, err := uuid.Parse(jti); !ok || err != nil || parsed.Version() != 8 || parsed.Variant() != uuid.RFC4122 {
		t.Errorf("jti is %v, want a UUID of version 8", claims["jti"])
	}
	want := map[string]any{
		"iss": "waitingroom", "aud": "TEST_ZONE", "zone": "TEST_ZONE", "sub": "0123456789abcdef", "jti": jti,
		"admittedAt": 1_795_223_434_123.0, "iat": 1_795_223_424.0, "exp": 1_795_223_734.0,
	}
	if !maps.Equal(claims, want) {
		t.Errorf("claims are %v, want %v", claims, want)
	}
}

// TestIssuer: another installation's passes are not accepted, though it has the secret.
func TestIssuer(t *testing.T) {
	t.Parallel()
	other, err := pass.NewSigner("https://queue.example", secret(1))
	if err != nil {
		t.Fatal(err)
	}
	p := issue(t, other, grant)
	if _, claims := parts(t, p); claims["iss"] != "https://queue.example" {
		t.Errorf("iss is %v", claims["iss"])
	}
	if _, err := other.Verify(p, during); err != nil {
		t.Error(err)
	}
	refuse(t, newSigner(t, 1), p, during, pass.ErrInvalid)
	for _, issuer := range []string{"", "two words", "queue:1:2 ", `a"b`, `a\b`, "1:2", strings.Repeat("x", 257), "schön"} {
		if s, err := pass.NewSigner(issuer, secret(1)); !errors.Is(err, pass.ErrIssuer) || s != nil {
			t.Errorf("%q: %v, %v", issuer, s, err)
		}
	}
}

// The jti names the admission and nothing else.
func TestJTI(t *testing.T) {
	t.Parallel()
	jti := func(s *pass.Signer, change func(*pass.Grant)) string {
		g := grant
		change(&g)
		_, claims := parts(t, issue(t, s, g))
		id, ok := claims["jti"].(string)
		if !ok {
			t.Fatalf("jti is %v", claims["jti"])
		}
		return id
	}
	same := func(*pass.Grant) {}
	want := jti(newSigner(t, 1), same)
	for name, got := range map[string]string{
		"another secret":   jti(newSigner(t, 2), same),
		"another end":      jti(newSigner(t, 1), func(g *pass.Grant) { g.ExpiresAtMillis += 5000 }),
		"after a rotation": jti(newSigner(t, 2, 1), same),
	} {
		if got != want {
			t.Errorf("%s: jti is %s, want %s", name, got, want)
		}
	}
	seen := map[string]string{want: "the grant itself"}
	for name, change := range map[string]func(*pass.Grant){
		"another zone":        func(g *pass.Grant) { g.ZoneID = "OTHER_ZONE" },
		"a longer zone":       func(g *pass.Grant) { g.ZoneID += "0" },
		"another visitor":     func(g *pass.Grant) { g.ID[7]++ },
		"a millisecond later": func(g *pass.Grant) { g.AdmittedAtMillis++ },
		"a byte moved from the id to the zone": func(g *pass.Grant) {
			g.ZoneID += "A"
			g.ID = line.ID{0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x00}
		},
	} {
		got := jti(newSigner(t, 1), change)
		if other, ok := seen[got]; ok {
			t.Errorf("%s and %s have the same jti", name, other)
		}
		seen[got] = name
	}
}

func TestIssueRefuses(t *testing.T) {
	t.Parallel()
	signer := newSigner(t, 1)
	for _, tt := range []struct {
		name   string
		change func(*pass.Grant)
	}{
		{"no zone", func(g *pass.Grant) { g.ZoneID = "" }},
		{"a zone's name that cannot be", func(g *pass.Grant) { g.ZoneID = "\xff" }},
		{"a zone's name that is too long", func(g *pass.Grant) { g.ZoneID = strings.Repeat("Z", 65) }},
		{"admitted before 1970", func(g *pass.Grant) { g.AdmittedAtMillis = -1 }},
		{"no end", func(g *pass.Grant) { g.ExpiresAtMillis = 0 }},
		{"over when it begins", func(g *pass.Grant) { g.ExpiresAtMillis = g.AdmittedAtMillis }},
	} {
		g := grant
		tt.change(&g)
		if got, err := signer.Issue(g); !errors.Is(err, pass.ErrGrant) || got != "" {
			t.Errorf("%s: Issue = %q, %v, want ErrGrant", tt.name, got, err)
		}
	}
}

func TestVerifyExpiry(t *testing.T) {
	t.Parallel()
	signer := newSigner(t, 1)
	p := issue(t, signer, grant)
	exp := time.Unix(grant.ExpiresAtMillis/1000, 0)
	for _, now := range []time.Time{during, exp.Add(-time.Second), exp.Add(-1)} {
		if got, err := signer.Verify(p, now); err != nil || got != wholeSeconds(grant) {
			t.Errorf("at %v: %+v, %v, want %+v", now, got, err, wholeSeconds(grant))
		}
	}
	for _, now := range []time.Time{exp, exp.Add(time.Millisecond), exp.AddDate(100, 0, 0)} {
		refuse(t, signer, p, now, pass.ErrExpired)
	}
}

func TestRotation(t *testing.T) {
	t.Parallel()
	old, both, swapped, renewed := newSigner(t, 1), newSigner(t, 1, 2), newSigner(t, 2, 1), newSigner(t, 2)
	underOld, underNew := issue(t, old, grant), issue(t, renewed, grant)
	for _, tt := range []struct {
		name     string
		signer   *pass.Signer
		issues   string
		verifies []string
		refuses  []string
	}{
		{"before", old, underOld, []string{underOld}, []string{underNew}},
		{"the new one announced", both, underOld, []string{underOld, underNew}, nil},
		{"the new one signs", swapped, underNew, []string{underOld, underNew}, nil},
		{"the old one dropped", renewed, underNew, []string{underNew}, []string{underOld}},
	} {
		t.Log(tt.name)
		if got := issue(t, tt.signer, grant); got != tt.issues {
			t.Errorf("pass is %s, want %s", got, tt.issues)
		}
		for _, p := range tt.verifies {
			if got, err := tt.signer.Verify(p, during); err != nil || got != wholeSeconds(grant) {
				t.Errorf("Verify(%s) = %+v, %v", p, got, err)
			}
		}
		for _, p := range tt.refuses {
			refuse(t, tt.signer, p, during, pass.ErrInvalid)
		}
	}
}

// Only the key that the pass names is tried, and sub must be a visitor's id. What else is no pass, the tests of the public package
// pass show to both verifiers.
func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	signer := newSigner(t, 1, 2)
	kids, _ := publicKeys(t, signer.JWKS())
	for _, tt := range []struct {
		kid, sub string
		want     error
	}{
		{kids[0], "0123456789abcdef", nil},
		{kids[1], "0123456789abcdef", pass.ErrInvalid},
		{kids[0], "0123", pass.ErrInvalid},
		{kids[0], "0123456789abcdef01", pass.ErrInvalid},
		{kids[0], "0123456789abcdeg", pass.ErrInvalid},
	} {
		_, claims := parts(t, issue(t, signer, grant))
		claims["sub"] = tt.sub
		token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims(claims))
		token.Header["kid"] = tt.kid
		p, err := token.SignedString(privateKey(t, secret(1)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := signer.Verify(p, during); !errors.Is(err, tt.want) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

// TestRevokedIsSignedOnce: a flood of requests for the list costs one signature, until what was revoked changes or caches ask again.
func TestRevokedIsSignedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSigner(t, 1)
		z := zone.Settings{ZoneID: "SHOP"}
		counted := pass.CountSignatures(s)
		flood := func(want int64) {
			t.Helper()
			lists := make([]string, 100)
			var all sync.WaitGroup
			for i := range lists {
				all.Go(func() {
					var err error
					if lists[i], err = s.Revoked(z, time.Now()); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if got, lists := counted.Load(), slices.Compact(lists); got != want || len(lists) != 1 {
				t.Errorf("signed %d times, want %d; %d lists", got, want, len(lists))
			}
		}
		flood(1)
		z.InsideState = z.InsideState.Revoke("a")
		flood(2)
		<-time.After(pass.RevokedCached - time.Millisecond)
		flood(2)
		<-time.After(time.Millisecond)
		flood(3)
		z.ZoneID = "OTHER"
		flood(4)
	})
}
