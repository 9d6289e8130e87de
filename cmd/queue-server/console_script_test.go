package main

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
	script := url.URL{Scheme: "file", Path: filepath.Join(folder, "console.js")}
	if out, err := exec.CommandContext(t.Context(), node, "testdata/console.mjs", script.String()).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
