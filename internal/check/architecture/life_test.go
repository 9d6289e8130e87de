package architecture

import (
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// goName is package.Function or package.Type.Method, or package.Type.
var goName = regexp.MustCompile(`^[a-z-]+(\.[A-Za-z]+){1,2}$`)

// declared are all functions, methods and types of the project that is built, as
// package.Function, package.Type.Method and package.Type. A package has the name of its
// folder.
func declared(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, s := range tree(t) {
		if s.isTest() {
			continue
		}
		pkg := path.Base(s.pkg)
		for _, d := range s.syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				names[pkg+"."+receiver(d)+d.Name.Name] = true
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if of, ok := spec.(*ast.TypeSpec); ok {
						names[pkg+"."+of.Name.Name] = true
					}
				}
			}
		}
	}
	return names
}

// receiver is "Type." for a method of Type, else "".
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	of := f.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if generic, ok := of.(*ast.IndexExpr); ok {
		of = generic.X
	}
	if name, ok := of.(*ast.Ident); ok {
		return name.Name + "."
	}
	return ""
}

// luaDeclared are all functions of the scripts and includes, as file.lua:function.
func luaDeclared(t *testing.T) map[string]bool {
	t.Helper()
	function := regexp.MustCompile(`(?m)^local function ([a-z_]+)\(`)
	names := map[string]bool{}
	err := filepath.WalkDir("../../../lua", func(file string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".lua" {
			return err
		}
		text, err := os.ReadFile(file)
		for _, m := range function.FindAllSubmatch(text, -1) {
			names[filepath.Base(file)+":"+string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestLifeOfOnePollNamesWhatExists: each name in the story of docs/architecture.md is that
// of a function, a method or a type, a script or a function in one.
func TestLifeOfOnePollNamesWhatExists(t *testing.T) {
	text, err := os.ReadFile("../../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, story, _ := strings.Cut(string(text), "\n## The life of one poll\n")
	story, _, ended := strings.Cut(story, "\n## ")
	names := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(story, -1)
	if !ended || len(names) < 50 {
		t.Fatalf("the story names %d functions: where is it?", len(names))
	}
	inGo, inLua := declared(t), luaDeclared(t)
	for _, m := range names {
		name := m[1]
		_, err := os.Stat("../../../" + name)
		isFile := strings.Contains(name, "/") && err == nil
		if !isFile && !inLua[name] && (!goName.MatchString(name) || !inGo[name]) {
			t.Errorf("docs/architecture.md, the life of one poll: %s does not exist (any more): tell what stands in its place", name)
		}
	}
}
