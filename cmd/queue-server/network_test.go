package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/network"
)

// TestPlacesByNetwork: a network gets its share of a line by the API, the page and the gate alike; operators see it, and change it.
func TestPlacesByNetwork(t *testing.T) {
	const crowded = "2001:db8::1"
	s := start(t, map[string]string{
		"QUEUE_CONFIG": config(t, "zones:\n  - {zoneId: SALE, perMinute: 0, maxShareByNetwork: 5}\n"+
			"  - {zoneId: SHOP, perMinute: 6000, burst: 100, networkShares: ['2001:db8::/64=0']}\n  - {zoneId: NEAR}\n"),
		"QUEUE_TRUSTED_PROXIES": "127.0.0.1", "QUEUE_SITE_ADDR": "127.0.0.1:0", "QUEUE_SITE_ROOM_URL": "https://queue.shop.example",
	})
	join := func(from string, n int) reply {
		return request(t, http.MethodPost, s.public+"/traffic/wait", fmt.Sprintf(`{"zoneId":"SALE","clientId":"c-%d"}`, n), "X-Forwarded-For", from)
	}
	for n := range network.Floor {
		if got := join(fmt.Sprintf("2001:db8::%x", n), n); got.status != http.StatusOK {
			t.Fatalf("%d: %+v", n, got)
		}
	}
	if got := join(crowded, network.Floor); got.status != http.StatusTooManyRequests || got.value(t, "code") != "network_share" {
		t.Errorf("above the share: %+v", got)
	}
	if got := join(crowded, 0); got.status != http.StatusOK {
		t.Errorf("a repeated join: %+v", got)
	}
	if got := join("2001:db8:1::1", 1_000); got.status != http.StatusOK {
		t.Errorf("another network: %+v", got)
	}

	page := func(from, language string) reply {
		return request(t, http.MethodGet, s.public+"/wait/SALE", "", "X-Forwarded-For", from, "Accept-Language", language,
			"Cookie", "waitingroom_client-00112233445566778899aabbccddeeff=1")
	}
	for language, want := range map[string]string{"en": "This page tries again by itself.", "de": "Diese Seite versucht es von selbst wieder."} {
		if got := page(crowded, language); got.status != http.StatusTooManyRequests || !strings.Contains(got.body, `<p id="text">`+want+"</p>") {
			t.Errorf("the page in %s: %d %v %s", language, got.status, got.header, got.body)
		}
	}
	if got := page("2001:db8:2::1", "en"); got.status != http.StatusOK {
		t.Errorf("the page of another network: %d", got.status)
	}

	for from, want := range map[string]string{crowded: "sent_to_wait", "2001:db8:3::1": "admitted"} {
		got := request(t, http.MethodGet, s.site+"/site/SHOP", "", "X-Original-URI", "/cart", "X-Forwarded-For", from, "Sec-Fetch-Mode", "navigate")
		if metrics := request(t, http.MethodGet, s.operators+"/metrics", "").body; !strings.Contains(metrics, `queue_site_requests_total{outcome="`+want+`",zone="SHOP"} 1`) {
			t.Errorf("the gate, from %s: %+v", from, got)
		}
	}

	var listed network.List
	got := s.admin(t, http.MethodGet, "/admin/zones/SALE/networks?limit=1", "")
	if err := json.Unmarshal([]byte(got.body), &listed); err != nil || listed.Joins != network.Floor+2 || listed.Refused != 3 || len(listed.Networks) != 1 ||
		listed.Networks[0].Network != "2001:db8::/48" || listed.Networks[0].Counts != (network.Counts{Joins: network.Floor, Refused: 3}) {
		t.Errorf("%+v", got)
	}
	s.admin(t, http.MethodPatch, "/admin/zones/SALE", `{"networkShares":["2001:db8::/64=100"]}`)
	if got := join(crowded, network.Floor); got.status != http.StatusOK {
		t.Errorf("with a share of its own: %+v", got)
	}
	operator := map[string]string{"QUEUE_ADMIN_URL": s.operators, "QUEUE_ADMIN_TOKEN": operatorToken}
	command := runToEnd(t, operator, "networks", "list", "SALE", "--limit", "2")
	for _, want := range []string{"2001:db8::/64", "91.3 %", "100 %", "counted 23 joins", "refused 3"} {
		if !strings.Contains(command.out, want) {
			t.Errorf("the command line does not say %q: %+v", want, command)
		}
	}
	request(t, http.MethodPost, s.public+"/traffic/wait", `{"zoneId":"NEAR"}`)
	if near := runToEnd(t, operator, "networks", "list", "NEAR"); !strings.Contains(near.out, "None of these joins has a network") {
		t.Errorf("after a join from this machine: %+v", near)
	}
}

// TestFileOfProviders: a server does not start with a file that it cannot read.
func TestFileOfProviders(t *testing.T) {
	for text, want := range map[string]string{"no database": "invalid MaxMind DB"} {
		if got := runToEnd(t, map[string]string{"QUEUE_ASN_FILE": config(t, text), "QUEUE_DATA_DIR": t.TempDir()}); !strings.Contains(got.errOut, want) || !strings.Contains(got.errOut, "QUEUE_ASN_FILE") {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
