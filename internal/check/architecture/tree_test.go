package architecture

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// module is the path that all packages of this project begin with.
const module = "github.com/openqueue/waitingroom"

// source is one Go file of the project.
type source struct {
	// pkg is the folder within the project: "internal/zone", "" for the root.
	pkg string
	// file is the name within pkg.
	file string
	// pkgName is what the package clause says.
	pkgName string
	// imports are the import paths, unquoted.
	imports []string
	lines   int
	syntax  *ast.File
	fset    *token.FileSet
}

func (s source) path() string { return path.Join(s.pkg, s.file) }
func (s source) isTest() bool { return strings.HasSuffix(s.file, "_test.go") }

// load reads the project once for all tests; the test binary's working folder
// is this package's, three below the root.
var load = sync.OnceValues(func() ([]source, error) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		return nil, err
	}
	return loadTree(root)
})

// tree returns every Go file of the project, tests and files for other systems
// included.
func tree(t *testing.T) []source {
	t.Helper()
	files, err := load()
	if err != nil {
		t.Fatalf("read the project: %v", err)
	}
	if len(files) == 0 {
		t.Fatal("the project has no files: is this test still three folders below the root?")
	}
	return files
}

// loadTree walks the folders as the go command does, rather than ask it: what
// is read here, the go command sees, and so it knows when a cached result of
// these tests is stale.
func loadTree(root string) ([]source, error) {
	var files []source
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if file != root && isForeign(file, entry.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(file) != ".go" {
			return nil
		}
		s, err := parse(file)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		s.pkg, s.file = strings.TrimPrefix(filepath.ToSlash(folder), "."), entry.Name()
		files = append(files, s)
		return nil
	})
	return files, err
}

// isForeign reports whether a folder holds no packages of this module.
func isForeign(folder, name string) bool {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" {
		return true
	}
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil
}

func parse(name string) (source, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return source{}, err
	}
	s := source{fset: token.NewFileSet(), lines: bytes.Count(text, []byte{'\n'})}
	s.syntax, err = parser.ParseFile(s.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return source{}, err
	}
	s.pkgName = s.syntax.Name.Name
	for _, spec := range s.syntax.Imports {
		to, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return source{}, err
		}
		s.imports = append(s.imports, to)
	}
	return s, nil
}
