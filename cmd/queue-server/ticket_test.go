package main

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// inviting starts a server that checks tickets of a shop, and returns the tickets of a name, by their issuer.
func inviting(t *testing.T, env map[string]string) (s *server, ticket func(issuer, name string) string) {
	t.Helper()
	shop := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{'s'}, ed25519.SeedSize))
	public, _ := shop.Public().(ed25519.PublicKey)
	env["QUEUE_TICKETS_ISSUER"] = issuer
	env["QUEUE_TICKETS_JWKS"] = config(t, fmt.Sprintf(`{"keys":[{"kty":"OKP","crv":"Ed25519","x":%q}]}`, base64.RawURLEncoding.EncodeToString(public)))
	return start(t, env), func(issuer, name string) string {
		text, err := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{
			"iss": issuer, "aud": "SALE", "event": "spring", "sub": name, "exp": time.Now().Add(time.Hour).Unix(),
		}).SignedString(shop)
		must(t, err)
		return text
	}
}

const issuer = "https://shop.example"

// TestMailScanners: programs that open the link of an invitation do not use it, and its person is let in. In a second browser the
// person is told that the visit goes on in the first.
func TestMailScanners(t *testing.T) {
	shop := startShop(t)
	s, ticket := inviting(t, map[string]string{
		"QUEUE_CONFIG": config(t, "zones: [{zoneId: SALE, invitation: spring}]\nsites: [{zone: SALE, upstream: '"+shop.URL+"'}]"), "QUEUE_SITES_ADDR": "127.0.0.1:0",
	})
	type browsing func(method, path string) (status int, body string)
	browser := func(redirects int) browsing {
		jar, err := cookiejar.New(nil)
		must(t, err)
		client := &http.Client{Transport: transport, Jar: jar, CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) > redirects {
				return http.ErrUseLastResponse
			}
			return nil
		}}
		var browse browsing
		browse = func(method, path string) (int, string) {
			req, err := http.NewRequestWithContext(t.Context(), method, s.sites+path, http.NoBody)
			must(t, err)
			req.Header.Set("Accept", "text/html")
			req.Header.Set("Accept-Language", "en")
			res, err := client.Do(req)
			must(t, err)
			defer closing(t, res.Body)
			body, err := io.ReadAll(res.Body)
			must(t, err)
			if _, on, is := strings.Cut(res.Header.Get("Refresh"), "url="); is && redirects > 0 {
				return browse(http.MethodGet, on)
			}
			return res.StatusCode, string(body)
		}
		return browse
	}
	link := "/sale?item=7&waiting_room_ticket=" + ticket(issuer, "alice")
	button := regexp.MustCompile(`<form method="post" action="(\?join=1[^"]*)">`)
	for redirects := range 10 {
		scanner := browser(redirects)
		for range 2 {
			scanner(http.MethodGet, link)
			scanner(http.MethodHead, link)
		}
	}
	if asked := shop.took(); len(asked) > 0 {
		t.Fatalf("a scanner was let in: %v", asked[0].URL)
	}
	person := browser(10)
	// opens returns the address of the button.
	opens := func(browser browsing, says string) string {
		status, body := browser(http.MethodGet, link)
		found := button.FindStringSubmatch(body)
		if status != http.StatusOK || !strings.Contains(body, says) || found == nil {
			t.Fatalf("%d %s", status, body)
		}
		return "/wait/SALE" + html.UnescapeString(found[1])
	}
	if status, body := person(http.MethodPost, opens(person, "You are invited")); status != http.StatusOK || body != "the shop: /sale?item=7" {
		t.Fatalf("%d %s", status, body)
	}
	second := browser(10)
	if status, body := second(http.MethodPost, opens(second, "Your visit has begun in another browser")); status != http.StatusTooManyRequests {
		t.Errorf("moved at once: %d %s", status, body)
	}
	if status, body := person(http.MethodGet, "/sale"); status != http.StatusOK || body != "the shop: /sale" {
		t.Errorf("%d %s", status, body)
	}
}

// TestInvitations: a server checks tickets by its settings, and logs who joined with one. Package wait has what becomes of a ticket.
func TestInvitations(t *testing.T) {
	s, ticket := inviting(t, map[string]string{"QUEUE_CONFIG": config(t, "zones: [{zoneId: SALE, invitation: spring}]")})
	for _, tt := range []struct {
		shown  string
		status int
		code   any
	}{
		{"", http.StatusForbidden, "ticket_missing"}, {ticket("https://other.example", "alice"), http.StatusForbidden, "ticket_invalid"},
		{ticket(issuer, "alice"), http.StatusOK, nil},
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
