package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// apiPolicy is five in a day: what was taken stays taken for as long as a test runs.
const apiPolicy = `limits:
  - name: api
    key: [jwt, apiKey, ip]
    rules: [{algorithm: fixed_window, limit: 5, windowSeconds: 86400}]
    tiers:
      pro: [{algorithm: fixed_window, limit: 50, windowSeconds: 86400}]
`

func TestLimitsAreOffByDefault(t *testing.T) {
	s := start(t, map[string]string{"QUEUE_CONFIG": config(t, apiPolicy)})
	if s.limits != "" {
		t.Errorf("limits' listener at %s", s.limits)
	}
	for _, at := range []string{s.public, s.operators} {
		if got := request(t, http.MethodGet, at+"/limits/api/auth", ""); got.status != http.StatusNotFound {
			t.Errorf("%s: %d", at, got.status)
		}
	}
}

// TestLimitsListener: all of it, over HTTP, with a policy from the file and one that
// is made while it runs.
func TestLimitsListener(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := json.Marshal(map[string]any{"keys": []any{map[string]string{
		"kty": "OKP", "crv": "Ed25519", "kid": "a", "x": base64.RawURLEncoding.EncodeToString(public),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, map[string]string{
		"QUEUE_CONFIG": config(t, apiPolicy), "QUEUE_LIMITS_ADDR": "127.0.0.1:0", "QUEUE_TRUSTED_PROXIES": "127.0.0.1",
		"QUEUE_LIMITS_JWKS":     config(t, string(keys)),
		"QUEUE_LIMITS_API_KEYS": config(t, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad pro"),
	})
	token := func(claims jwt.MapClaims) string {
		claims["exp"] = time.Now().Add(time.Hour).Unix()
		made := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims)
		made.Header["kid"] = "a"
		text, err := made.SignedString(private)
		if err != nil {
			t.Fatal(err)
		}
		return "Bearer " + text
	}
	const who = "X-Forwarded-For"
	for range 5 {
		if got := request(t, "GET", s.limits+"/limits/api/auth", "", who, "203.0.113.9"); got.status != http.StatusOK {
			t.Errorf("one of five: %+v", got)
		}
	}
	for _, tt := range []struct {
		name    string
		got     reply
		status  int
		headers string // X-RateLimit-Limit and -Remaining
	}{
		{"the sixth", request(t, "GET", s.limits+"/limits/api/auth", "", who, "1.2.3.4, 203.0.113.9"), 429, "5 0"},
		{"a known API key", request(t, "GET", s.limits+"/limits/api/auth", "", who, "203.0.113.9", "X-API-Key", "abc"), 200, "50 49"},
		{"a paying member", request(t, "GET", s.limits+"/limits/api/auth", "", who, "203.0.113.9",
			"Authorization", token(jwt.MapClaims{"sub": "bob", "tier": "pro"})), 200, "50 49"},
		{"many cookies", request(t, "GET", s.limits+"/limits/api/auth", "", who, "203.0.113.10", "Cookie", strings.Repeat("c=v; ", 8000)), 200, "5 4"},
		{"no such policy", request(t, "GET", s.limits+"/limits/none/auth", ""), 404, " "},
		{"alive", request(t, "GET", s.limits+"/healthz", ""), 200, " "},
		{"ready", request(t, "GET", s.limits+"/readyz", ""), 200, " "},
		{"described", request(t, "GET", s.limits+"/openapi.yaml", ""), 200, " "},
		{"no zones", request(t, "GET", s.limits+"/traffic/zones/TEST_ZONE", ""), 404, " "},
		{"no operators", request(t, "GET", s.limits+"/admin/limits", ""), 404, " "},
	} {
		headers := tt.got.header.Get("X-RateLimit-Limit") + " " + tt.got.header.Get("X-RateLimit-Remaining")
		if tt.got.status != tt.status || headers != tt.headers {
			t.Errorf("%s: %d, %q: %s", tt.name, tt.got.status, headers, tt.got.body)
		}
	}

	// What an operator makes is in force at once on this server.
	put := s.admin(t, http.MethodPut, "/admin/limits/slow", `{"rules":[{"algorithm":"sliding_log","limit":1,"windowSeconds":60}]}`)
	if put.status != http.StatusCreated {
		t.Fatalf("put: %+v", put)
	}
	for _, want := range []int{200, 429} {
		if got := request(t, "POST", s.limits+"/limits/slow/check", `{"key":"a"}`); got.status != want {
			t.Errorf("a new policy: %d, want %d", got.status, want)
		}
	}
	if log := s.log.text(); strings.Contains(log, "203.0.113.9") || strings.Contains(log, "/limits/api") {
		t.Errorf("the log has addresses, or lines for requests:\n%s", log)
	}
}

// TestWarnings: what an operator may not have meant is said at the start.
func TestWarnings(t *testing.T) {
	s := start(t, map[string]string{"QUEUE_LIMITS_ADDR": "127.0.0.1:0", "QUEUE_LIMITS_API_KEYS": "any"})
	for _, want := range []string{"no proxy is trusted", "every X-API-Key is believed"} {
		if !strings.Contains(s.log.text(), want) {
			t.Errorf("the log does not say %q:\n%s", want, s.log.text())
		}
	}
	if strings.Contains(s.log.text(), "can be reached from other machines") {
		t.Error("warns of an address that is this machine's own")
	}
	s = start(t, map[string]string{"QUEUE_LIMITS_ADDR": ":0", "QUEUE_TRUSTED_PROXIES": "10.0.0.0/8"})
	if !strings.Contains(s.log.text(), `"a listener can be reached from other machines","listener":"limits'"`) {
		t.Errorf("does not warn of an address that others reach:\n%s", s.log.text())
	}
}
