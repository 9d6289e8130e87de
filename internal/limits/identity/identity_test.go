package identity_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/openqueue/waitingroom/internal/limits/address"
	"github.com/openqueue/waitingroom/internal/limits/identity"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/serve/keyset"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var all = []limit.Source{limit.SourceJWT, limit.SourceAPIKey, limit.SourceIP}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// request returns a request from 192.0.2.1 with these headers: name, value, name, value.
func request(header ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

func file(tb testing.TB, text string) string {
	tb.Helper()
	name := filepath.Join(tb.TempDir(), "file")
	must(tb, os.WriteFile(name, []byte(text), 0o600))
	return name
}

func finder(tb testing.TB, o identity.FinderOptions) *identity.Finder {
	tb.Helper()
	if o.Address == nil {
		o.Address = address.Finder(nil)
	}
	f, err := identity.New(o)
	must(tb, err)
	return f
}

func TestAPIKeys(t *testing.T) {
	t.Parallel()
	sum := func(key string) string {
		s := sha256.Sum256([]byte(key))
		return hex.EncodeToString(s[:])
	}
	list := file(t, "# known\n"+sum("known")+"\n\n"+strings.ToUpper(sum("paid"))+" pro # the paid one\n")
	listed, anyOf, none := finder(t, identity.FinderOptions{APIKeys: list}), finder(t, identity.FinderOptions{APIKeys: identity.AnyAPIKey}),
		finder(t, identity.FinderOptions{})
	const byAddress = "ip:192.0.2.1"
	for _, tt := range []struct {
		name    string
		finder  *identity.Finder
		key     string
		hashed  bool
		tier    string
		sources []limit.Source
	}{
		{"known", listed, "known", true, "", all},
		{"known, with a tier", listed, "paid", true, "pro", all},
		{"invented", listed, "invented", false, "", all},
		{"the hash itself", listed, sum("known"), false, "", all},
		{"too long", listed, strings.Repeat("k", 513), false, "", all},
		{"not a source", listed, "known", false, "", []limit.Source{limit.SourceIP}},
		{"the address first", listed, "known", false, "", []limit.Source{limit.SourceIP, limit.SourceAPIKey}},
		{"none is known", none, "known", false, "", all},
		{"invented, alone", listed, "invented", false, "", []limit.Source{limit.SourceAPIKey}},
		{"any", anyOf, "invented", true, "", all},
		{"any, too long", anyOf, strings.Repeat("k", 513), false, "", all},
		{"any, none", anyOf, "", false, "", all},
	} {
		got := tt.finder.Find(request("X-API-Key", tt.key), tt.sources)
		if tt.hashed != strings.HasPrefix(got.Key, "apikey:") || !tt.hashed && got.Key != byAddress || got.Tier != tt.tier ||
			strings.Contains(got.Key, tt.key) && tt.key != "" {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
	if a, b := listed.Find(request("X-API-Key", "known"), all), listed.Find(request("X-API-Key", "paid"), all); a.Key == b.Key {
		t.Error("two keys are one")
	}
}

func TestListsThatAreWrong(t *testing.T) {
	t.Parallel()
	good := strings.Repeat("ab", 32)
	for _, text := range []string{"known", good[2:], good + "ab", good + " pro max", good + " p/o", strings.Repeat("a", 70_000)} {
		if _, err := identity.New(identity.FinderOptions{APIKeys: file(t, text)}); !errors.Is(err, identity.ErrAPIKeys) {
			t.Errorf("%.80q: %v", text, err)
		}
	}
	if _, err := identity.New(identity.FinderOptions{APIKeys: filepath.Join(t.TempDir(), "none")}); !errors.Is(err, identity.ErrAPIKeys) {
		t.Errorf("no file: %v", err)
	}
	for _, url := range []string{"http://keys.example/jwks.json", "ftp://keys.example", filepath.Join(t.TempDir(), "none")} {
		if _, err := identity.New(identity.FinderOptions{JWKS: url}); !errors.Is(err, keyset.ErrKeySet) {
			t.Errorf("%s: %v", url, err)
		}
	}
}
