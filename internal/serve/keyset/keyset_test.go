package keyset_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/openqueue/waitingroom/internal/check/process"
	"github.com/openqueue/waitingroom/internal/serve/keyset"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

var encode = base64.RawURLEncoding.EncodeToString

// edKey is the Ed25519 key of a number, edJWK the same in a set, with more members.
func edKey(n byte) ed25519.PublicKey {
	key, _ := ed25519.NewKeyFromSeed([]byte(strings.Repeat(string('a'+rune(n)), 32))).Public().(ed25519.PublicKey)
	return key
}

func edJWK(id string, n byte, more string) string {
	return fmt.Sprintf(`{"kty":"OKP","crv":"Ed25519","kid":%q,"x":%q%s}`, id, encode(edKey(n)), more)
}

func setOf(keys ...string) string { return `{"keys":[` + strings.Join(keys, ",") + `]}` }

// TestKeysOfEachType are read as they were made, for the algorithms of their type.
func TestKeysOfEachType(t *testing.T) {
	t.Parallel()
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	want := []keyset.Key{
		{ID: "rsa", Algorithms: []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}, Verifier: &rsaKey.PublicKey},
		{ID: "one", Algorithms: []string{"PS384"}, Verifier: &rsaKey.PublicKey},
	}
	n, e := encode(rsaKey.N.Bytes()), encode(big.NewInt(int64(rsaKey.E)).Bytes())
	texts := []string{
		fmt.Sprintf(`{"kty":"RSA","kid":"rsa","use":"sig","n":%q,"e":%q}`, n, e),
		fmt.Sprintf(`{"kty":"RSA","kid":"one","alg":"PS384","n":%q,"e":%q,"unknown":[1]}`, base64.StdEncoding.EncodeToString(rsaKey.N.Bytes()), e),
	}
	for algorithm, curve := range map[string]elliptic.Curve{"ES256": elliptic.P256(), "ES384": elliptic.P384(), "ES512": elliptic.P521()} {
		key, err := ecdsa.GenerateKey(curve, rand.Reader)
		must(t, err)
		point, err := key.PublicKey.Bytes()
		must(t, err)
		half := len(point) / 2
		x, y := new(big.Int).SetBytes(point[1:1+half]), new(big.Int).SetBytes(point[1+half:]) // some issuers cut leading zeros off
		texts = append(texts, fmt.Sprintf(`{"kty":"EC","crv":%q,"kid":%q,"x":%q,"y":%q}`, curve.Params().Name, algorithm, encode(x.Bytes()), encode(y.Bytes())))
		want = append(want, keyset.Key{ID: algorithm, Algorithms: []string{algorithm}, Verifier: &key.PublicKey})
	}
	texts = append(texts, edJWK("ed", 1, ""))
	want = append(want, keyset.Key{ID: "ed", Algorithms: []string{"EdDSA"}, Verifier: edKey(1)})
	public := len(want)
	for _, size := range []int{32, 48, 64} {
		id, secret := fmt.Sprint(size), []byte(strings.Repeat("s", size))
		texts = append(texts, fmt.Sprintf(`{"kty":"oct","kid":%q,"k":%q}`, id, encode(secret)))
		want = append(want, keyset.Key{ID: id, Algorithms: []string{"HS256", "HS384", "HS512"}[:size/16-1], Verifier: secret})
	}
	texts = append(texts, edJWK("pair", 2, `,"d":"`+encode(make([]byte, 32))+`"`))
	want = append(want, keyset.Key{ID: "pair", Algorithms: []string{"EdDSA"}, Verifier: edKey(2)})
	for secrets, want := range map[bool][]keyset.Key{true: want, false: want[:public]} {
		got, _, err := keyset.Parse([]byte(setOf(texts...)), secrets)
		must(t, err)
		equal := len(got) == len(want)
		for i := range min(len(got), len(want)) {
			public, asymmetric := want[i].Verifier.(interface{ Equal(crypto.PublicKey) bool })
			same := asymmetric && public.Equal(got[i].Verifier) || reflect.DeepEqual(got[i].Verifier, want[i].Verifier)
			equal = equal && same && got[i].ID == want[i].ID && reflect.DeepEqual(got[i].Algorithms, want[i].Algorithms)
		}
		if !equal {
			t.Errorf("secrets %t: %v, want %v", secrets, got, want)
		}
	}
}

