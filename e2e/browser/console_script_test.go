package browser

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestConsoleScriptOfASlowServer: what the console's script does when answers come late, in another
// order, or not at all.
func TestConsoleScriptOfASlowServer(t *testing.T) {
	t.Parallel()
	runsConsoleScript(t, "console.js", "testdata/console.mjs")
}

// TestChartScript: no wait has 60 s beside its minutes.
func TestChartScript(t *testing.T) {
	t.Parallel()
	runsConsoleScript(t, "chart.js", "testdata/chart.mjs")
}

// runsConsoleScript has node run a test of one of the console's scripts.
func runsConsoleScript(t *testing.T, name, test string) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("node is not installed: scripts/install-debian.sh node, or run the tests with make test")
	}
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("../../internal/operate/console/assets")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "package.json"), []byte(`{"type":"module"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	script := url.URL{Scheme: "file", Path: filepath.Join(folder, name)}
	if out, err := exec.CommandContext(t.Context(), node, test, script.String()).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
