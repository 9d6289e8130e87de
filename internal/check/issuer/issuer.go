// Package issuer is an OpenID Connect provider for tests: discovery, authorization code flow with PKCE, keys and userinfo. It logs in
// whoever comes, as the person that the test has set, and can be told to make a mistake.
package issuer

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Client and Secret are those of the only client.
const (
	Client = "waiting-room"
	Secret = "the client's secret"
)

// Issuer is the provider. Its methods may be called from any goroutine.
type Issuer struct {
	*httptest.Server
	key, other *rsa.PrivateKey

	mu sync.Mutex
	// person are the claims of who logs in next, userInfo those that only userinfo has.
	person, userInfo jwt.MapClaims
	// spoil edits the next ID tokens; sign makes their text.
	spoil func(jwt.MapClaims)
	sign  func(*Issuer, jwt.MapClaims) (string, error)
	codes map[string]url.Values
	now   func() time.Time
}

// New starts a provider, which ends with the test. now is its clock.
func New(tb testing.TB, now func() time.Time) *Issuer {
	tb.Helper()
	i := &Issuer{codes: make(map[string]url.Values), sign: Signed, now: now, person: jwt.MapClaims{}}
	for _, key := range []**rsa.PrivateKey{&i.key, &i.other} {
		var err error
		if *key, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
			tb.Fatal(err)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{
			"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token", "jwks_uri": i.URL + "/keys",
			"userinfo_endpoint": i.URL + "/userinfo", "id_token_signing_alg_values_supported": []string{"RS256", "none", "HS256"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		encode := base64.RawURLEncoding.EncodeToString
		answer(w, map[string]any{"keys": []any{map[string]string{
			"kty": "RSA", "kid": "one", "use": "sig", "n": encode(i.key.N.Bytes()), "e": encode(big.NewInt(int64(i.key.E)).Bytes()),
		}}})
	})
	mux.HandleFunc("GET /authorize", i.authorize)
	mux.HandleFunc("POST /token", i.token)
	mux.HandleFunc("GET /userinfo", func(w http.ResponseWriter, _ *http.Request) {
		i.mu.Lock()
		defer i.mu.Unlock()
		answer(w, i.userInfo)
	})
	i.Server = httptest.NewServer(mux)
	tb.Cleanup(i.Close)
	return i
}

// LogIn sets who logs in from now on, and which claims only userinfo has.
func (i *Issuer) LogIn(person, userInfo map[string]any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.person, i.userInfo = person, userInfo
}

// Spoil has ID tokens edited, and signed by sign, which is Signed by default.
func (i *Issuer) Spoil(edit func(jwt.MapClaims), sign func(*Issuer, jwt.MapClaims) (string, error)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.spoil, i.sign = edit, Signed; sign != nil {
		i.sign = sign
	}
}

// Signed signs as the provider does, Forged with a key of somebody else, Unsigned not at all, and Shared with the client's secret.
func Signed(i *Issuer, c jwt.MapClaims) (string, error) {
	return signed(jwt.SigningMethodRS256, i.key, c)
}

// Forged signs with another key.
func Forged(i *Issuer, c jwt.MapClaims) (string, error) {
	return signed(jwt.SigningMethodRS256, i.other, c)
}

// Unsigned is of the algorithm none.
func Unsigned(_ *Issuer, c jwt.MapClaims) (string, error) {
	return signed(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, c)
}

// Shared signs with the secret of the client.
func Shared(_ *Issuer, c jwt.MapClaims) (string, error) {
	return signed(jwt.SigningMethodHS256, []byte(Secret), c)
}

func signed(method jwt.SigningMethod, key any, c jwt.MapClaims) (string, error) {
	token := jwt.NewWithClaims(method, c)
	token.Header["kid"] = "one"
	return token.SignedString(key)
}

func (i *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != Client || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("state") == "" || q.Get("nonce") == "" {
		http.Error(w, "invalid_request", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	i.mu.Lock()
	i.codes[code] = q
	i.mu.Unlock()
	w.Header().Set("Location", q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {i.URL}}.Encode())
	w.WriteHeader(http.StatusFound)
}

func (i *Issuer) token(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	id, secret, _ := r.BasicAuth()
	secret, err := url.QueryUnescape(secret)
	asked, known := i.codes[r.PostFormValue("code")]
	delete(i.codes, r.PostFormValue("code")) // a code is good once
	challenge := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if err != nil || id != Client || secret != Secret || !known || r.PostFormValue("redirect_uri") != asked.Get("redirect_uri") ||
		base64.RawURLEncoding.EncodeToString(challenge[:]) != asked.Get("code_challenge") {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error":"invalid_grant"}`))
		return
	}
	now := i.now()
	claims := jwt.MapClaims{"iss": i.URL, "aud": Client, "iat": now.Unix(), "exp": now.Add(time.Minute).Unix(), "nonce": asked.Get("nonce")}
	maps.Copy(claims, i.person)
	if i.spoil != nil {
		i.spoil(claims)
	}
	text, err := i.sign(i, claims)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer(w, map[string]any{"access_token": rand.Text(), "token_type": "Bearer", "expires_in": 60, "id_token": text})
}

func answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body) // nobody is left to tell
}
