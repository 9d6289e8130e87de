package pass_test

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"pgregory.net/rapid"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/page"
	signer "github.com/openqueue/waitingroom/internal/pass"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/pass"
)

// TestNames: what both sides write down is the same.
func TestNames(t *testing.T) {
	t.Parallel()
	if pass.Parameter != page.PassParameter || pass.DefaultIssuer != signer.DefaultIssuer {
		t.Error("the room calls the parameter or the issuer otherwise")
	}
}

// TestAsTheRoom: this package and the room's own Verify are of one opinion on every pass
// that the room makes.
func TestAsTheRoom(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "jwks.json")
	must(t, os.WriteFile(file, newSigner(t, 1, 2).JWKS(), 0o600))
	v, err := pass.Open(t.Context(), pass.Options{KeySet: file})
	must(t, err)
	defer v.Close()
	rapid.Check(t, func(rt *rapid.T) {
		// Not so near to now that a second may pass between the one and the other.
		over := rapid.Int64Range(-10_000, -1).Draw(rt, "over since")
		left := rapid.Int64Range(60_000, 100_000).Draw(rt, "good for")
		g := signer.Grant{
			ZoneID:          rapid.StringMatching(`[A-Za-z0-9._-]{1,64}`).Filter(zone.ValidID).Draw(rt, "zone"),
			ID:              line.ID(rapid.SliceOfN(rapid.Byte(), 8, 8).Draw(rt, "id")),
			ExpiresAtMillis: time.Now().UnixMilli() + rapid.SampledFrom([]int64{over, left}).Draw(rt, "ends in"),
			Local:           rapid.Bool().Draw(rt, "local"),
		}
		g.AdmittedAtMillis = g.ExpiresAtMillis - rapid.Int64Range(1, 86_400_000).Draw(rt, "lifetime")
		p, err := newSigner(t, rapid.IntRange(1, 3).Draw(rt, "secret")).Issue(g)
		if err != nil {
			rt.Fatal(err)
		}
		ours, err := v.Verify(t.Context(), g.ZoneID, p)
		theirs, theirErr := newSigner(t, 1, 2).Verify(p, time.Now())
		if (err == nil) != (theirErr == nil) {
			rt.Fatalf("%v, the room: %v", err, theirErr)
		}
		if err == nil && (ours.Zone != theirs.ZoneID || ours.Visitor != hex.EncodeToString(theirs.ID[:]) || ours.Local != theirs.Local ||
			ours.AdmittedAt.UnixMilli() != theirs.AdmittedAtMillis || ours.ExpiresAt.UnixMilli() != theirs.ExpiresAtMillis) {
			rt.Fatalf("%+v, the room: %+v", ours, theirs)
		}
	})
}

func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := newRoom(t, newSigner(t, 1))
		v, patient := room.open(t), room.open(t, func(o *pass.Options) { o.Leeway = 10 * time.Second })
		p := issue(t, newSigner(t, 1))
		<-time.After(5*time.Minute - 1)
		accepted(t, v, p)
		<-time.After(1)
		refused(t, v, p, pass.ErrExpired)
		<-time.After(10*time.Second - 1)
		accepted(t, patient, p)
		<-time.After(1)
		refused(t, patient, p, pass.ErrExpired)
	})
}

