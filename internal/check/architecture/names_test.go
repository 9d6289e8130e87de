package architecture

import (
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// goName is a function or a type in a document: `zones.Zones.PutZone`. luaName is a function of a script: `zone.lua:load_zone`.
	goName  = regexp.MustCompile("`([a-z][a-z-]*)\\.([A-Za-z]\\w*(?:\\.[A-Za-z]\\w*)?)`")
	luaName = regexp.MustCompile("`(\\w+\\.lua):(\\w+)`")
	// benchmark is the argument of make microbench: `BENCH='Joins|Sweep'`.
	benchmark = regexp.MustCompile(`BENCH='?([\w|]+)`)
	// suffixes are what a name ends with that is a file.
	suffixes = []string{"go", "lua", "js", "json", "yaml", "md", "txt"}
)

// TestDocumentsNameWhatThereIs: each function, type and benchmark that the maps of docs/engineering name is in the sources.
func TestDocumentsNameWhatThereIs(t *testing.T) {
	packages, declared := map[string]bool{}, map[string]bool{}
	var benchmarks []string
	for _, s := range tree(t) {
		name := path.Base(s.pkg)
		packages[name] = true
		for _, d := range s.syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					declared[name+"."+d.Name.Name] = true
					benchmarks = append(benchmarks, d.Name.Name)
					continue
				}
				of := d.Recv.List[0].Type
				if pointer, ok := of.(*ast.StarExpr); ok {
					of = pointer.X
				}
				if generic, ok := of.(*ast.IndexExpr); ok {
					of = generic.X
				}
				if id, ok := of.(*ast.Ident); ok {
					declared[name+"."+id.Name+"."+d.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						declared[name+"."+spec.Name.Name] = true
					case *ast.ValueSpec:
						for _, id := range spec.Names {
							declared[name+"."+id.Name] = true
						}
					}
				}
			}
		}
	}
	const root = "../../../"
	for _, document := range []string{"architecture.md", "lives.md", "guarantees.md", "performance.md"} {
		text, err := os.ReadFile(root + "docs/engineering/" + document)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range goName.FindAllStringSubmatch(string(text), -1) {
			isFile := false
			for _, suffix := range suffixes {
				isFile = isFile || m[2] == suffix
			}
			if full := m[1] + "." + m[2]; packages[m[1]] && !isFile && !declared[full] {
				t.Errorf("%s names %s, which is not there", document, full)
			}
		}
		for _, m := range benchmark.FindAllStringSubmatch(string(text), -1) {
			for one := range strings.SplitSeq(m[1], "|") {
				if !slices.Contains(benchmarks, "Benchmark"+one) {
					t.Errorf("%s names Benchmark%s, which is not there", document, one)
				}
			}
		}
		for _, m := range luaName.FindAllStringSubmatch(string(text), -1) {
			found := false
			for _, folder := range []string{"lua/line/include", "lua/line", "lua/limits/include", "lua/limits"} {
				script, err := os.ReadFile(filepath.Join(root, folder, m[1]))
				found = found || err == nil && strings.Contains(string(script), "function "+m[2]+"(")
			}
			if !found {
				t.Errorf("%s names %s:%s, which is not there", document, m[1], m[2])
			}
		}
	}
}
