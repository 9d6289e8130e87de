package main

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// TestInvitations: a server checks tickets by its settings, and logs who joined with one. Package wait has what becomes of a ticket.
func TestInvitations(t *testing.T) {
	shop := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{'s'}, ed25519.SeedSize))
	public, _ := shop.Public().(ed25519.PublicKey)
	s := start(t, map[string]string{
		"QUEUE_TICKETS_ISSUER": "https://shop.example",
		"QUEUE_TICKETS_JWKS":   config(t, fmt.Sprintf(`{"keys":[{"kty":"OKP","crv":"Ed25519","x":%q}]}`, base64.RawURLEncoding.EncodeToString(public))),
		"QUEUE_CONFIG":         config(t, "zones: [{zoneId: SALE, invitation: spring}]"),
	})
	ticket := func(issuer string) string {
		text, err := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{
			"iss": issuer, "aud": "SALE", "event": "spring", "sub": "alice", "exp": time.Now().Add(time.Hour).Unix(),
		}).SignedString(shop)
		must(t, err)
		return text
	}
	for _, tt := range []struct {
		shown  string
		status int
		code   any
	}{
		{"", http.StatusForbidden, "ticket_missing"}, {ticket("https://other.example"), http.StatusForbidden, "ticket_invalid"},
		{ticket("https://shop.example"), http.StatusOK, nil},
	} {
		got := request(t, http.MethodPost, s.public+"/traffic/wait", fmt.Sprintf(`{"zoneId":"SALE","ticket":%q}`, tt.shown))
		if got.status != tt.status || got.value(t, "code") != tt.code {
			t.Errorf("%.20s: %+v", tt.shown, got)
		}
	}
	if said := s.log.await(t, "joined by ticket"); said["name"] != "alice" || said["zone"] != "SALE" || said["invitation"] != "spring" {
		t.Errorf("the log says %v", said)
	}
}