// useless are sets without a key that can be used, also where shared secrets can.
func useless() map[string]string {
	ec := func(x, y string) string { return setOf(`{"kty":"EC","crv":"P-256","x":"` + x + `","y":"` + y + `"}`) }
	rsaKey := func(n int, e string) string {
		return setOf(`{"kty":"RSA","n":"` + strings.Repeat("_", n) + `","e":"` + e + `"}`)
	}
	return map[string]string{
		"empty": "", "no JSON": "<html>", "cut short": "{", "no keys": setOf(), "nothing": "{}", "a list": "[]", "two sets": setOf() + setOf(edJWK("a", 1, "")),
		"too many keys":     setOf(strings.Repeat(`{"kty":"OKP"},`, 100) + edJWK("a", 1, "")),
		"for encryption":    setOf(edJWK("a", 1, `,"use":"enc"`)),
		"another algorithm": setOf(edJWK("a", 1, `,"alg":"HS256"`)),
		"no algorithm":      setOf(edJWK("a", 1, `,"alg":"none"`)),
		"another curve":     setOf(strings.Replace(edJWK("a", 1, ""), "Ed25519", "X25519", 1)),
		"another curve, EC": setOf(`{"kty":"EC","crv":"secp256k1","x":"AA","y":"AA"}`),
		"another type":      setOf(`{"kty":"AKP","pub":"AA"}`),
		"a short key":       setOf(`{"kty":"OKP","crv":"Ed25519","x":"AAAA"}`),
		"not base64":        setOf(`{"kty":"OKP","crv":"Ed25519","x":"` + strings.Repeat("!", 43) + `"}`),
		"a number":          setOf(`{"kty":"OKP","crv":"Ed25519","x":5}`),
		"a short RSA key":   rsaKey(171, "AQAB"), "a long RSA key": rsaKey(1367, "AQAB"),
		"exponent 1": rsaKey(342, "AQ"), "no exponent": rsaKey(342, ""), "an even exponent": rsaKey(342, "AQAC"), "a large exponent": rsaKey(342, "AQAAAAE"),
		"off the curve": ec(strings.Repeat("A", 43), strings.Repeat("A", 43)), "x is long": ec(strings.Repeat("A", 86), "AA"), "no y": ec("AQ", ""),
		"a short secret": setOf(`{"kty":"oct","k":"` + encode(make([]byte, 31)) + `"}`),
	}
}

// TestOneBrokenKeyCostsNoOther: a set is of use if one of its keys is. What is wrong with the others is said once.
func TestOneBrokenKeyCostsNoOther(t *testing.T) {
	t.Parallel()
	for name, text := range useless() {
		if keys, _, err := keyset.Parse([]byte(text), true); !errors.Is(err, keyset.ErrKeySet) {
			t.Errorf("%s: %v, %v", name, keys, err)
		}
		inner, isSet := strings.CutPrefix(strings.TrimSuffix(text, "]}"), `{"keys":[`)
		if !isSet || strings.Contains(inner, "]") || strings.Count(inner, "kty") != 1 {
			continue
		}
		if keys, _, err := keyset.Parse([]byte(setOf(inner, edJWK("good", 2, ""))), true); err != nil || len(keys) != 1 || keys[0].ID != "good" {
			t.Errorf("%s, beside a good key: %v, %v", name, keys, err)
		}
	}
	var log strings.Builder
	file := filepath.Join(t.TempDir(), "jwks.json")
	must(t, os.WriteFile(file, []byte(setOf(`{"kty":"RSA","n":"AQAB","e":"AQAB"}`, `{"kty":"EC","crv":"P-256","x":"!"}`, edJWK("good", 1, ""))), 0o600))
	_, err := keyset.New(t.Context(), keyset.Options{Place: file, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	must(t, err)
	if text := log.String(); !strings.Contains(text, "key 1: 17 bits") || !strings.Contains(text, "key 2") || strings.Contains(text, "key 3") {
		t.Errorf("logged: %s", text)
	}
}

// place serves a key set on pipes instead of sockets, so that the clock of testing/synctest goes on while it is waited for.
type place struct {
	mu     sync.Mutex
	answer http.HandlerFunc
	asked  int
	client *http.Client
}

const address = "http://id.example/jwks.json"

func newPlace(tb testing.TB, keys ...string) *place {
	tb.Helper()
	p := &place{}
	p.publish(keys...)
	pipes := process.NewPipes()
	server := httptest.NewUnstartedServer(p)
	must(tb, server.Listener.Close())
	server.Listener = pipes
	server.Start()
	tb.Cleanup(server.Close)
	p.client = &http.Client{Transport: &http.Transport{DialContext: pipes.Dial, DisableKeepAlives: true}}
	return p
}

// open opens a set that is read every five minutes, and at most once a minute, until the end of the test.
func (p *place) open(t *testing.T, change ...func(*keyset.Options)) *keyset.Set {
	t.Helper()
	o := keyset.Options{Place: address, Plain: true, Every: 5 * time.Minute, Least: time.Minute, HTTP: p.client}
	for _, f := range change {
		f(&o)
	}
	s, err := keyset.New(t.Context(), o)
	must(t, err)
	s.Start(t.Context())
	t.Cleanup(s.Stop)
	synctest.Wait()
	return s
}

func (p *place) publish(keys ...string) { p.write(setOf(keys...)) }

func (p *place) write(text string) {
	p.say(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) })
}

