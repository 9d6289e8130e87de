package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/zone"
)

// TestApplySteered: a file that has the cap from which the autopilot began leaves the cap that it has set, and another cap is changed.
func TestApplySteered(t *testing.T) {
	t.Parallel()
	made := zone.Defaults("SHOP")
	made.Pilot, made.PilotMin, made.PilotMax, made.MaxInside = zone.PilotSteer, 10, 1000, 100
	is := made
	is.MaxInside, is.PilotState = 70, zone.PilotStep{AtMillis: 3, From: 100, To: 70, Of: "maxInside", Why: "slow"}
	was := is
	is.PerMinute = 900 // by an operator, after the autopilot's step
	record := map[string]any{"changes": []zone.Change{{AtMillis: 4, ZoneID: "SHOP", Was: &was, Now: &is}, {AtMillis: 1, ZoneID: "SHOP", Now: &made}}}
	for name, tt := range map[string]struct{ file, existing, says, sent string }{
		"match":            {"perMinute: 900, maxInside: 100", "match", "maxInside stays 70, which the autopilot has set; the file says 100, as before", ""},
		"merge":            {"perMinute: 900, maxInside: 100", "merge", "maxInside stays 70", ""},
		"another setting":  {"perMinute: 600, maxInside: 100", "match", "maxInside stays 70", `{"perMinute":600}`},
		"another cap":      {"perMinute: 900, maxInside: 120", "match", "maxInside  70 -> 120", `{"maxInside":120}`},
		"another bound":    {"perMinute: 900, maxInside: 100, pilotMax: 60", "match", "maxInside stays 70", `{"pilotMax":60}`},
		"it is to stop":    {"perMinute: 900, maxInside: 100, pilot: off", "match", "maxInside  70 -> 100", `{"maxInside":100,"pilot":"off"}`},
		"the cap that is":  {"perMinute: 900, maxInside: 70", "match", "1 as the file says already", ""},
		"keep what exists": {"perMinute: 600, maxInside: 120", "keep", "1 as the file says already", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sent := ""
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var answer any = is
				if r.URL.Path == "/admin/audit" {
					answer = record
				}
				if r.Method == http.MethodPatch {
					body, err := io.ReadAll(r.Body)
					if err != nil {
						t.Error(err)
					}
					sent = string(body)
				}
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("ETag", `"1"`)
				if err := json.NewEncoder(w).Encode(answer); err != nil {
					t.Error(err)
				}
			}))
			t.Cleanup(server.Close)
			file := filepath.Join(t.TempDir(), "zones.yaml")
			text := "zones:\n  - {zoneId: SHOP, pilot: steer, pilotMin: 10, pilotMax: 1000, " + tt.file + "}\n"
			if strings.Contains(tt.file, "pilotMax") {
				text = strings.Replace(text, "pilotMax: 1000, ", "", 1)
			}
			if strings.Contains(tt.file, "pilot: ") {
				text = strings.Replace(text, "pilot: steer, ", "", 1)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			var out, errs strings.Builder
			status := execute(t.Context(), []string{"zones", "apply", "-f", file, "--existing", tt.existing, "--yes"},
				&Terminal{Getenv: func(name string) string {
					if name == "QUEUE_ADMIN_URL" {
						return server.URL
					}
					return withToken(name)
				}, Stdout: &out, Stderr: &errs})
			if said := out.String() + errs.String(); status != 0 || !strings.Contains(said, tt.says) || strings.TrimSpace(sent) != tt.sent {
				t.Errorf("status %d, sent %q, says\n%s", status, sent, said)
			}
		})
	}
}
