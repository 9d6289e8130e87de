package snippet

import (
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/e2e/room"
)

// TestVerifyPassScript: scripts/verify-pass.sh takes a pass of this zone and this
// installation, and no other.
func TestVerifyPassScript(t *testing.T) {
	const signing = "pQiedzTxsL6PJdIhMVKW/3o+eZwFewKdy4XxukcL5zg="
	const zones = "zones:\n  - zoneId: TEST_ZONE\n  - zoneId: OTHER\n"
	s := room.Start(t, map[string]string{"QUEUE_CONFIG": room.Config(t, zones), "QUEUE_SECRET": signing})
	elsewhere := room.Start(t, map[string]string{
		"QUEUE_CONFIG": room.Config(t, zones), "QUEUE_SECRET": signing, "QUEUE_PASS_ISSUER": "https://staging.example",
	})
	admitted := func(s *room.Server, zoneID string) string {
		got := room.Request(t, http.MethodPost, s.Public+"/traffic/wait", fmt.Sprintf(`{"zoneId":%q}`, zoneID))
		p, _ := got.Value(t, "admission", "pass").(string)
		if p == "" {
			t.Fatalf("%+v", got)
		}
		return p
	}
	good := admitted(s, "TEST_ZONE")
	signature := strings.LastIndexByte(good, '.') + 1
	for name, tt := range map[string]struct {
		args []string
		says string // "" for a pass that is good
	}{
		"good":                      {[]string{"TEST_ZONE", good}, ""},
		"good, of a named issuer":   {[]string{"TEST_ZONE", admitted(elsewhere, "TEST_ZONE"), "https://staging.example"}, ""},
		"another zone's":            {[]string{"TEST_ZONE", admitted(s, "OTHER")}, "not for zone TEST_ZONE"},
		"another installation's":    {[]string{"TEST_ZONE", admitted(elsewhere, "TEST_ZONE")}, "not of waitingroom"},
		"a zone whose name is more": {[]string{"TEST_ZONE.*", good}, "not for zone"},
		"another pass's signature":  {[]string{"TEST_ZONE", good[:signature] + admitted(s, "OTHER")[signature:]}, "signature is wrong"},
		"no zone":                   {[]string{good}, "usage"},
	} {
		t.Run(name, func(t *testing.T) {
			script := append([]string{"../../scripts/verify-pass.sh", s.Public}, tt.args...)
			out, err := exec.CommandContext(t.Context(), "bash", script...).CombinedOutput()
			if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(string(out), tt.says)) {
				t.Errorf("%v, want %q:\n%s", err, tt.says, out)
			}
		})
	}
}
