package architecture

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A figure has one place that it comes from. Other pages link there; those that
// repeat it all the same are held to it here.

// figure is one of them.
type figure struct {
	name string
	// of is where it comes from; from finds it there.
	of   string
	from *regexp.Regexp
	// told finds it on any page, whatever its value: the last group is the value.
	told *regexp.Regexp
}

var figures = []figure{
	{
		"length of the listen queue", "deploy/systemd/sysctl.conf", regexp.MustCompile(`(?m)^net\.core\.somaxconn = (\d+)$`),
		regexp.MustCompile("somaxconn`?(?: = |=| | says )`?(\\d[\\d,]*)"),
	},
	{
		"share of the wait after which the far-away poll", "internal/window/pace.go", regexp.MustCompile(`estimate\*(\d+/\d+)`),
		regexp.MustCompile(`(?:(?:polls?|polls at|after|is) |floor\(est \* )(a quarter|\d+ ?/ ?\d+)(?: of the|\))`),
	},
	{
		"visitors in a call", "lua/poll.go", regexp.MustCompile(`maxBatch = (\d+)`),
		regexp.MustCompile(`(?:calls are full \(|next one, of at most )(\d+) visitors`),
	},
	{
		"polls that one call notes", "lua/notes.go", regexp.MustCompile(`noteBatch = ([\d_]+)`),
		regexp.MustCompile(`notes up to ([\d,]+) polls in a call`),
	},
	{
		"memory of the guard's poll cache", "internal/guard/cache.go", regexp.MustCompile(`262,144 visitors in (\d+) MB`),
		regexp.MustCompile(`(?:a table of |instead of a call to the store. Memory: )(\d+) MB`),
	},
	{
		"bytes a visitor in Redis", "docs/performance.md", regexp.MustCompile(`\| a waiting visitor in Redis, [^|]*\| (\d+) bytes \|`),
		regexp.MustCompile(`(\d+) bytes a waiting visitor`),
	},
}

// TestFiguresComeFromOnePlace: the pages, scripts and settings that tell a figure tell
// the one that is in force.
func TestFiguresComeFromOnePlace(t *testing.T) {
	pages := readPages(t)
	for _, f := range figures {
		found := f.from.FindStringSubmatch(pages[f.of])
		if found == nil {
			t.Errorf("%s: %s has none", f.name, f.of)
			continue
		}
		want := strings.ReplaceAll(found[1], "_", "")
		for name, text := range pages {
			for _, told := range f.tells(text) {
				if told != want {
					t.Errorf("%s: %s says %s, %s %s: link there, or say the same", f.name, name, told, f.of, want)
				}
			}
		}
	}
}

// tells are the values that a page tells, without blanks and commas.
func (f figure) tells(page string) (values []string) {
	// A sentence goes on in the next line, behind the sign of a comment.
	flat := regexp.MustCompile(`\s*\n\s*(?://|#|--)?\s*`).ReplaceAllString(page, " ")
	for _, found := range f.told.FindAllStringSubmatch(flat, -1) {
		values = append(values, strings.NewReplacer(" ", "", ",", "").Replace(found[len(found)-1]))
	}
	return values
}

// TestFiguresAreFound: what once disagreed would be found again.
func TestFiguresAreFound(t *testing.T) {
	for page, want := range map[string]string{
		"spread them: `fs.nr_open`, `net.core.somaxconn` 16384, and": "16384",
		"docker run --sysctl net.core.somaxconn=65535":               "65535",
		"`sysctl net.core.somaxconn` says 65,535?":                   "65535",
		"// The far-away poll a quarter of the\n// expected wait.":   "aquarter",
		"`pollingPeriod` is 5/14 of the wait":                        "5/14",
		"max(floor(est * 5 / 14), 1000)":                             "5/14",
		"About 135 bytes a waiting\nvisitor at a million":            "135",
		"rises and calls are full (256 visitors); then":              "256",
		"instead of a call to the store. Memory: 10 MB, whatever":    "10",
	} {
		var told []string
		for _, f := range figures {
			told = append(told, f.tells(page)...)
		}
		if strings.Join(told, " ") != want {
			t.Errorf("%q tells %q, want %q", page, told, want)
		}
	}
}

// readPages reads what people read, and the sources that figures come from: not tests,
// and not what was decided with the figures of its day.
func readPages(t *testing.T) map[string]string {
	t.Helper()
	const root = "../../.."
	kinds := []string{".md", ".tmpl", ".conf", ".go", ".lua", ".sh", ".service", ".tftpl", ".tf"}
	pages := make(map[string]string)
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		name := filepath.ToSlash(strings.TrimPrefix(file, root+string(filepath.Separator)))
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if file != root && (name == "docs/decisions" || strings.HasPrefix(entry.Name(), ".")) {
				return filepath.SkipDir
			}
			return nil
		case !slices.Contains(kinds, filepath.Ext(file)) || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(file)
		pages[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}
