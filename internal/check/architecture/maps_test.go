package architecture

import (
	"os"
	"strings"
	"testing"
)

// wings are the folders whose doc.go is the map of what is below them.
var wings = []string{"internal/limits", "internal/operate", "internal/serve", "internal/check"}

// TestMapsNameEveryPackage: each package stands in the table of docs/architecture.md,
// and those of a wing stand in the wing's doc.go.
func TestMapsNameEveryPackage(t *testing.T) {
	maps := map[string]string{"docs/architecture.md": ""}
	for _, wing := range wings {
		maps[wing+"/doc.go"] = ""
	}
	for file := range maps {
		text, err := os.ReadFile("../../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		maps[file] = string(text)
	}
	named := func(file, as, pkg string) {
		if !strings.Contains(maps[file], as) {
			t.Errorf("%s does not name %s: add a line that says what it is for", file, pkg)
		}
	}
	code := map[string]bool{}
	for _, s := range tree(t) {
		code[s.pkg] = code[s.pkg] || s.file != "doc.go"
	}
	for pkg, has := range code {
		if has {
			named("docs/architecture.md", "`"+pkg+"`", pkg)
		}
		for _, wing := range wings {
			if name, in := strings.CutPrefix(pkg, wing+"/"); in {
				named(wing+"/doc.go", "//\t"+name+" ", pkg)
			}
		}
	}
}
