package main

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// TestInvitations: a server takes who shows a ticket of its shop, once.
func TestInvitations(t *testing.T) {
	shop := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{'s'}, ed25519.SeedSize))
	public, _ := shop.Public().(ed25519.PublicKey)
	s := start(t, map[string]string{
		"QUEUE_TICKETS_ISSUER": "https://shop.example",
		"QUEUE_TICKETS_JWKS":   config(t, fmt.Sprintf(`{"keys":[{"kty":"OKP","crv":"Ed25519","x":%q}]}`, base64.RawURLEncoding.EncodeToString(public))),
		"QUEUE_CONFIG":         config(t, "zones: [{zoneId: SALE, perMinute: 10, invitation: spring}]"),
	})
	join := func(shown string) (status int, code, token string, in bool) {
		got := request(t, http.MethodPost, s.public+"/traffic/wait", fmt.Sprintf(`{"zoneId":"SALE","ticket":%q}`, shown))
		var body struct {
			Code     string `json:"code"`
			Token    string `json:"token"`
			CanEnter bool   `json:"canEnter"`
		}
		if err := json.Unmarshal([]byte(got.body), &body); err != nil {
			t.Fatalf("%s: %v", got.body, err)
		}
		return got.status, body.Code, body.Token, body.CanEnter
	}
	ticket := func(name, event string) string {
		text, err := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{
			"iss": "https://shop.example", "aud": "SALE", "event": event, "sub": name, "exp": time.Now().Add(time.Hour).Unix(),
		}).SignedString(shop)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	alice, bob := ticket("alice", "spring"), ticket("bob", "spring")
	if _, _, _, in := join(alice); !in {
		t.Error("the first is not let in")
	}
	_, _, waits, _ := join(bob)
	_, _, again, _ := join(bob)
	if waits == "" || again == "" {
		t.Error("the second has no place")
	}
	if got := s.admin(t, http.MethodGet, "/admin/zones/SALE/stats", ""); !strings.Contains(got.body, `"waiting":1`) || !strings.Contains(got.body, `"joined":2`) {
		t.Errorf("two tickets took %s", got.body)
	}
	if _, _, _, in := join(alice); !in {
		t.Error("who shows a ticket again that was let in is not told so")
	}
	for shown, want := range map[string]string{
		"": "ticket_missing", bob + "x": "ticket_invalid", ticket("carol", "autumn"): "ticket_invalid", // package ticket has the others
	} {
		if status, code, _, _ := join(shown); status != http.StatusForbidden || code != want {
			t.Errorf("%.20s: %d %s, want %s", shown, status, code, want)
		}
	}
	if got := s.admin(t, http.MethodGet, "/admin/zones/SALE/stats", ""); !strings.Contains(got.body, `"waiting":1`) || !strings.Contains(got.body, `"joined":2`) {
		t.Errorf("forged and reused tickets have changed the line: %s", got.body)
	}
	if said := s.log.await(t, "joined by ticket"); said["name"] != "alice" || said["zone"] != "SALE" || said["invitation"] != "spring" {
		t.Errorf("the log says %v", said)
	}
}
