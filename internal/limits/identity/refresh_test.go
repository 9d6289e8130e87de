package identity_test

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/openqueue/waitingroom/internal/limits/identity"
)

// issuer serves a key set.
type issuer struct {
	mu    sync.Mutex
	keys  string
	err   error
	asked int
}

// RoundTrip implements http.RoundTripper.
func (i *issuer) RoundTrip(r *http.Request) (*http.Response, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.asked++
	if i.err != nil {
		return nil, i.err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Request: r, Body: io.NopCloser(strings.NewReader(i.keys)),
	}, nil
}

func (i *issuer) set(keys string, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys, i.err = keys, err
}

func (i *issuer) times() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked
}

// TestSecretsAreNotFetched: a shared secret that a URL serves verifies no token.
func TestSecretsAreNotFetched(t *testing.T) {
	secret := []byte(strings.Repeat("s", 32))
	synctest.Test(t, func(t *testing.T) {
		shown := strings.Replace(keySet(t, "ed"), `"keys":[`, `"keys":[{"kty":"oct","kid":"shown","k":"`+encode(secret)+`"},`, 1)
		f := finder(t, identity.FinderOptions{JWKS: "https://id.example/jwks.json", HTTP: &http.Client{Transport: &issuer{keys: shown}}})
		f.Start(t.Context())
		defer f.Stop()
		synctest.Wait()
		claims := good(set("exp", time.Now().Add(time.Hour).Unix()), without("nbf"))
		for kid, tt := range map[string]struct {
			method jwt.SigningMethod
			key    any
			want   string
		}{
			"shown": {jwt.SigningMethodHS256, secret, "ip:192.0.2.1"}, "ed": {jwt.SigningMethodEdDSA, signers()["ed"], "member:alice"},
		} {
			if got := f.Find(request("Authorization", "Bearer "+sign(t, tt.method, tt.key, claims, "kid", kid)), all).Key; got != tt.want {
				t.Errorf("%s: %s, want %s", kid, got, tt.want)
			}
		}
	})
}

// TestKeySetIsFetched: the key set is fetched every 15 s, whatever keys tokens name. While it cannot be fetched, the former set stays.
func TestKeySetIsFetched(t *testing.T) {
	s := signers()
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{err: errors.New("away")}
		f := finder(t, identity.FinderOptions{
			JWKS: "https://id.example/jwks.json", HTTP: &http.Client{Transport: i}, Logger: slog.New(slog.DiscardHandler),
		})
		token := func(id string, method jwt.SigningMethod) string {
			return sign(t, method, s[id], good(set("exp", time.Now().Add(time.Hour).Unix()), without("nbf")), "kid", id)
		}
		known := func(token string) bool {
			return strings.HasPrefix(f.Find(request("Authorization", "Bearer "+token), all).Key, "member:")
		}
		f.Start(t.Context())
		defer f.Stop()
		synctest.Wait()
		if ed := token("ed", jwt.SigningMethodEdDSA); known(ed) || i.times() != 1 {
			t.Fatalf("before the issuer answers: asked %d times", i.times())
		}
		i.set(keySet(t, "ed"), nil)
		<-time.After(15 * time.Second)
		synctest.Wait()
		if !known(token("ed", jwt.SigningMethodEdDSA)) || i.times() != 2 {
			t.Fatalf("fetched, and not known; asked %d times", i.times())
		}
		i.set(keySet(t, "ed", "p256"), nil)
		es := token("p256", jwt.SigningMethodES256)
		for range 1000 {
			known(es)
			known(token("stranger", jwt.SigningMethodES256))
		}
		<-time.After(15 * time.Second)
		synctest.Wait()
		if !known(es) || i.times() != 3 {
			t.Fatalf("rotated; asked %d times", i.times())
		}
		for _, bad := range []string{"{}", "<html>", strings.Repeat(" ", 1<<20+1)} {
			i.set(bad, nil)
			<-time.After(time.Minute)
			if !known(es) {
				t.Errorf("after %.10q the keys are gone", bad)
			}
		}
		// A key that was withdrawn does not count any more.
		i.set(keySet(t, "ed"), nil)
		<-time.After(time.Minute)
		synctest.Wait()
		if known(es) {
			t.Error("a key that was withdrawn")
		}
	})
}

