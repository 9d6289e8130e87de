package ticket_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/openqueue/waitingroom/internal/check/parts"
	"github.com/openqueue/waitingroom/internal/limits/identity"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/ticket"
)

var (
	clock    = parts.NewClock()
	now      = clock.Now()
	shop     = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{'s'}, ed25519.SeedSize))
	stranger = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{'x'}, ed25519.SeedSize))
)

// desk is one with the shop's key, and its log.
func desk(t *testing.T) (*ticket.Verifier, *bytes.Buffer) {
	t.Helper()
	public, _ := shop.Public().(ed25519.PublicKey)
	file := filepath.Join(t.TempDir(), "jwks.json")
	parts.Must(t, os.WriteFile(file, fmt.Appendf(nil, `{"keys":[{"kty":"OKP","crv":"Ed25519","x":%q}]}`, base64.RawURLEncoding.EncodeToString(public)), 0o600))
	keys, err := identity.New(identity.FinderOptions{JWKS: file, Issuer: "https://shop.example", Now: clock.Now})
	parts.Must(t, err)
	log := &bytes.Buffer{}
	return ticket.New(keys, parts.OpenStore(t, clock.Now, nil), slog.New(slog.NewTextHandler(log, nil))), log
}

// claims are those of a good ticket, but for what is changed; nil takes one away.
func claims(change map[string]any) jwt.MapClaims {
	c := jwt.MapClaims{"iss": "https://shop.example", "aud": "SALE", "event": "spring", "sub": "member-1", "jti": "t-1", "exp": now.Add(time.Hour).Unix()}
	for name, value := range change {
		if c[name] = value; value == nil {
			delete(c, name)
		}
	}
	return c
}

func sign(t *testing.T, key ed25519.PrivateKey, c jwt.MapClaims) string {
	t.Helper()
	text, err := jwt.NewWithClaims(jwt.SigningMethodEdDSA, c).SignedString(key)
	parts.Must(t, err)
	return text
}

