package client

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/e2e/room"
)

// packages are those that npm installs, by the name that an app imports, and their folders in clients.
var packages = map[string]string{
	"@openqueue/waitingroom": "js",
	"@openqueue/edge":        "edge",
}

// pack returns a folder with what a release has for npm and Maven.
func pack(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	room.Do(t, ".", "../../scripts/packages.sh", folder)
	return folder
}

// only returns the one file of that pattern.
func only(t *testing.T, pattern string) string {
	t.Helper()
	files := room.Glob(t, pattern)
	if len(files) != 1 {
		t.Fatalf("%s: %v", pattern, files)
	}
	return files[0]
}

// TestPackage installs each package into a new project from the file that npm publish would send, imports all of it in node,
// and compares what node has with what the types say.
func TestPackage(t *testing.T) {
	t.Parallel()
	made := pack(t)
	for name, from := range packages {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			app := t.TempDir()
			room.Write(t, filepath.Join(app, "package.json"), `{"private": true, "type": "module"}`)
			// What an app for Node has from @types/node, as far as our types name it.
			room.Write(t, filepath.Join(app, "node.d.ts"), "declare module 'node:http' { export class IncomingMessage {} export class ServerResponse {} }\n")
			file := only(t, filepath.Join(made, strings.NewReplacer("@", "", "/", "-").Replace(name)+"-[0-9]*.tgz"))
			room.Do(t, app, "npm", "install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", file)

			installed := filepath.Join(app, "node_modules", name)
			var about struct {
				Exports map[string]any `json:"exports"`
			}
			if err := json.Unmarshal([]byte(room.Read(t, filepath.Join(installed, "package.json"))), &about); err != nil || len(about.Exports) == 0 {
				t.Fatal(about, err)
			}
			for path := range about.Exports {
				module := name + strings.TrimPrefix(path, ".")
				var exported []string
				said := room.Do(t, app, "node", "--input-type=module", "--eval", "console.log(JSON.stringify(Object.keys(await import('"+module+"'))))")
				if err := json.Unmarshal([]byte(said), &exported); err != nil || len(exported) == 0 {
					t.Fatal(said, err)
				}
				// A name too many or too few on either side is an error of tsc.
				room.Write(t, filepath.Join(app, "app.ts"), "import * as all from '"+module+"';\n"+
					"export const names: Record<keyof typeof all, true> = { "+strings.Join(exported, ": true, ")+": true };\n")
				room.Do(t, app, "tsc", "--noEmit", "--strict", "--target", "es2022", "--lib", "es2022,dom", "--module", "node16", "--moduleResolution", "node16", "node.d.ts", "app.ts")
			}

			readme := room.Read(t, filepath.Join(installed, "README.md"))
			for _, link := range regexp.MustCompile(`\]\(([a-zA-Z][\w./-]*)\)`).FindAllStringSubmatch(readme, -1) {
				room.Read(t, filepath.Join(installed, link[1]))
			}
			if room.Read(t, filepath.Join(installed, "LICENSE")) != room.Read(t, "../../LICENSE") {
				t.Error("the licence is another one")
			}
		})
	}
	if all := room.Glob(t, "../../clients/*/package.json"); len(all) != len(packages) {
		t.Errorf("%d packages are tested, of %v", len(packages), all)
	}
}
