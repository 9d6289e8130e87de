package pass_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/openqueue/waitingroom/pass"
)

// TestRotation: a pass of a new key is good at once; one of a key that was withdrawn is no
// more with the next renewal, which is every five minutes.
func TestRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := newRoom(t, newSigner(t, 1))
		v := room.open(t)
		accepted(t, v, issue(t, newSigner(t, 1)))
		<-time.After(time.Minute)
		room.publish(newSigner(t, 2, 1))
		accepted(t, v, issue(t, newSigner(t, 2)))
		accepted(t, v, issue(t, newSigner(t, 1)))
		if n := room.times(); n != 2 {
			t.Errorf("the set was fetched %d times", n)
		}
		room.publish(newSigner(t, 2))
		<-time.After(4 * time.Minute) // five since the first time
		synctest.Wait()
		accepted(t, v, issue(t, newSigner(t, 2)))
		refused(t, v, issue(t, newSigner(t, 1)), pass.ErrInvalid)
	})
}

// TestOncePerMinute: whatever is invented, and whoever is away.
func TestOncePerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := newRoom(t, newSigner(t, 1))
		v := room.open(t)
		const minutes = 10
		for i := range minutes * 60 {
			switch i {
			case 200:
				room.away()
			case 400:
				room.publish(newSigner(t, 1))
			}
			refused(t, v, forge(t, 2, map[string]any{"kid": fmt.Sprint("invented", i)}, nil), map[bool]error{true: pass.ErrUnverified, false: pass.ErrInvalid}[i >= 240 && i < 420])
			<-time.After(time.Second)
		}
		if n := room.times(); n != minutes {
			t.Errorf("asked %d times in %d minutes of invented keys", n, minutes)
		}
	})
}

// TestWrongPassesFetchNothing: only one that is right in all but its key is worth it.
func TestWrongPassesFetchNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := newRoom(t, newSigner(t, 1))
		v := room.open(t)
		accepted(t, v, issue(t, newSigner(t, 1)))
		<-time.After(2 * time.Minute)
		kid := map[string]any{"kid": "other"}
		for name, p := range map[string]string{
			"expired":      forge(t, 1, kid, func(c jwt.MapClaims) { c["exp"] = time.Now().Unix() }),
			"alg HS256":    forge(t, 1, map[string]any{"kid": "other", "alg": "HS256"}, nil),
			"another's":    forge(t, 1, kid, func(c jwt.MapClaims) { c["iss"] = "other" }),
			"another zone": forge(t, 1, kid, func(c jwt.MapClaims) { c["zone"], c["aud"] = "OTHER", "OTHER" }),
		} {
			if _, err := v.Verify(t.Context(), testZone, p); err == nil || room.times() != 1 {
				t.Errorf("%s: %v, asked %d times", name, err, room.times())
			}
		}
		refused(t, v, forge(t, 1, kid, nil), pass.ErrInvalid)
		if room.times() != 2 {
			t.Errorf("a pass with a new key: asked %d times", room.times())
		}
	})
}

// TestKnownKeysNeverWait, while those with an unknown one wait together, for one fetch and
// two seconds.
func TestKnownKeysNeverWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := newRoom(t, newSigner(t, 1))
		v := room.open(t)
		accepted(t, v, issue(t, newSigner(t, 1)))
		<-time.After(time.Minute)

		asked := make(chan struct{})
		room.say(func(w http.ResponseWriter, _ *http.Request) {
			<-asked
			_, _ = w.Write(newSigner(t, 2, 1).JWKS())
		})
		begun := time.Now()
		var waiting sync.WaitGroup
		for range 100 {
			waiting.Go(func() { accepted(t, v, issue(t, newSigner(t, 2))) })
		}
		synctest.Wait()
		accepted(t, v, issue(t, newSigner(t, 1)))
		if waited := time.Since(begun); waited != 0 {
			t.Errorf("a known key waited %v", waited)
		}
		<-time.After(time.Second)
		close(asked)
		waiting.Wait()
		if waited := time.Since(begun); waited != time.Second || room.times() != 2 {
			t.Errorf("100 with a new key waited %v, and asked %d times", waited, room.times()-1)
		}

		<-time.After(time.Minute)
		room.hang()
		begun = time.Now()
		for range 100 {
			waiting.Go(func() { refused(t, v, issue(t, newSigner(t, 3)), pass.ErrUnverified) })
		}
		waiting.Wait()
		if waited := time.Since(begun); waited != 2*time.Second || room.times() != 3 {
			t.Errorf("100 before a room that hangs waited %v, and asked %d times", waited, room.times()-2)
		}
	})
}

// TestRoomIsAway when the service starts: passes are not called invalid, and are good within
// a minute of its return. When it goes away later, nobody notices.
func TestRoomIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := newRoom(t, newSigner(t, 1))
		room.away()
		v := room.open(t)
		refused(t, v, issue(t, newSigner(t, 1)), pass.ErrUnverified)
		room.publish(newSigner(t, 1))
		<-time.After(time.Minute)
		synctest.Wait()
		if room.times() != 2 {
			t.Errorf("asked %d times in a minute", room.times())
		}
		accepted(t, v, issue(t, newSigner(t, 1)))
		room.away()
		<-time.After(24 * time.Hour)
		accepted(t, v, issue(t, newSigner(t, 1)))
		refused(t, v, issue(t, newSigner(t, 2)), pass.ErrUnverified)
	})
}