// TestOtherClaims: what the room's key has signed is still no pass of this zone.
func TestOtherClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newRoom(t, newSigner(t, 1)).open(t)
		accepted(t, v, forge(t, 1, nil, nil))
		for name, change := range map[string]func(jwt.MapClaims){
			"no iss":              func(c jwt.MapClaims) { delete(c, "iss") },
			"another iss":         func(c jwt.MapClaims) { c["iss"] = "waitingroom-test" },
			"no aud":              func(c jwt.MapClaims) { delete(c, "aud") },
			"another zone's aud":  func(c jwt.MapClaims) { c["aud"] = "OTHER_ZONE" },
			"no zone":             func(c jwt.MapClaims) { delete(c, "zone") },
			"another zone's zone": func(c jwt.MapClaims) { c["zone"] = "OTHER_ZONE" },
			"a list as aud":       func(c jwt.MapClaims) { c["aud"] = []string{testZone} },
			"no exp":              func(c jwt.MapClaims) { delete(c, "exp") },
			"exp in words":        func(c jwt.MapClaims) { c["exp"] = "tomorrow" },
			"no admittedAt":       func(c jwt.MapClaims) { delete(c, "admittedAt") },
			"no sub":              func(c jwt.MapClaims) { delete(c, "sub") },
			"a zone of numbers":   func(c jwt.MapClaims) { c["zone"] = 7 },
			"no jti":              func(c jwt.MapClaims) { delete(c, "jti") },
			"too many":            func(c jwt.MapClaims) { c["more"] = strings.Repeat("a", 4096) },
			"not yet":             func(c jwt.MapClaims) { c["nbf"] = time.Now().Unix() + 10 },
		} {
			t.Log(name)
			forged(t, v, forge(t, 1, nil, change))
		}
		for name, header := range map[string]map[string]any{
			"no kid":         {"kid": nil},
			"a number":       {"kid": 1},
			"an empty kid":   {"kid": ""},
			"another kid":    {"kid": "other"},
			"no algorithm":   {"alg": nil},
			"alg none":       {"alg": "none"},
			"alg HS256":      {"alg": "HS256"},
			"alg Ed25519":    {"alg": "Ed25519"},
			"alg in capital": {"alg": "EDDSA"},
		} {
			t.Log(name)
			forged(t, v, forge(t, 1, header, nil))
		}
		refused(t, v, forge(t, 1, map[string]any{"crit": []string{"b64"}, "b64": false}, nil), pass.ErrInvalid)
		p := issue(t, newSigner(t, 1))
		for _, other := range []string{"", "OTHER_ZONE", "test_zone"} {
			if _, err := v.Verify(t.Context(), other, p); !errors.Is(err, pass.ErrInvalid) {
				t.Errorf("for zone %q: %v", other, err)
			}
		}
		refused(t, v, "", pass.ErrMissing)
	})
}

// TestForged: no character can be another one, and who knows the public keys alone makes
// nothing.
func TestForged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSigner(t, 1)
		v := newRoom(t, s).open(t)
		good := issue(t, s)
		for i := range good {
			for _, c := range []byte("A_9.\n=") {
				if good[i] != c {
					forged(t, v, good[:i]+string(c)+good[i+1:])
				}
			}
		}
		// The last character has 4 bits to spare: these decode to the same bytes.
		const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
		last := strings.IndexByte(alphabet, good[len(good)-1])
		for spare := 1; spare < 16; spare++ {
			forged(t, v, good[:len(good)-1]+alphabet[last+spare:last+spare+1])
		}
		for _, p := range []string{".", "..", good + ".", good + "\n", " " + good, good + "==", good[:strings.LastIndexByte(good, '.')+1], strings.Repeat("a", 1<<20)} {
			forged(t, v, p)
		}
		var set struct {
			Keys []struct {
				X   string `json:"x"`
				Kid string `json:"kid"`
			} `json:"keys"`
		}
		must(t, json.Unmarshal(s.JWKS(), &set))
		public, err := base64.RawURLEncoding.DecodeString(set.Keys[0].X)
		must(t, err)
		claims := good[strings.IndexByte(good, '.'):strings.LastIndexByte(good, '.')]
		for _, key := range [][]byte{public, []byte(set.Keys[0].X), s.JWKS(), {}} {
			unsigned := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","kid":"`+set.Keys[0].Kid+`"}`)) + claims
			h := hmac.New(sha256.New, key)
			h.Write([]byte(unsigned))
			forged(t, v, unsigned+"."+base64.RawURLEncoding.EncodeToString(h.Sum(nil)))
		}
		unsigned := good[:strings.LastIndexByte(good, '.')]
		other := ed25519.Sign(ed25519.NewKeyFromSeed(secret(2)), []byte(unsigned))
		forged(t, v, unsigned+"."+base64.RawURLEncoding.EncodeToString(other))
	})
}
