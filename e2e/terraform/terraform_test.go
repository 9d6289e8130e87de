package terraform

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/e2e/room"
)

// TestScripts has bash read every script, and every template of one.
func TestScripts(t *testing.T) {
	t.Parallel()
	found := 0
	for _, pattern := range []string{"modules/*/*.sh", "modules/*/files/*.sh", "modules/*/*/*.sh.tftpl"} {
		for _, name := range room.Glob(t, folder+pattern) {
			script := room.Read(t, name)
			if strings.HasSuffix(name, ".tftpl") {
				script = interpolation.ReplaceAllString(directive.ReplaceAllString(script, ""), "x")
				script = strings.ReplaceAll(script, "$${", "${")
			}
			cmd := exec.CommandContext(t.Context(), "bash", "-n")
			cmd.Stdin = strings.NewReader(script)
			if said, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", name, err, said)
			}
			found++
		}
	}
	if found < 7 {
		t.Errorf("%d scripts", found)
	}
}

// TestUnits has systemd verify the units as instances put them together: those of the
// package and of Debian, with the additions of the modules.
func TestUnits(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	place := strings.NewReplacer("=/usr/bin/", "="+root+"/", "=+/usr/local/sbin/", "=+"+root+"/", "=/usr/local/sbin/", "="+root+"/")
	for unit, from := range map[string]string{
		"queue-server.service":                "../../deploy/systemd/queue-server.service",
		"queue-server.service.d/secrets.conf": folder + "modules/room/files/secrets.conf",
		"queue-server-secrets.service":        folder + "modules/room/files/queue-server-secrets.service",
		"redis-server.service":                "/lib/systemd/system/redis-server.service",
		"redis-server.service.d/node.conf":    folder + "modules/redis/templates/redis-server.conf",
		"redis-sentinel.service":              "/lib/systemd/system/redis-sentinel.service",
		"redis-sentinel.service.d/node.conf":  folder + "modules/redis/templates/redis-sentinel.conf",
	} {
		text, err := os.ReadFile(from)
		if os.IsNotExist(err) && filepath.Dir(from) == "/lib/systemd/system" {
			text = []byte("[Service]\nType=notify\n") // not installed here: the least
		} else if err != nil {
			t.Fatal(err)
		}
		room.Write(t, filepath.Join(root, unit), place.Replace(string(text)))
	}
	for _, program := range []string{"queue-server", "queue-server-secrets", "redis-server", "redis-sentinel", "redis-secrets", "redis-role"} {
		room.WriteAs(t, filepath.Join(root, program), "", 0o755)
	}
	for _, unit := range []string{"queue-server.service", "queue-server-secrets.service", "redis-server.service", "redis-sentinel.service"} {
		cmd := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", "--recursive-errors=no", filepath.Join(root, unit))
		cmd.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+root+":/lib/systemd/system")
		if said, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(said)) != "" {
			t.Errorf("%s: %v\n%s", unit, err, said)
		}
	}
}
