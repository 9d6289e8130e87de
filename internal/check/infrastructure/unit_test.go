package infrastructure

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// debianRedis is the unit that Debian's redis-server brings, which ours changes.
const debianRedis = "/lib/systemd/system/redis-server.service"

// TestUnits has systemd verify the units as instances put them together: the
// package's queue-server with the instance's additions, Debian's Redis with ours, and
// redis-join.
func TestUnits(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Fatal("systemd-analyze is not here; install systemd")
	}
	r := NewRedis(t)
	root := r.Nodes[0].Root
	units := filepath.Join(root, "etc/systemd/system")
	copyFile(t, folder("../../../deploy/systemd/queue-server.service"), filepath.Join(units, "queue-server.service"))
	if _, err := os.Stat(debianRedis); err == nil {
		copyFile(t, debianRedis, filepath.Join(units, "redis-server.service"))
	} else {
		// Redis from elsewhere: what ours adds to is made of the least.
		writeFile(t, filepath.Join(units, "redis-server.service"), "[Service]\nType=notify\n", 0o644)
	}
	writeFiles(t, root, servers(t, r))

	// What the units start lies below a folder here, and systemd wants to see it.
	mkdir(t, filepath.Join(root, "usr/bin"))
	for _, program := range []string{"queue-server", "redis-server"} {
		writeFile(t, filepath.Join(root, "usr/bin", program), "", 0o755)
	}
	here := strings.NewReplacer("=/usr/bin/", "="+root+"/usr/bin/", "=/usr/local/sbin/", "="+root+"/usr/local/sbin/",
		"=/etc/queue-server/", "="+root+"/etc/queue-server/")
	err := filepath.WalkDir(units, func(name string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(name, []byte(here.Replace(string(text))), 0o644)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, unit := range []string{
		"queue-server.service", "queue-server-secrets.service", "redis-server.service", "redis-join.service", "redis-join.timer",
		"redis-secrets.service", "redis-secrets.timer",
	} {
		cmd := exec.Command("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", filepath.Join(units, unit))
		cmd.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+units+":/lib/systemd/system")
		if said, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(said)) != "" {
			t.Errorf("%s: %v\n%s", unit, err, said)
		}
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, to, string(text), 0o644)
}
