package identity_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/openqueue/waitingroom/internal/limits/identity"
	"github.com/openqueue/waitingroom/internal/limits/limit"
)

var now = time.Unix(1_795_223_373, 0)

// signers are keys of each type, made once: an RSA key takes a while.
var signers = sync.OnceValue(func() map[string]crypto.Signer {
	ec := func(curve elliptic.Curve) crypto.Signer {
		k, err := ecdsa.GenerateKey(curve, rand.Reader)
		if err != nil {
			panic(err)
		}
		return k
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	return map[string]crypto.Signer{
		"rsa": rsaKey, "p256": ec(elliptic.P256()), "p384": ec(elliptic.P384()), "p521": ec(elliptic.P521()), "ed": edKey,
		"stranger": ec(elliptic.P256()),
	}
})

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// jwk returns the public part of a key.
func jwk(tb testing.TB, id string, key crypto.PublicKey) map[string]string {
	tb.Helper()
	out := map[string]string{"kid": id, "use": "sig"}
	switch k := key.(type) {
	case *rsa.PublicKey:
		out["kty"], out["n"], out["e"] = "RSA", encode(k.N.Bytes()), encode(big.NewInt(int64(k.E)).Bytes())
	case *ecdsa.PublicKey:
		point, err := k.Bytes()
		must(tb, err)
		size := (len(point) - 1) / 2
		out["kty"], out["crv"], out["x"], out["y"] = "EC", k.Params().Name, encode(point[1:1+size]), encode(point[1+size:])
	case ed25519.PublicKey:
		out["kty"], out["crv"], out["x"] = "OKP", "Ed25519", encode(k)
	}
	return out
}

func keySet(tb testing.TB, ids ...string) string {
	tb.Helper()
	keys := []map[string]string{{"kty": "oct", "kid": "shared", "k": "c2VjcmV0"}}
	for _, id := range ids {
		keys = append(keys, jwk(tb, id, signers()[id].Public()))
	}
	text, err := json.Marshal(map[string]any{"keys": keys})
	must(tb, err)
	return string(text)
}

func good(change ...func(jwt.MapClaims)) jwt.MapClaims {
	c := jwt.MapClaims{
		"sub": "alice", "tier": "pro", "iss": "https://id.example", "aud": []string{"shop", "other"},
		"exp": now.Add(time.Minute).Unix(), "nbf": now.Unix(),
	}
	for _, f := range change {
		f(c)
	}
	return c
}

func set(name string, value any) func(jwt.MapClaims) {
	return func(c jwt.MapClaims) { c[name] = value }
}

func without(name string) func(jwt.MapClaims) { return func(c jwt.MapClaims) { delete(c, name) } }

// sign makes a token. header is name, value, name, value.
func sign(tb testing.TB, method jwt.SigningMethod, key any, claims jwt.MapClaims, header ...string) string {
	tb.Helper()
	t := jwt.NewWithClaims(method, claims)
	for i := 0; i+1 < len(header); i += 2 {
		t.Header[header[i]] = header[i+1]
	}
	text, err := t.SignedString(key)
	must(tb, err)
	return text
}

func TestTokens(t *testing.T) {
	t.Parallel()
	s := signers()
	ids := []string{"rsa", "p256", "p384", "p521", "ed"}
	f := finder(t, identity.FinderOptions{
		JWKS: file(t, keySet(t, ids...)), Issuer: "https://id.example", Audience: "shop",
		Now: func() time.Time { return now },
	})
	der, err := x509.MarshalPKIXPublicKey(s["rsa"].Public())
	must(t, err)
	publicPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	es := jwt.SigningMethodES256
	whole := sign(t, es, s["p256"], good(), "kid", "p256")
	parts := strings.Split(whole, ".")
	for _, tt := range []struct{ name, token, want string }{
		{"RS256", sign(t, jwt.SigningMethodRS256, s["rsa"], good(), "kid", "rsa"), "member:alice pro"},
		{"PS512", sign(t, jwt.SigningMethodPS512, s["rsa"], good(), "kid", "rsa"), "member:alice pro"},
		{"ES256", whole, "member:alice pro"},
		{"ES384", sign(t, jwt.SigningMethodES384, s["p384"], good(), "kid", "p384"), "member:alice pro"},
		{"ES512", sign(t, jwt.SigningMethodES512, s["p521"], good(), "kid", "p521"), "member:alice pro"},
		{"EdDSA", sign(t, jwt.SigningMethodEdDSA, s["ed"], good(), "kid", "ed"), "member:alice pro"},
		{"a number for a name", sign(t, es, s["p256"], good(set("sub", 9007199254740993)), "kid", "p256"), "member:9007199254740993 pro"},
		{"no tier", sign(t, es, s["p256"], good(set("tier", nil)), "kid", "p256"), "member:alice "},
		{"a tier that is none", sign(t, es, s["p256"], good(set("tier", "a b")), "kid", "p256"), "member:alice "},
		{"just expired", sign(t, es, s["p256"], good(set("exp", now.Add(-29*time.Second).Unix())), "kid", "p256"), "member:alice pro"},

		{"expired", sign(t, es, s["p256"], good(set("exp", now.Add(-31*time.Second).Unix())), "kid", "p256"), ""},
		{"no exp", sign(t, es, s["p256"], good(without("exp")), "kid", "p256"), ""},
		{"not yet", sign(t, es, s["p256"], good(set("nbf", now.Add(31*time.Second).Unix())), "kid", "p256"), ""},
		{"another issuer", sign(t, es, s["p256"], good(set("iss", "https://evil.example")), "kid", "p256"), ""},
		{"no issuer", sign(t, es, s["p256"], good(set("iss", nil)), "kid", "p256"), ""},
		{"another audience", sign(t, es, s["p256"], good(set("aud", "other")), "kid", "p256"), ""},
		{"no name", sign(t, es, s["p256"], good(set("sub", "")), "kid", "p256"), ""},
		{"a list for a name", sign(t, es, s["p256"], good(set("sub", []string{"alice"})), "kid", "p256"), ""},
		{"a long name", sign(t, es, s["p256"], good(set("sub", strings.Repeat("a", 201))), "kid", "p256"), ""},
		{"a long token", sign(t, es, s["p256"], good(set("x", strings.Repeat("a", 8<<10))), "kid", "p256"), ""},
		{"a stranger's", sign(t, es, s["stranger"], good(), "kid", "p256"), ""},
		{"an unknown key", sign(t, es, s["stranger"], good(), "kid", "stranger"), ""},
		{"no kid, of several keys", sign(t, es, s["p256"], good()), ""},
		{"none", sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, good(), "kid", "p256"), ""},
		{"HMAC with the public key", sign(t, jwt.SigningMethodHS256, publicPEM, good(), "kid", "rsa"), ""},
		{"HMAC with the shared key", sign(t, jwt.SigningMethodHS256, []byte("secret"), good(), "kid", "shared"), ""},
		{"another type of key", sign(t, es, s["p256"], good(), "kid", "rsa"), ""},
		{"an extension", sign(t, es, s["p256"], good(), "kid", "p256", "crit", "exp"), ""},
		{"no signature", parts[0] + "." + parts[1] + ".", ""},
		{"other claims", parts[0] + "." + encode([]byte(`{"sub":"bob","exp":99999999999}`)) + "." + parts[2], ""},
		{"a line break", strings.Replace(whole, ".", "\n.", 1), ""},
		{"garbage", "garbage", ""}, {"nothing", "", ""},
	} {
		got := f.Find(request("Authorization", "bearer "+tt.token), all)
		if found := got.Key + " " + got.Tier; tt.want != found && (tt.want != "" || got.Key != "ip:192.0.2.1") {
			t.Errorf("%s: %q, want %q", tt.name, found, tt.want)
		}
	}
	for _, header := range []string{whole, "Basic " + whole, "Bearer"} {
		if got := f.Find(request("Authorization", header), all); got.Key != "ip:192.0.2.1" {
			t.Errorf("%.20q: %+v", header, got)
		}
	}
	if got := f.Find(request("Authorization", "Bearer "+whole), []limit.Source{limit.SourceIP}); got.Key != "ip:192.0.2.1" {
		t.Errorf("not a source: %+v", got)
	}
}

