package infrastructure

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fstabGenerator is the part of systemd that makes units of /etc/fstab.
const fstabGenerator = "/usr/lib/systemd/system-generators/systemd-fstab-generator"

// TestVolumesComeFirst: what systemd makes of the line that an instance adds to
// /etc/fstab is there before the service whose data are on the volume. Else a
// machine that starts again has the service write to the folder below.
func TestVolumesComeFirst(t *testing.T) {
	t.Parallel()
	watched, _ := watching(t, "")
	r := NewRedis(t)
	for _, tt := range []struct{ script, service string }{
		{filepath.Join(r.Nodes[0].Root, "usr/local/sbin/redis-install"), "redis-server.service"},
		{filepath.Join(watched, "usr/local/sbin/monitoring-install"), "prometheus.service"},
	} {
		text, err := os.ReadFile(tt.script)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`echo "\$device (.* ext4 .*)" >>/etc/fstab`).FindSubmatch(text)
		if found == nil {
			t.Fatalf("%s: no line for /etc/fstab", tt.script)
		}
		out := t.TempDir()
		fstab := filepath.Join(out, "fstab")
		writeFile(t, fstab, "/dev/nvme1n1 "+string(found[1])+"\n", 0o644)
		cmd := exec.Command(fstabGenerator, out, out, out)
		cmd.Env = append(os.Environ(), "SYSTEMD_FSTAB="+fstab)
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		mounts, err := filepath.Glob(filepath.Join(out, "*.mount"))
		if err != nil || len(mounts) != 1 {
			t.Fatalf("mounts: %v, %v", mounts, err)
		}
		mount, err := os.ReadFile(mounts[0])
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(mount), "\nBefore="+tt.service+"\n") {
			t.Errorf("%s does not wait for its volume:\n%s", tt.service, mount)
		}
		if _, err := os.Lstat(filepath.Join(out, tt.service+".requires", filepath.Base(mounts[0]))); err != nil {
			t.Errorf("%s starts without its volume: %v", tt.service, err)
		}
	}
}
