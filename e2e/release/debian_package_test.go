package release

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// packed makes a Debian package of two small files and returns its name.
func packed(t *testing.T, mask string) string {
	t.Helper()
	folder, to := t.TempDir(), t.TempDir()
	put(t, filepath.Join(folder, "queue-server"), "#!/bin/sh\n", 0o700)
	put(t, filepath.Join(folder, "THIRD-PARTY-LICENSES.txt"), "licences\n", 0o600)
	put(t, filepath.Join(folder, "sbom.json"), "{}\n", 0o600)
	do(t, "../../scripts", "bash", "-c", `umask `+mask+` && SOURCE_DATE_EPOCH=`+at+` ./debian-package.sh "$@"`, "sh",
		folder, "0.1.0-dev.20261121153859+gadef9a8", "amd64", filepath.Join(folder, "sbom.json"), to)
	return filepath.Join(to, "queue-server_0.1.0~dev.20261121153859+gadef9a8_amd64.deb")
}

// TestDebianPackage holds what can be seen of a package from outside; make
// package-test installs a real one.
func TestDebianPackage(t *testing.T) {
	first := packed(t, "022")
	one, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	two, err := os.ReadFile(packed(t, "077"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one, two) {
		t.Error("made twice, it is not the same")
	}

	list := do(t, "../../scripts", "dpkg-deb", "--contents", first)
	for _, want := range []string{
		"-rwxr-xr-x root/root        10 2026-11-21",
		"./usr/bin/queue-server\n", "./usr/lib/systemd/system/queue-server.service\n", "./usr/lib/sysctl.d/60-queue-server.conf\n",
		"./usr/lib/sysusers.d/queue-server.conf\n", "./usr/share/man/man8/queue-server.8.gz\n", "./usr/share/doc/queue-server/copyright\n",
		"./usr/share/doc/queue-server/THIRD-PARTY-LICENSES.txt.gz\n", "./usr/share/bash-completion/completions/queue-server\n",
		"./usr/share/zsh/vendor-completions/_queue-server", "./usr/share/fish/vendor_completions.d/queue-server.fish\n",
	} {
		if !strings.Contains(list+"\n", want) {
			t.Errorf("no %q in\n%s", want, list)
		}
	}
	for line := range strings.Lines(list) {
		switch secret := strings.Contains(line, "/etc/queue-server/environment"); {
		case !strings.Contains(line, " root/root "), strings.Contains(line, "DEBIAN"):
			t.Errorf("not root's, or not to be installed: %s", line)
		case secret && !strings.HasPrefix(line, "-rw-r-----"):
			t.Errorf("secrets that all may read: %s", line)
		}
	}

	control := filepath.Join(t.TempDir(), "control")
	do(t, "../../scripts", "dpkg-deb", "--control", first, control)
	text := do(t, control, "cat", "control")
	for _, want := range []string{"Version: 0.1.0~dev.20261121153859+gadef9a8\n", "Architecture: amd64\n", "Depends: systemd "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "@VERSION@") || strings.Contains(text, "@SIZE@") {
		t.Errorf("not filled in:\n%s", text)
	}
	if got := do(t, control, "cat", "conffiles"); got != "/etc/queue-server/environment" {
		t.Errorf("settings that an upgrade keeps: %q", got)
	}
	for _, script := range []string{"postinst", "prerm", "postrm"} {
		do(t, control, "dash", "-n", script)
		do(t, control, "test", "-x", script)
	}
}

// TestSettingsMayBeGone: dpkg does not bring back settings that an administrator has deleted,
// and an upgrade goes through without them.
func TestSettingsMayBeGone(t *testing.T) {
	folder := t.TempDir()
	settings := filepath.Join(folder, "environment")
	script := do(t, "../../scripts", "sed", "s|^settings=.*|settings="+settings+"|; s|/run/systemd/system|"+folder+"/none|", "../deploy/debian/postinst")
	for _, name := range []string{"systemd-sysusers", "deb-systemd-helper", "chown"} {
		put(t, filepath.Join(folder, name), "#!/bin/sh\n", 0o755)
	}
	put(t, filepath.Join(folder, "dpkg-statoverride"), "#!/bin/sh\nexit 1\n", 0o755)
	for _, there := range []bool{false, true} {
		if there {
			put(t, settings, "", 0o644)
		}
		do(t, "../../scripts", "env", "PATH="+folder+":"+os.Getenv("PATH"), "sh", "-c", script, "postinst", "configure", "0.1.0")
	}
	if i, err := os.Stat(settings); err != nil || i.Mode().Perm() != 0o640 {
		t.Errorf("settings that are there: %v %v", i, err)
	}
}