func (p *place) say(answer http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = answer
}

// away answers nothing but an error.
func (p *place) away() {
	p.say(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
}

func (p *place) times() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

// ServeHTTP implements http.Handler.
func (p *place) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked++
	answer := p.answer
	p.mu.Unlock()
	answer(w, r)
}

func has(s *keyset.Set, id string) bool {
	key, known := s.Find(id, "EdDSA")
	return known && key != nil
}

// TestRotation: a new key is there at once for who asks for it, and a key that was withdrawn is no more after Options.Every.
func TestRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, edJWK("1", 1, ""))
		s := p.open(t)
		if !has(s, "1") || !has(s, "") || has(s, "2") {
			t.Fatal("the first set is not in force")
		}
		if key, known := s.Find("1", "HS256"); key != nil || !known {
			t.Errorf("a public key for HMAC: %v, %t", key, known)
		}
		<-time.After(time.Minute)
		p.publish(edJWK("1", 1, ""), edJWK("2", 2, ""))
		must(t, s.Renew(t.Context()))
		if !has(s, "1") || !has(s, "2") || has(s, "") || p.times() != 2 {
			t.Errorf("the second set is not in force, or was fetched %d times", p.times())
		}
		p.publish(edJWK("2", 2, ""))
		<-time.After(4 * time.Minute) // five since the first reading
		synctest.Wait()
		if has(s, "1") || !has(s, "2") || p.times() != 3 {
			t.Errorf("a key that was withdrawn is in force, or the set was fetched %d times", p.times())
		}
		// An issuer that is away takes no key away, and is asked once per Options.Least until it is back.
		p.away()
		<-time.After(24 * time.Hour)
		if err := s.Renew(t.Context()); !has(s, "2") || !errors.Is(err, keyset.ErrKeySet) {
			t.Errorf("after a day without the issuer: %v", err)
		}
		p.publish(edJWK("3", 3, ""))
		<-time.After(time.Minute)
		synctest.Wait()
		if !has(s, "3") || has(s, "2") {
			t.Error("not in force a minute after the issuer's return")
		}
	})
}

// TestNotAskedMoreOften than once per Options.Least, whoever wants the set, and whatever the answer. All who want it at the same
// time wait for one reading, for as long as they like.
func TestNotAskedMoreOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, edJWK("1", 1, ""))
		s := p.open(t)
		const minutes = 10
		for i := range minutes * 60 {
			switch i {
			case 200:
				p.away()
			case 400:
				p.publish(edJWK("1", 1, ""))
			}
			if err := s.Renew(t.Context()); (err != nil) != (i >= 240 && i < 420) {
				t.Errorf("after %d s: %v", i, err)
			}
			<-time.After(time.Second)
		}
		if n := p.times(); n != minutes {
			t.Errorf("asked %d times in %d minutes", n, minutes)
		}
		p.say(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		<-time.After(time.Minute)
		asked, begun := p.times(), time.Now()
		var waiting sync.WaitGroup
		for range 100 {
			waiting.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				_ = s.Renew(ctx)
			})
		}
		waiting.Wait()
		if waited := time.Since(begun); waited > 2*time.Second || p.times() > asked+1 {
			t.Errorf("100 waited %v, and asked %d times", waited, p.times()-asked)
		}
	})
}

