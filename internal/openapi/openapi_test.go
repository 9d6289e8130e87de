package openapi_test

import (
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/openqueue/waitingroom/internal/openapi"
	"github.com/openqueue/waitingroom/internal/pass"
	"github.com/openqueue/waitingroom/internal/token"
)

// TestPublic: the document of the public listener tells nothing of the operators' routes.
func TestPublic(t *testing.T) {
	t.Parallel()
	text := strings.ToLower(string(openapi.Public()))
	for _, word := range []string{"/admin", "/metrics", "/debug", "/console", "8081", "bearerformat", "unauthorized"} {
		if strings.Contains(text, word) {
			t.Errorf("it tells the public of %q", word)
		}
	}
}

// object is a JSON object; at and list walk it.
type object map[string]any

func (o object) at(path ...string) any {
	var v any = map[string]any(o)
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

func read(t *testing.T, d openapi.Document) object {
	t.Helper()
	var document any
	if err := yaml.Unmarshal(d, &document); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(document) // so that numbers are of one type
	if err != nil {
		t.Fatal(err)
	}
	var o object
	if err := json.Unmarshal(text, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// The token and the pass of the examples are genuine, and the keys of the examples
// verify the pass. So a client can be tried with the document alone.
func TestExamplesAreGenuine(t *testing.T) {
	t.Parallel()
	secret := []byte("the secret behind the examples..")
	o := read(t, openapi.Public())
	tokens, err := token.NewKeys(secret)
	if err != nil {
		t.Fatal(err)
	}
	passes, err := pass.NewSigner(pass.DefaultIssuer, secret)
	if err != nil {
		t.Fatal(err)
	}
	clientID, _ := o.at("components", "schemas", "Newcomer", "properties", "clientId", "example").(string)
	admitted := []string{"components", "responses", "Answer", "content", "application/json", "examples", "admitted", "value"}
	tok, _ := o.at(append(admitted, "token")...).(string)
	place, err := tokens.Verify("TEST_ZONE", tok)
	if err != nil || place.ID != tokens.VisitorID("TEST_ZONE", clientID) || place.ArrivedAtMicros != 1795223373123456 {
		t.Errorf("the token of the example is %+v, %v", place, err)
	}
	shown, _ := o.at(append(admitted, "admission", "pass")...).(string)
	grant, err := passes.Verify(shown, time.UnixMilli(1795223434123))
	if err != nil || grant.ZoneID != "TEST_ZONE" || grant.ID != place.ID {
		t.Errorf("the pass of the example is %+v, %v", grant, err)
	}
	keys, err := json.Marshal(o.at("paths", "/.well-known/jwks.json", "get", "responses", "200", "content",
		"application/jwk-set+json", "examples", "one", "value"))
	if err != nil {
		t.Fatal(err)
	}
	var got, want any
	if json.Unmarshal(keys, &got) != nil || json.Unmarshal(passes.JWKS(), &want) != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the keys of the example are %s, want %s", keys, passes.JWKS())
	}
	for name, said := range claims(t, shown) {
		if example := o.at("components", "schemas", "PassClaims", "properties", name, "example"); example != said {
			t.Errorf("PassClaims: the example of %s is %v, in the pass it is %v", name, example, said)
		}
	}
}

// claims returns the claims of a pass.
func claims(t *testing.T, shown string) map[string]any {
	t.Helper()
	parts := strings.Split(shown, ".")
	if len(parts) != 3 {
		t.Fatalf("no pass: %q", shown)
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	var c map[string]any
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	return c
}
