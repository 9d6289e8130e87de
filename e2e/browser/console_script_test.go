package browser

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestConsoleScripts has node run the console's scripts: what they do when answers come late, in another order, or not at all; what
// the charts say of a wait; and that a page which is open for days does not grow.
func TestConsoleScripts(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("node is not installed: scripts/install-debian.sh node, or run the tests with make test")
	}
	folder := t.TempDir()
	must(t, os.CopyFS(folder, os.DirFS("../../internal/operate/console/assets")))
	must(t, os.WriteFile(filepath.Join(folder, "package.json"), []byte(`{"type":"module"}`), 0o600))
	for _, name := range []string{"console", "chart", "series"} {
		script := url.URL{Scheme: "file", Path: filepath.Join(folder, name+".js")}
		if out, err := exec.CommandContext(t.Context(), node, "testdata/"+name+".mjs", script.String()).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