// TestHostileSets: none takes the good keys away, holds the service up, or brings a key that
// others can sign with.
func TestHostileSets(t *testing.T) {
	encode := base64.RawURLEncoding.EncodeToString
	x := encode(ed25519.NewKeyFromSeed(secret(9))[ed25519.SeedSize:])
	jwkOf := func(more string) string {
		return `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"hostile","x":"` + x + `"` + more + `}]}`
	}
	text := func(s string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(s)) }
	}
	for name, answer := range map[string]http.HandlerFunc{
		"no JSON":        text("<html>"),
		"empty":          text(""),
		"no keys":        text(`{"keys":[]}`),
		"keys that hang": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
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
		"too many keys": text(`{"keys":[` + strings.Repeat(`{"kty":"OKP"},`, 1000) + `{}]}`),
		"a redirection": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/elsewhere" {
				http.Redirect(w, r, "/elsewhere", http.StatusFound)
				return
			}
			text(jwkOf(""))(w, r)
		},
		"another status":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) },
		"a shared secret":   text(`{"keys":[{"kty":"oct","kid":"hostile","alg":"HS256","k":"` + encode(secret(9)) + `"}]}`),
		"a private key":     text(jwkOf(`,"d":"` + encode(secret(9)) + `"`)),
		"no signing key":    text(jwkOf(`,"use":"enc"`)),
		"another algorithm": text(jwkOf(`,"alg":"HS256"`)),
		"no algorithm":      text(jwkOf(`,"alg":"none"`)),
		"no kid":            text(strings.Replace(jwkOf(""), `"kid":"hostile",`, "", 1)),
		"an empty kid":      text(strings.Replace(jwkOf(""), `"hostile"`, `""`, 1)),
		"another curve":     text(strings.Replace(jwkOf(""), "Ed25519", "X25519", 1)),
		"a short key":       text(strings.Replace(jwkOf(""), x, x[:20], 1)),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				room := newRoom(t, newSigner(t, 1))
				v := room.open(t)
				good := issue(t, newSigner(t, 1))
				accepted(t, v, good)
				<-time.After(time.Minute)
				room.say(answer)
				// Whoever reads such a set signs with what it has.
				claims := jwt.MapClaims{
					"iss": "waitingroom", "aud": testZone, "zone": testZone, "sub": "a", "jti": "b",
					"admittedAt": time.Now().UnixMilli(), "exp": time.Now().Unix() + 60,
				}
				for _, method := range []jwt.SigningMethod{jwt.SigningMethodEdDSA, jwt.SigningMethodHS256, jwt.SigningMethodNone} {
					keys := map[string]any{
						"EdDSA": ed25519.NewKeyFromSeed(secret(9)), "HS256": secret(9), "none": jwt.UnsafeAllowNoneSignatureType,
					}
					for _, kid := range []string{"hostile", ""} {
						token := jwt.NewWithClaims(method, claims)
						token.Header["kid"] = kid
						forged, err := token.SignedString(keys[method.Alg()])
						must(t, err)
						begun := time.Now()
						if _, err := v.Verify(t.Context(), testZone, forged); !errors.Is(err, pass.ErrInvalid) && !errors.Is(err, pass.ErrUnverified) {
							t.Errorf("%s, kid %q: %v", method.Alg(), kid, err)
						}
						if waited := time.Since(begun); waited > 2*time.Second {
							t.Errorf("a request waited %v", waited)
						}
					}
				}
				accepted(t, v, good)
				<-time.After(time.Minute)
				room.publish(newSigner(t, 2))
				accepted(t, v, issue(t, newSigner(t, 2)))
			})
		})
	}
}

// TestKeySetFile: it is read at once, and again like a URL.
func TestKeySetFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jwks.json")
	must(t, os.WriteFile(file, newSigner(t, 1).JWKS(), 0o600))
	synctest.Test(t, func(t *testing.T) {
		v, err := pass.Open(t.Context(), pass.Options{KeySet: file})
		must(t, err)
		defer v.Close()
		accepted(t, v, issue(t, newSigner(t, 1)))
		must(t, os.WriteFile(file, newSigner(t, 2).JWKS(), 0o600))
		<-time.After(time.Minute)
		accepted(t, v, issue(t, newSigner(t, 2)))
		must(t, os.Remove(file))
		<-time.After(time.Hour)
		accepted(t, v, issue(t, newSigner(t, 2)))
	})
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty.json")
	must(t, os.WriteFile(empty, []byte(`{"keys":[]}`), 0o600))
	for name, o := range map[string]pass.Options{
		"no key set":        {},
		"no such file":      {KeySet: empty + "x"},
		"no key in a file":  {KeySet: empty},
		"another scheme":    {KeySet: "ftp://queue.example/jwks.json"},
		"a negative leeway": {KeySet: keySet, Leeway: -1},
		"a large leeway":    {KeySet: keySet, Leeway: 2 * time.Minute},
	} {
		if v, err := pass.Open(t.Context(), o); !errors.Is(err, pass.ErrOptions) || v != nil {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
}

// TestClosed: what is known is still good, and nothing is fetched.
func TestClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := newRoom(t, newSigner(t, 1))
		v := room.open(t)
		accepted(t, v, issue(t, newSigner(t, 1)))
		v.Close()
		v.Close()
		<-time.After(time.Hour)
		accepted(t, v, issue(t, newSigner(t, 1)))
		refused(t, v, issue(t, newSigner(t, 2)), pass.ErrUnverified)
		if room.times() != 1 {
			t.Errorf("asked %d times", room.times())
		}
	})
}
