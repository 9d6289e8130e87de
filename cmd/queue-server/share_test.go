package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/guard"
)

// TestOneAddressTakesNoZone: in a zone as it is made, with 500 places, one address joins
// 300 times, as somebody else each time. It gets its share, and the others get in
// and find places.
func TestOneAddressTakesNoZone(t *testing.T) {
	s := start(t, map[string]string{
		"QUEUE_TRUSTED_PROXIES": "127.0.0.0/8",
		"QUEUE_CONFIG":          config(t, "zones:\n  - {zoneId: SALE, maxWaiting: 500}\n"),
	})
	join := func(from, name string) reply {
		body := fmt.Sprintf(`{"zoneId":"SALE","clientId":%q}`, name)
		return request(t, http.MethodPost, s.public+"/traffic/wait", body, "X-Forwarded-For", from)
	}
	began := time.Now()
	in, waiting := 0, 0
	for n := range 300 {
		got := join("203.0.113.9", fmt.Sprint("scalper-", n))
		switch {
		case got.status == http.StatusTooManyRequests && strings.Contains(got.body, "too_many_requests"):
		case got.status != http.StatusOK:
			t.Fatalf("%+v", got)
		case got.value(t, "canEnter") == true:
			in++
		default:
			waiting++
		}
	}
	took := time.Since(began)
	// 30 at once, of the 60 that a window lets in, and then two a second.
	if most := 31 + int(2*took/time.Second); in+waiting < 30 || in+waiting > most {
		t.Errorf("one address has %d in and %d waiting after %v, want between 30 and %d", in, waiting, took, most)
	}
	for n := range 100 {
		if got := join(fmt.Sprint("198.51.100.", n), fmt.Sprint("person-", n)); got.status != http.StatusOK {
			t.Fatalf("person %d: %+v", n, got)
		}
	}
	t.Logf("one address: %d in, %d waiting, of 300 joins in %v", in, waiting, took)
}

// TestTheBodyNamesNobody: what a join says of its address counts where an operator has
// named the backend that sends it, and nowhere else, be it through a trusted proxy.
func TestTheBodyNamesNobody(t *testing.T) {
	const five = "limits:\n  - {name: " + guard.JoinsAddress + ", rules: [{algorithm: fixed_window, limit: 5, windowSeconds: 86400}]}\n" + oneSlot
	one, many := func(int) string { return "203.0.113.9" }, func(n int) string { return fmt.Sprint("198.51.100.", n) }
	for name, tt := range map[string]struct {
		setting, forwarded string
		says               func(n int) string
		pass               int
		unlimited          string
	}{
		"a trusted proxy that says no address": {"QUEUE_TRUSTED_PROXIES", "", many, 15, "15"},
		"a trusted proxy that says one":        {"QUEUE_TRUSTED_PROXIES", "203.0.113.9", many, 5, "0"},
		"a backend, of one visitor":            {"QUEUE_CLIENT_IP_FROM", "", one, 5, "0"},
		"a backend, of many":                   {"QUEUE_CLIENT_IP_FROM", "", many, 15, "0"},
		"a header to a backend":                {"QUEUE_CLIENT_IP_FROM", "198.51.100.1", one, 5, "0"},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, map[string]string{tt.setting: "127.0.0.1", "QUEUE_CONFIG": config(t, five)})
			passed := 0
			for n := range 15 {
				var header []string
				if tt.forwarded != "" {
					header = []string{"X-Forwarded-For", tt.forwarded}
				}
				got := request(t, http.MethodPost, s.public+"/traffic/wait", fmt.Sprintf(`{"zoneId":"TEST_ZONE","clientIp":%q}`, tt.says(n)), header...)
				if got.status == http.StatusOK {
					passed++
				}
			}
			if passed != tt.pass {
				t.Errorf("%d of 15 passed the limit of 5, want %d", passed, tt.pass)
			}
			metrics := request(t, http.MethodGet, s.operators+"/metrics", "").body
			if want := `queue_joins_unlimited_total{reason="trusted"} ` + tt.unlimited + "\n"; !strings.Contains(metrics, want) {
				t.Errorf("the metrics do not say %s", want)
			}
			if log := s.log.text(); tt.unlimited != "0" && (!strings.Contains(log, "X-Forwarded-For") || strings.Contains(log, "QUEUE_CLIENT_IP_FROM")) {
				t.Errorf("the log advises otherwise:\n%s", log)
			}
		})
	}
}