// TestHostilePlaces: none takes the good keys away, holds anybody up, or brings a key that others can sign with.
func TestHostilePlaces(t *testing.T) {
	text := func(s string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(s)) }
	}
	answers := map[string]http.HandlerFunc{
		"hangs": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"drop by drop": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write([]byte(" ")); err != nil || http.NewResponseController(w).Flush() != nil {
					return
				}
				<-time.After(time.Second)
			}
		},
		"without an end": func(w http.ResponseWriter, _ *http.Request) {
			for err := error(nil); err == nil; {
				_, err = w.Write(make([]byte, 1<<16))
			}
		},
		"too large": text(strings.Repeat(" ", 1<<20) + setOf(edJWK("hostile", 9, ""))),
		"a redirection": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/elsewhere" {
				http.Redirect(w, r, "/elsewhere", http.StatusFound)
				return
			}
			text(setOf(edJWK("hostile", 9, "")))(w, r)
		},
		"another status":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) },
		"a shared secret": text(setOf(`{"kty":"oct","kid":"hostile","k":"` + encode(make([]byte, 32)) + `"}`)),
		"a private key":   text(setOf(edJWK("hostile", 9, `,"d":"`+encode(make([]byte, 32))+`"`))),
		"not wanted":      text(setOf(edJWK("", 9, ""))),
	}
	for name, s := range useless() {
		answers[name] = text(s)
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPlace(t, edJWK("1", 1, ""))
				s := p.open(t, func(o *keyset.Options) {
					o.Secrets, o.Usable = true, func(k keyset.Key) bool { return k.ID != "" }
				})
				<-time.After(time.Minute)
				p.say(answer)
				begun := time.Now()
				if err := s.Renew(t.Context()); err == nil || !has(s, "1") || has(s, "hostile") || time.Since(begun) > 10*time.Second {
					t.Errorf("%v after %v", err, time.Since(begun))
				}
				<-time.After(time.Minute)
				p.publish(edJWK("2", 2, ""))
				if err := s.Renew(t.Context()); err != nil || !has(s, "2") {
					t.Errorf("a good set after that: %v", err)
				}
			})
		})
	}
}

// TestOnlyTLS: no set is fetched from where others could change the keys, nor after a redirection to there.
func TestOnlyTLS(t *testing.T) {
	for _, address := range []string{"http://id.example/jwks.json", "ftp://id.example", "://"} {
		if _, err := keyset.New(t.Context(), keyset.Options{Place: address}); !errors.Is(err, keyset.ErrKeySet) {
			t.Errorf("%s: %v", address, err)
		}
	}
	var asked []string
	moved := transport(func(r *http.Request) (*http.Response, error) {
		asked = append(asked, r.URL.Scheme)
		return &http.Response{StatusCode: http.StatusFound, Request: r, Body: http.NoBody, Header: http.Header{"Location": {address}}}, nil
	})
	s, err := keyset.New(t.Context(), keyset.Options{Place: "https://id.example/jwks.json", HTTP: &http.Client{Transport: moved}})
	must(t, err)
	defer s.Stop()
	if err := s.Renew(t.Context()); !errors.Is(err, keyset.ErrKeySet) || !reflect.DeepEqual(asked, []string{"https"}) {
		t.Errorf("asked %v, %v", asked, err)
	}
}

type transport func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// TestFile: a file is read before New returns, and again like a URL. It may have shared secrets.
func TestFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jwks.json")
	write := func(text string) { must(t, os.WriteFile(file, []byte(text), 0o600)) }
	for name, text := range useless() {
		write(text)
		if _, err := keyset.New(t.Context(), keyset.Options{Place: file, Secrets: true}); !errors.Is(err, keyset.ErrKeySet) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"", file + "x"} {
		if _, err := keyset.New(t.Context(), keyset.Options{Place: name}); !errors.Is(err, keyset.ErrKeySet) {
			t.Errorf("%q: %v", name, err)
		}
	}
	write(setOf(edJWK("1", 1, ""), `{"kty":"oct","kid":"shared","k":"`+encode(make([]byte, 32))+`"}`))
	synctest.Test(t, func(t *testing.T) {
		s, err := keyset.New(t.Context(), keyset.Options{Place: file, Secrets: true, Every: 15 * time.Second, Least: 15 * time.Second})
		must(t, err)
		if shared, _ := s.Find("shared", "HS256"); !has(s, "1") || shared == nil {
			t.Error("not in force when New returned")
		}
		s.Start(t.Context())
		defer s.Stop()
		for i, text := range []string{setOf(edJWK("2", 2, "")), "{", strings.Repeat(" ", 1<<20+1)} {
			write(text)
			<-time.After(15 * time.Second)
			synctest.Wait()
			if !has(s, "2") || has(s, "1") {
				t.Errorf("writing %d: not in force 15 s later", i+1)
			}
		}
		must(t, os.Remove(file))
		<-time.After(time.Hour)
		if !has(s, "2") {
			t.Error("forgotten, since the file is gone")
		}
	})
}

// TestStopped: what is known stays in force, and nothing is fetched.
func TestStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, edJWK("1", 1, ""))
		s := p.open(t)
		s.Stop()
		s.Stop()
		<-time.After(time.Hour)
		if err := s.Renew(t.Context()); err == nil || !has(s, "1") || p.times() != 1 {
			t.Errorf("asked %d times, %v", p.times(), err)
		}
	})
}