func TestName(t *testing.T) {
	t.Parallel()
	d, _ := desk(t)
	good := sign(t, shop, claims(nil))
	part := strings.Split(good, ".")
	none, err := jwt.NewWithClaims(jwt.SigningMethodNone, claims(nil)).SignedString(jwt.UnsafeAllowNoneSignatureType)
	parts.Must(t, err)
	public, _ := shop.Public().(ed25519.PublicKey)
	secret, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims(nil)).SignedString([]byte(public))
	parts.Must(t, err)
	for what, tt := range map[string]struct{ ticket, name, fault string }{
		"good": {good, "member-1", ""}, "without a sub": {sign(t, shop, claims(map[string]any{"sub": nil})), "t-1", ""},
		"several zones": {sign(t, shop, claims(map[string]any{"aud": []string{"OTHER", "SALE"}})), "member-1", ""},
		"none":          {"", "", "missing"}, "garbage": {"x", "", "The shop did not sign it."},
		"forged":            {sign(t, stranger, claims(nil)), "", "The shop did not sign it."},
		"unsigned":          {none, "", "The shop did not sign it."},
		"a public secret":   {secret, "", "The shop did not sign it."},
		"changed":           {part[0] + "." + strings.Split(sign(t, stranger, claims(map[string]any{"sub": "x"})), ".")[1] + "." + part[2], "", "The shop did not sign it."},
		"another shop's":    {sign(t, shop, claims(map[string]any{"iss": "https://evil.example"})), "", "The shop did not sign it."},
		"expired":           {sign(t, shop, claims(map[string]any{"exp": now.Add(-time.Hour).Unix()})), "", "It has expired."},
		"for ever":          {sign(t, shop, claims(map[string]any{"exp": nil})), "", "The shop did not sign it."},
		"too early":         {sign(t, shop, claims(map[string]any{"nbf": now.Add(time.Hour).Unix()})), "", "It is not valid yet."},
		"another zone":      {sign(t, shop, claims(map[string]any{"aud": "OTHER"})), "", "It is for another zone."},
		"no zone":           {sign(t, shop, claims(map[string]any{"aud": nil})), "", "It is for another zone."},
		"another event":     {sign(t, shop, claims(map[string]any{"event": "autumn"})), "", "It is for another event."},
		"no event":          {sign(t, shop, claims(map[string]any{"event": nil})), "", "It is for another event."},
		"an event in a box": {sign(t, shop, claims(map[string]any{"event": []string{"spring"}})), "", "It is for another event."},
		"nobody":            {sign(t, shop, claims(map[string]any{"sub": nil, "jti": nil})), "", "It names nobody."},
		"a long name":       {sign(t, shop, claims(map[string]any{"sub": strings.Repeat("m", 201), "jti": nil})), "", "It names nobody."},
		"a long one, jti":   {sign(t, shop, claims(map[string]any{"sub": strings.Repeat("m", 201)})), "", "It names nobody."},
		"a number, jti":     {sign(t, shop, claims(map[string]any{"sub": 4711})), "4711", ""},
	} {
		name, err := d.Name(tt.ticket, "SALE", "spring")
		if name != tt.name || (err == nil) != (tt.fault == "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
			t.Errorf("%s: %q, %v", what, name, err)
		}
		if err != nil && !errors.Is(err, ticket.ErrMissing) && !errors.Is(err, ticket.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if name, err := d.Name(sign(t, shop, claims(map[string]any{"event": "autumn"})), "SALE", ""); name != "member-1" || err != nil {
		t.Errorf("for any event: %q, %v", name, err)
	}
	if _, err := ticket.New(nil, nil, nil).Name(good, "SALE", "spring"); !errors.Is(err, ticket.ErrInvalid) {
		t.Errorf("without keys: %v", err)
	}
}

// TestUse: looking takes nothing, and each zone, invitation and visitor is another.
func TestUse(t *testing.T) {
	t.Parallel()
	d, log := desk(t)
	id := line.ID{1}
	visit := store.Visit{AtMillis: now.UnixMilli(), UntilMillis: now.Add(time.Minute).UnixMilli()}
	is := func(zoneID, invitation string, id line.ID, tells, want store.Visit) {
		t.Helper()
		if newest, err := d.Visit(t.Context(), zoneID, invitation, id, tells); err != nil || newest != want {
			t.Errorf("%s, %s, %x: %+v, %v", zoneID, invitation, id, newest, err)
		}
	}
	for range 3 {
		is("SALE", "spring", id, store.Visit{}, store.Visit{})
	}
	for range 20 {
		is("SALE", "spring", id, visit, visit)
	}
	is("SALE", "spring", id, store.Visit{}, visit)
	is("SALE", "autumn", id, store.Visit{}, store.Visit{})
	is("OTHER", "spring", id, store.Visit{}, store.Visit{})
	is("SALE", "spring", line.ID{2}, store.Visit{}, store.Visit{})
	d.Joined(t.Context(), "SALE", "spring", "member-1", id)
	if got := log.String(); !strings.Contains(got, `msg="joined by ticket" zone=SALE invitation=spring name=member-1 visitor=0100000000000000`) {
		t.Errorf("log %s", got)
	}
}

// away is a store that does not answer.
type away struct{ store.Spender }

func (away) Visit(context.Context, string, store.Visit) (store.Visit, error) {
	return store.Visit{}, line.ErrStoreUnavailable
}

// TestNobodyKnows: a use that cannot be noted, or looked up, is an error.
func TestNobodyKnows(t *testing.T) {
	t.Parallel()
	d := ticket.New(nil, away{}, nil)
	if _, err := d.Visit(t.Context(), "SALE", "spring", line.ID{1}, store.Visit{}); !errors.Is(err, line.ErrStoreUnavailable) {
		t.Error(err)
	}
}
