package architecture

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/openqueue/waitingroom/internal/limits/limit"
)

// placeholder stands for the name of what is added in a path of CONTRIBUTING.md.
const placeholder = "NAME"

// places are the paths with which the list items of a section of CONTRIBUTING.md begin.
func places(t *testing.T, section string) (paths []string) {
	t.Helper()
	_, text, found := strings.Cut(read(t, "CONTRIBUTING.md"), "\n### "+section+"\n")
	if !found {
		t.Fatalf("CONTRIBUTING.md has no section %q", section)
	}
	text = regexp.MustCompile(`(?m)^##`).Split(text, 2)[0]
	for _, item := range regexp.MustCompile("(?m)^- `([^`]+)`").FindAllStringSubmatch(text, -1) {
		paths = append(paths, item[1])
	}
	if len(paths) == 0 {
		t.Fatalf("CONTRIBUTING.md: %q lists no files", section)
	}
	return paths
}

// read returns a file of the project.
func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../..", file))
	if err != nil {
		t.Errorf("CONTRIBUTING.md names %s, which is not there: %v", file, err)
	}
	return string(text)
}

// names reports whether the text has one of the words, with nothing that would make it another.
func names(text string, words ...string) bool {
	return regexp.MustCompile(`\b(` + strings.Join(words, "|") + `)\b`).MatchString(text)
}

// inGo is an algorithm as its constant is called: SlidingLog.
func inGo(a limit.Algorithm) string {
	var name string
	for word := range strings.SplitSeq(string(a), "_") {
		name += strings.ToUpper(word[:1]) + word[1:]
	}
	return name
}

// TestAlgorithmsAreInAllTheirPlaces: each file that CONTRIBUTING.md lists names every algorithm,
// and whatever names most of them is in the list.
func TestAlgorithmsAreInAllTheirPlaces(t *testing.T) {
	listed := places(t, "To add a rate-limiting algorithm")
	for _, place := range listed {
		for _, a := range limit.Algorithms {
			if file := strings.ReplaceAll(place, placeholder, string(a)); !names(read(t, file), string(a), inGo(a)) {
				t.Errorf("%s does not name %s: see \"To add a rate-limiting algorithm\" in CONTRIBUTING.md", file, a)
			}
		}
	}
	for _, top := range []string{"cmd", "internal", "limit", "lua", "docs", "deploy", "loadtest"} {
		for _, file := range filesOf(t, top) {
			text, named := read(t, file), 0
			for _, a := range limit.Algorithms {
				if names(text, string(a), inGo(a)) {
					named++
				}
			}
			if named > len(limit.Algorithms)/2 && !slices.Contains(listed, file) {
				t.Errorf("%s names %d algorithms: CONTRIBUTING.md should list it", file, named)
			}
		}
	}
}

// filesOf are the files of a folder that somebody edits who adds something: no tests, no
// measured figures, no decisions of the past.
func filesOf(t *testing.T, top string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join("../../..", top), func(file string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "testdata" || name == "decisions" || name == "img"):
			return fs.SkipDir
		case !d.Type().IsRegular() || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "performance."):
			return nil
		case slices.Contains([]string{".go", ".lua", ".yaml", ".yml", ".md", ".js", ".tmpl"}, filepath.Ext(name)):
			within, err := filepath.Rel("../../..", file)
			files = append(files, filepath.ToSlash(within))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestFieldsOfRulesAreInAllTheirPlaces: each file that CONTRIBUTING.md lists names every field.
func TestFieldsOfRulesAreInAllTheirPlaces(t *testing.T) {
	for _, file := range places(t, "To add a field of a rule") {
		text := read(t, file)
		for field := range reflect.TypeFor[limit.Rule]().Fields() {
			tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if !names(text, field.Name, tag) {
				t.Errorf("%s does not name %s: see \"To add a field of a rule\" in CONTRIBUTING.md", file, field.Name)
			}
		}
	}
}
