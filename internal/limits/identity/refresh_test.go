package identity_test

import (
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/openqueue/waitingroom/internal/limits/identity"
)

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