// TestSharedSecrets: a token that a shared secret of a file signed counts, if the secret is for the algorithm. A public key is never
// taken for a secret. Package keyset tests which secrets are used.
func TestSharedSecrets(t *testing.T) {
	t.Parallel()
	secret := []byte(strings.Repeat("s", 32))
	text := strings.Replace(keySet(t, "ed"), "c2VjcmV0", encode(secret), 1)
	f := finder(t, identity.FinderOptions{JWKS: file(t, text), Now: func() time.Time { return now }})
	point, ok := signers()["ed"].Public().(ed25519.PublicKey)
	if !ok {
		t.Fatal("no Ed25519 key")
	}
	hs256, hs384 := jwt.SigningMethodHS256, jwt.SigningMethodHS384
	for _, tt := range []struct {
		name, token string
		counts      bool
	}{
		{"HS256", sign(t, hs256, secret, good(), "kid", "shared"), true},
		{"a key beside it", sign(t, jwt.SigningMethodEdDSA, signers()["ed"], good(), "kid", "ed"), true},

		{"HS384, with a shorter secret", sign(t, hs384, secret, good(), "kid", "shared"), false},
		{"a guess", sign(t, hs256, make([]byte, 32), good(), "kid", "shared"), false},
		{"half a surrogate pair", sign(t, hs256, secret, good(set("sub", json.RawMessage(`"alice\ud83d"`))), "kid", "shared"), false},
		{"a claim twice", sign(t, hs256, secret, good(set("x", json.RawMessage(`{"a":1,"a":2}`))), "kid", "shared"), false},
		{"expired", sign(t, hs256, secret, good(set("exp", now.Add(-time.Minute).Unix())), "kid", "shared"), false},
		{"HMAC with a public key", sign(t, hs256, []byte(point), good(), "kid", "ed"), false},
		{"no kid, of several keys", sign(t, hs256, secret, good()), false},
	} {
		want := "ip:192.0.2.1"
		if tt.counts {
			want = "member:alice"
		}
		if got := f.Find(request("Authorization", "Bearer "+tt.token), all); got.Key != want {
			t.Errorf("%s: %s, want %s", tt.name, got.Key, want)
		}
	}
}

