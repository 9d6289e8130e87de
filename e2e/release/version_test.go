package release

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/e2e/room"
)

// at is when the tests' commits are made: 2026-11-21 15:38:59 UTC.
const at = "1795275539"

// project returns a folder with the script and a VERSION.
func project(t *testing.T, version string) string {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	room.WriteAs(t, filepath.Join(folder, "scripts/version.sh"), room.Read(t, "../../scripts/version.sh"), 0o700)
	room.Write(t, filepath.Join(folder, "VERSION"), version+"\n")
	return folder
}

// commit makes a repository of a folder, and returns the commit's name.
func commit(t *testing.T, folder string) string {
	t.Helper()
	for name, value := range map[string]string{
		"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_AUTHOR_DATE": at + " +0900", "GIT_COMMITTER_DATE": at + " +0900",
	} {
		t.Setenv(name, value)
	}
	room.Do(t, folder, "git", "init", "-q")
	room.Do(t, folder, "git", "add", ".")
	room.Do(t, folder, "git", "-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "-qm", "one")
	return room.Do(t, folder, "git", "rev-parse", "HEAD")
}

func TestVersion(t *testing.T) {
	folder := project(t, "0.1.0-dev")
	says := func(what, want string) {
		t.Helper()
		if got := room.Do(t, t.TempDir(), filepath.Join(folder, "scripts/version.sh"), what); got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	says("version", "0.1.0-dev")
	says("revision", "unknown")
	name := commit(t, folder)
	want := "0.1.0-dev.20261121153859+g" + name[:7]
	says("version", want)
	says("revision", name)
	says("time", at)
	says("flags", "-X main.stampedVersion="+want+" -X main.stampedRevision="+name)
	room.Write(t, filepath.Join(folder, "untracked"), "")
	says("version", want)
	room.WriteAs(t, filepath.Join(folder, "scripts/version.sh"), room.Read(t, "../../scripts/version.sh")+"# changed\n", 0o700)
	says("version", want+".dirty")
}

func TestVersionOfARelease(t *testing.T) {
	folder := project(t, "0.1.0")
	name := commit(t, folder)
	if got := room.Do(t, folder, "scripts/version.sh", "version"); got != "0.1.0" {
		t.Errorf("got %q", got)
	}
	room.Write(t, filepath.Join(folder, "VERSION"), "0.1.0\n\n")
	if got, want := room.Do(t, folder, "scripts/version.sh", "version"), "0.1.0+g"+name[:7]+".dirty"; got != want {
		t.Errorf("changed: got %q, want %q", got, want)
	}
}

// TestOneVersion: what is installed by other ways than the binary has the version of the tree, and the changelog has it, too.
func TestOneVersion(t *testing.T) {
	version := strings.TrimSpace(room.Read(t, "../../VERSION"))
	heading := "\n## [" + version + "] - "
	if strings.HasSuffix(version, "-dev") {
		heading = "\n## [Unreleased]\n"
	}
	wants := map[string]string{
		"clients/java/pom.xml":                "<artifactId>waitingroom</artifactId>\n  <version>" + version + "</version>",
		"deploy/helm/queue-server/Chart.yaml": "\nversion: " + version + "\nappVersion: " + version + "\n",
		"CHANGELOG.md":                        heading,
	}
	for _, file := range room.Glob(t, "../../clients/*/package.json") {
		wants[strings.TrimPrefix(file, "../../")] = `"version": "` + version + `"`
	}
	for file, want := range wants {
		if !strings.Contains(room.Read(t, filepath.Join("../..", file)), want) {
			t.Errorf("%s has no %q", file, want)
		}
	}
}
