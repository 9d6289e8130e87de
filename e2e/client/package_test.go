package client

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// folder is that of the client.
const folder = "../../clients/js/"

// TestPackage: what package.json packs is all that an app needs, under the package's name.
func TestPackage(t *testing.T) {
	t.Parallel()
	var about struct {
		Name  string   `json:"name"`
		Files []string `json:"files"`
	}
	text, err := os.ReadFile(folder + "package.json")
	if err == nil {
		err = json.Unmarshal(text, &about)
	}
	if err != nil {
		t.Fatal(err)
	}
	app := t.TempDir()
	installed := filepath.Join(app, "node_modules", about.Name)
	if err := os.MkdirAll(installed, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(about.Files, "package.json") {
		text, err := os.ReadFile(folder + name)
		if err == nil {
			err = os.WriteFile(filepath.Join(installed, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	app = filepath.Join(app, "app.mjs")
	program := "import { checkNumber, roundRange, wait, leave, WaitError } from '" + about.Name + "';\nprocess.stdout.write([checkNumber, roundRange, wait, leave, WaitError].map((f) => typeof f).join());\n"
	if err := os.WriteFile(app, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "node", app).CombinedOutput(); err != nil || string(out) != "function,function,function,function,function" {
		t.Errorf("%v\n%s", err, out)
	}
}
