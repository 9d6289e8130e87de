package architecture

import (
	"go/ast"
	"slices"
	"testing"
)

// TestARequestFindsItsZoneOnce: the route resolves the zone, and everything below takes it. So no function of these packages looks
// zones up twice, and only those look one up that answer a request.
func TestARequestFindsItsZoneOnce(t *testing.T) {
	resolves := map[string][]string{
		"internal/entry": {"Poll", "Revoked"},
		"internal/wait":  {"Join", "Leave", "State"},
		"internal/page":  {"Get", "Post", "press", "reseat"},
		"internal/site":  {"Ask", "Here", "Done", "Session", "EndSession", "ask", "decide"}, // Ask where there is no question; decide asks the store for what ask does not know
	}
	found := map[string][]string{}
	for _, s := range tree(t) {
		if resolves[s.pkg] == nil || s.isTest() {
			continue
		}
		for _, d := range s.syntax.Decls {
			f, is := d.(*ast.FuncDecl)
			if !is {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				call, is := n.(*ast.SelectorExpr)
				if !is || call.Sel.Name != "Find" && call.Sel.Name != "Known" {
					return true
				}
				if of, is := call.X.(*ast.SelectorExpr); is && (of.Sel.Name == "zones" || of.Sel.Name == "Zones") {
					found[s.pkg] = append(found[s.pkg], f.Name.Name)
				}
				return true
			})
		}
	}
	for pkg, want := range resolves {
		slices.Sort(want)
		if slices.Sort(found[pkg]); !slices.Equal(found[pkg], want) {
			t.Errorf("%s: %q look a zone up, want %q, each once", pkg, found[pkg], want)
		}
	}
}
