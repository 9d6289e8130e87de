package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/guard"
)

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
