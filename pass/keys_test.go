package pass_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
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
