package architecture

import (
	"go/ast"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The most lines that a file may have and still be a good read.
const (
	maxLines     = 500
	maxTestLines = 900
	maxLuaLines  = 120
)

// nameless are package names that say nothing of what is inside: whatever is
// put there has a better home.
var nameless = []string{
	"base", "common", "helper", "helpers", "misc", "model", "models", "shared", "type", "types", "util", "utils",
}

func TestPackagesAreNamedForWhatTheyAre(t *testing.T) {
	for _, s := range tree(t) {
		name := strings.TrimSuffix(s.pkgName, "_test")
		if slices.Contains(nameless, name) || slices.Contains(nameless, path.Base(s.pkg)) {
			t.Errorf("%s: package %s: name it for what it is", s.path(), s.pkgName)
		}
	}
}

func TestFilesAreShort(t *testing.T) {
	for _, s := range tree(t) {
		most := maxLines
		if s.isTest() {
			most = maxTestLines
		}
		if s.lines > most {
			t.Errorf("%s has %d lines, at most %d: split it by what it does", s.path(), s.lines, most)
		}
	}
}

// readers are those whose error says that a text cannot be read; the runtime, its random numbers and pem, which returns no
// error, are none.
var (
	readers   = regexp.MustCompile(`^(Unmarshal|Decode|Parse|Read|Atoi|Number$)`)
	noReaders = []string{"rand", "debug", "pem"}
)

// TestNoReaderIsIgnored: what cannot be read is refused. An error of a decoder that was dropped once ended all events of
// a zone.
func TestNoReaderIsIgnored(t *testing.T) {
	for _, s := range tree(t) {
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			assignment, ok := n.(*ast.AssignStmt)
			if !ok || s.isTest() || len(assignment.Rhs) != 1 {
				return true
			}
			to, toName := assignment.Lhs[len(assignment.Lhs)-1].(*ast.Ident)
			call, calls := assignment.Rhs[0].(*ast.CallExpr)
			if !toName || to.Name != "_" || !calls {
				return true
			}
			of, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !readers.MatchString(of.Sel.Name) {
				return true
			}
			if from, named := of.X.(*ast.Ident); !named || !slices.Contains(noReaders, from.Name) {
				t.Errorf("%s:%d: the error of %s is dropped", s.path(), s.fset.Position(n.Pos()).Line, of.Sel.Name)
			}
			return true
		})
	}
}

// excuse is a comment that switches a linter off for its line.
var excuse = regexp.MustCompile(`^//\s*(nolint|lint:ignore|#nosec)`)

func TestNoLinterIsExcusedInPlace(t *testing.T) {
	for _, s := range tree(t) {
		for _, group := range s.syntax.Comments {
			if excuse.MatchString(group.List[0].Text) {
				t.Errorf("%s:%d: mend the line, or change .golangci.yml with the reason", s.path(), s.fset.Position(group.Pos()).Line)
			}
		}
	}
}

// TestEveryScriptSaysWhatItIsFor: a script is short, and has a line "-- name: what it does.".
func TestEveryScriptSaysWhatItIsFor(t *testing.T) {
	err := filepath.WalkDir("../../../lua", func(file string, _ fs.DirEntry, err error) error {
		name, lua := strings.CutSuffix(filepath.Base(file), ".lua")
		if err != nil || !lua {
			return err
		}
		text, err := os.ReadFile(file)
		if n := strings.Count(string(text), "\n"); n > maxLuaLines {
			t.Errorf("%s has %d lines, at most %d: move a part that has a name to a file of its own", file, n, maxLuaLines)
		}
		if !strings.Contains("\n"+string(text), "\n-- "+name+": ") {
			t.Errorf("%s does not begin with \"-- %s: what it does\"", file, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

var (
	link   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	code   = regexp.MustCompile("(?s)```.*?```|`[^`]*`")
	header = regexp.MustCompile(`(?m)^#+ (.+)$`)
	plain  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinksLeadSomewhere: each link of a document to a file of the project leads to a file
// that is there, and to a heading that it has.
func TestLinksLeadSomewhere(t *testing.T) {
	const root = "../../.."
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && file != root && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case filepath.Ext(file) != ".md":
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(string(text), ""), -1) {
			to, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			target := file
			if to != "" {
				target = filepath.Join(filepath.Dir(file), filepath.FromSlash(to))
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which is not there", file, m[1])
			} else if anchor != "" && filepath.Ext(target) == ".md" && !slices.Contains(anchors(t, target), anchor) {
				t.Errorf("%s links to %s: there is no such heading", file, m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// anchors are those of a document's headings, as GitHub makes them.
func anchors(t *testing.T, file string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range header.FindAllStringSubmatch(string(text), -1) {
		all = append(all, strings.ReplaceAll(plain.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return all
}
