package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// at is when the tests' commits are made: 2026-11-21 15:38:59 UTC.
const at = "1795275539"

// do runs a program in a folder and returns what it prints.
func do(t *testing.T, folder, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = folder
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") && !strings.HasPrefix(v, "SOURCE_DATE_EPOCH=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_DATE="+at+" +0900", "GIT_COMMITTER_DATE="+at+" +0900", "TZ=America/New_York")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func put(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// project returns a folder with the script and a VERSION.
func project(t *testing.T, version string) string {
	t.Helper()
	script, err := os.ReadFile("../../scripts/version.sh")
	if err != nil {
		t.Fatal(err)
	}
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(folder, "scripts/version.sh"), string(script), 0o700)
	put(t, filepath.Join(folder, "VERSION"), version+"\n", 0o600)
	return folder
}

// commit makes a repository of a folder, and returns the commit's name.
func commit(t *testing.T, folder string) string {
	t.Helper()
	do(t, folder, "git", "init", "-q")
	do(t, folder, "git", "add", ".")
	do(t, folder, "git", "-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "-qm", "one")
	return do(t, folder, "git", "rev-parse", "HEAD")
}

func TestVersion(t *testing.T) {
	folder := project(t, "0.1.0-dev")
	says := func(what, want string) {
		t.Helper()
		if got := do(t, t.TempDir(), filepath.Join(folder, "scripts/version.sh"), what); got != want {
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
	put(t, filepath.Join(folder, "untracked"), "", 0o600)
	says("version", want)
	put(t, filepath.Join(folder, "scripts/version.sh"), do(t, folder, "cat", "scripts/version.sh")+"\n# changed\n", 0o700)
	says("version", want+".dirty")
}

func TestVersionOfARelease(t *testing.T) {
	folder := project(t, "0.1.0")
	name := commit(t, folder)
	if got := do(t, folder, "scripts/version.sh", "version"); got != "0.1.0" {
		t.Errorf("got %q", got)
	}
	put(t, filepath.Join(folder, "VERSION"), "0.1.0\n\n", 0o600)
	if got, want := do(t, folder, "scripts/version.sh", "version"), "0.1.0+g"+name[:7]+".dirty"; got != want {
		t.Errorf("changed: got %q, want %q", got, want)
	}
}

// TestVersionOfATreeInAnother: a tar of the project that was unpacked within some
// other repository has nothing to do with that one's commits.
func TestVersionOfATreeInAnother(t *testing.T) {
	outer, inner := project(t, "9.9.9-dev"), project(t, "0.1.0-dev")
	commit(t, outer)
	moved := filepath.Join(outer, "inner")
	if err := os.Rename(inner, moved); err != nil {
		t.Fatal(err)
	}
	if got := do(t, moved, "scripts/version.sh", "version"); got != "0.1.0-dev" {
		t.Errorf("got %q", got)
	}
}

// TestOneVersion: what is installed by other ways than the binary has the version of the tree, and the changelog has it, too.
func TestOneVersion(t *testing.T) {
	version := strings.TrimSpace(read(t, "../../VERSION"))
	heading := "\n## [" + version + "] - "
	if strings.HasSuffix(version, "-dev") {
		heading = "\n## [Unreleased]\n"
	}
	wants := map[string]string{
		"clients/java/pom.xml":                "<artifactId>waitingroom</artifactId>\n  <version>" + version + "</version>",
		"deploy/helm/queue-server/Chart.yaml": "\nversion: " + version + "\nappVersion: " + version + "\n",
		"CHANGELOG.md":                        heading,
	}
	packages, err := filepath.Glob("../../clients/*/package.json")
	if err != nil || len(packages) == 0 {
		t.Fatal(packages, err)
	}
	for _, file := range packages {
		wants[strings.TrimPrefix(file, "../../")] = `"version": "` + version + `"`
	}
	for file, want := range wants {
		if !strings.Contains(read(t, filepath.Join("../..", file)), want) {
			t.Errorf("%s has no %q", file, want)
		}
	}
}