// TestTheOnlyKeyNeedsNoName: a token need not name the only key of a set. An operator can name other claims.
func TestTheOnlyKeyNeedsNoName(t *testing.T) {
	t.Parallel()
	f := finder(t, identity.FinderOptions{
		JWKS: file(t, keySet(t, "ed")), Claim: "https://shop.example/customer", TierClaim: "plan",
		Now: func() time.Time { return now },
	})
	claims := good(set("https://shop.example/customer", "c-1"), set("plan", "member"))
	got := f.Find(request("Authorization", "Bearer "+sign(t, jwt.SigningMethodEdDSA, signers()["ed"], claims)), all)
	if got != (identity.Identity{Key: "member:c-1", Tier: "member"}) {
		t.Errorf("%+v", got)
	}
}

// FuzzTokens: no header causes a panic, and none gets another key than that of the address.
func FuzzTokens(f *testing.F) {
	find := finder(f, identity.FinderOptions{JWKS: file(f, keySet(f, "ed", "p256", "rsa")), APIKeys: file(f, "")})
	f.Add("Bearer a.b.c", "key")
	f.Add("Bearer "+encode([]byte(`{"alg":"none"}`))+"."+encode([]byte(`{"sub":"a","exp":99999999999}`))+".", "")
	f.Fuzz(func(t *testing.T, authorization, key string) {
		r := request()
		r.Header["Authorization"], r.Header["X-Api-Key"] = []string{authorization}, []string{key}
		if got := find.Find(r, all); got != (identity.Identity{Key: "ip:192.0.2.1"}) {
			t.Errorf("%+v", got)
		}
	})
}
