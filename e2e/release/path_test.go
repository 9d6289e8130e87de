package release

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestPathWithABlank: the tools are found where the folder's name has a blank.
func TestPathWithABlank(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "my projects")
	for _, name := range []string{"Makefile", "scripts/go-tool.sh"} {
		put(t, filepath.Join(folder, name), do(t, "../..", "cat", name), 0o700)
	}
	_, pin, _ := strings.Cut(do(t, folder, "make", "--dry-run", "lint"), "cmd/golangci-lint@")
	version, _, found := strings.Cut(pin, ")")
	if !found {
		t.Fatal("make lint runs no golangci-lint")
	}
	put(t, filepath.Join(folder, ".tools/golangci-lint-"+version+"/golangci-lint"), "#!/bin/sh\necho it is asked to \"$1\"\n", 0o700)
	for target, want := range map[string]string{"format": "fmt", "fmt": "fmt"} {
		if said := do(t, folder, "make", "--no-print-directory", "--silent", target); said != "it is asked to "+want {
			t.Errorf("make %s: %s", target, said)
		}
	}
}
