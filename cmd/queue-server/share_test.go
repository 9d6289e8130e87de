package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/guard"
)

// TestOneAddressTakesNoZone: in a zone as it is made one address, which joins as somebody else each time, gets its share,
// and others get in and find places.
func TestOneAddressTakesNoZone(t *testing.T) {
	s := start(t, map[string]string{
		"QUEUE_TRUSTED_PROXIES": "127.0.0.0/8",
		"QUEUE_CONFIG":          config(t, "zones:\n  - {zoneId: SALE, maxWaiting: 500}\n"),
	})
	joined := map[bool]int{}
	for n := range 300 {
		got := request(t, http.MethodPost, s.public+"/traffic/wait", fmt.Sprintf(`{"zoneId":"SALE","clientId":"scalper-%d"}`, n), "X-Forwarded-For", "203.0.113.9")
		if got.status != http.StatusOK && got.status != http.StatusTooManyRequests {
			t.Fatalf("%+v", got)
		}
		joined[got.status == http.StatusOK]++
	}
	// 30 at once, and then two a second: package guard has the figures.
	if joined[true] < 30 || joined[false] == 0 {
		t.Errorf("one address joined %d times, and was refused %d times", joined[true], joined[false])
	}
	for n := range 20 {
		got := request(t, http.MethodPost, s.public+"/traffic/wait", `{"zoneId":"SALE"}`, "X-Forwarded-For", fmt.Sprint("198.51.100.", n))
		if got.status != http.StatusOK {
			t.Fatalf("person %d: %+v", n, got)
		}
	}
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