// TestOneBrokenKeyCostsNoOther: because of an old key that is too short, or garbage, no client with
// a good token is counted by its address.
func TestOneBrokenKeyCostsNoOther(t *testing.T) {
	t.Parallel()
	short := `{"kty":"RSA","kid":"old","n":"` + strings.Repeat("_", 171) + `","e":"AQAB"},{"kty":"EC","crv":"P-256","x":"!"},`
	text := strings.Replace(keySet(t, "ed"), `"keys":[`, `"keys":[`+short, 1)
	var log strings.Builder
	f := finder(t, identity.FinderOptions{
		JWKS: file(t, text), Now: func() time.Time { return now }, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	token := sign(t, jwt.SigningMethodEdDSA, signers()["ed"], good(), "kid", "ed")
	if who := f.Find(request("Authorization", "Bearer "+token), all); who.Key != "member:alice" {
		t.Errorf("counted as %s", who.Key)
	}
	if !strings.Contains(log.String(), "key 1") || !strings.Contains(log.String(), "key 2") {
		t.Errorf("nobody is told of those: %s", &log)
	}
}

func TestFilesAreReadAnew(t *testing.T) {
	s := signers()
	keys, list := file(t, keySet(t, "ed")), file(t, "")
	synctest.Test(t, func(t *testing.T) {
		f := finder(t, identity.FinderOptions{JWKS: keys, APIKeys: list})
		f.Start(t.Context())
		defer f.Stop()
		es := sign(t, jwt.SigningMethodES256, s["p256"], good(set("exp", time.Now().Add(time.Hour).Unix()), without("nbf")), "kid", "p256")
		find := func(name, value string) string { return f.Find(request(name, value), all).Key }
		if find("Authorization", "Bearer "+es) != "ip:192.0.2.1" || find("X-API-Key", "abc") != "ip:192.0.2.1" {
			t.Fatal("known before it was written")
		}
		must(t, os.WriteFile(keys, []byte(keySet(t, "ed", "p256")), 0o600))
		must(t, os.WriteFile(list, []byte("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"), 0o600)) // of abc
		<-time.After(time.Minute)
		synctest.Wait()
		if find("Authorization", "Bearer "+es) != "member:alice" || !strings.HasPrefix(find("X-API-Key", "abc"), "apikey:") {
			t.Error("not known a minute after it was written")
		}
		must(t, os.WriteFile(keys, []byte("{"), 0o600))
		must(t, os.Remove(list))
		<-time.After(time.Minute)
		synctest.Wait()
		if find("Authorization", "Bearer "+es) != "member:alice" || !strings.HasPrefix(find("X-API-Key", "abc"), "apikey:") {
			t.Error("forgotten, since the files are broken")
		}
	})
}

// TestOnlyTLS: no redirection is followed to a URL without TLS, where others could change the keys.
func TestOnlyTLS(t *testing.T) {
	plain := make(chan struct{}, 1)
	moved := transport(func(r *http.Request) (*http.Response, error) {
		if r.URL.Scheme == "http" {
			plain <- struct{}{}
		}
		return &http.Response{
			StatusCode: http.StatusFound, Request: r, Body: http.NoBody,
			Header: http.Header{"Location": {"http://id.example/jwks.json"}},
		}, nil
	})
	synctest.Test(t, func(t *testing.T) {
		f := finder(t, identity.FinderOptions{JWKS: "https://id.example/jwks.json", HTTP: &http.Client{Transport: moved}})
		f.Start(t.Context())
		synctest.Wait()
		f.Stop()
	})
	if len(plain) > 0 {
		t.Error("it went on without TLS")
	}
}

type transport func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }
