package release

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/openqueue/waitingroom/e2e/room"
)

// TestScriptsOfThePackage has dash, which runs them, read the scripts of the package; make
// package-test installs a real one.
func TestScriptsOfThePackage(t *testing.T) {
	for _, script := range []string{"postinst", "prerm", "postrm"} {
		room.Do(t, "../../deploy/debian", "dash", "-n", script)
	}
}

// TestSettingsMayBeGone: dpkg does not bring back settings that an administrator has deleted,
// and an upgrade goes through without them.
func TestSettingsMayBeGone(t *testing.T) {
	folder := t.TempDir()
	settings := filepath.Join(folder, "environment")
	script := room.Do(t, "../../scripts", "sed", "s|^settings=.*|settings="+settings+"|; s|/run/systemd/system|"+folder+"/none|", "../deploy/debian/postinst")
	for _, name := range []string{"systemd-sysusers", "deb-systemd-helper", "chown"} {
		room.WriteAs(t, filepath.Join(folder, name), "#!/bin/sh\n", 0o755)
	}
	room.WriteAs(t, filepath.Join(folder, "dpkg-statoverride"), "#!/bin/sh\nexit 1\n", 0o755)
	for _, there := range []bool{false, true} {
		if there {
			room.WriteAs(t, settings, "", 0o644)
		}
		room.Do(t, "../../scripts", "env", "PATH="+folder+":"+os.Getenv("PATH"), "sh", "-c", script, "postinst", "configure", "0.1.0")
	}
	if i, err := os.Stat(settings); err != nil || i.Mode().Perm() != 0o640 {
		t.Errorf("settings that are there: %v %v", i, err)
	}
}
