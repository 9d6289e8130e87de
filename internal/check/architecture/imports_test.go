package architecture

import (
	"slices"
	"strings"
	"testing"
)

// layer is a part of the tree, and what of this project it may import. Which
// libraries of others stay in one place (Redis, Echo, OpenAPI) is depguard's, in
// .golangci.yml.
type layer struct {
	name string
	// folders are those that it holds, with all below them; where two layers name
	// one, the longer name counts.
	folders []string
	// may are the layers that it may import, its own among them where its packages
	// may import one another.
	may []string
	// bare says that it imports no library of others.
	bare bool
	why  string
}

// layers are the whole tree, from the ground up. Each package lies in one.
var layers = []layer{
	{
		"refusals", []string{"internal/refusal"}, nil, true,
		"whoever refuses says there what clients are told",
	},
	{
		"authors", []string{"internal/audit"}, nil, true,
		"who made a change is said by all who record one",
	},
	{
		"kinds", []string{"internal/setting"}, nil, false, // the JSON reader that the standard library is about to have
		"what a setting is knows nothing of what is set",
	},
	{
		"events", []string{"internal/event"}, []string{"kinds"}, false,
		"times and draws",
	},
	{
		"words", []string{"internal/zone", "internal/line"}, []string{"refusals", "authors", "kinds", "events"}, false,
		"zone and line are what everything else is made of; of libraries, zone needs the list of public suffixes",
	},
	{
		"contract", []string{"internal/store"}, []string{"authors", "events", "words"}, true,
		"it says what every store promises, in the domain's words",
	},
	{
		"arithmetic", []string{"internal/window", "internal/estimate", "internal/limits/limit", "internal/pilot"}, []string{"refusals", "authors", "events", "words", "arithmetic"}, true,
		"numbers in, numbers out",
	},
	{
		"figures", []string{"internal/measure"}, []string{"authors", "events", "words", "arithmetic"}, true,
		"what a crowd saw, in numbers: for whatever plays or watches one",
	},
	{
		"stores", []string{"internal/embedded", "internal/limits/limit/local", "lua"}, []string{"authors", "events", "words", "contract", "arithmetic"}, false,
		"a store knows the domain alone",
	},
	{
		"proofs", []string{"internal/token", "internal/pass"}, []string{"refusals", "authors", "events", "words"}, false,
		"tokens and passes know nobody who hands them out",
	},
	{
		"serve", []string{"internal/serve"}, []string{"refusals", "kinds", "authors", "events", "words", "serve"}, false,
		"it is what any server has",
	},
	{
		"limits", []string{"internal/limits"}, []string{"refusals", "authors", "events", "words", "arithmetic", "serve", "limits"}, false,
		"it is a product of its own, and is handed its store",
	},
	{
		"clients", []string{"clients"}, nil, true,
		"others ship them; the waiting page has the JavaScript one in it",
	},
	{
		"examples", []string{"deploy/site"}, nil, true,
		"gateways include these files; the command line writes them",
	},
	{
		"admissions log", []string{"internal/admissionlog"}, nil, true,
		"whoever checks the log shares no code with the servers that wrote it",
	},
	{
		"visitors", []string{"internal", "internal/admissionlog/writer"},
		[]string{
			"refusals", "authors", "events", "words", "contract", "arithmetic", "proofs", "serve", "limits", "clients", "admissions log", "visitors",
		}, false,
		"ask for the groups of internal/store's methods that you call, cmd hands the store in; operators look in from outside",
	},
	{
		"dry run", []string{"internal/operate/simulate"}, []string{"authors", "events", "words", "contract", "arithmetic", "figures", "stores", "visitors"}, false,
		"what serves plays a crowd in virtual time, on an embedded store of its own",
	},
	{
		"rehearsal", []string{"internal/operate/rehearse"}, []string{"refusals", "authors", "events", "words", "proofs", "serve", "visitors"}, false,
		"it says by a script what the room says, and has no room",
	},
	{
		"evidence", []string{"internal/operate/evidence"}, []string{"admissions log"}, false,
		"an auditor reads all of it; it shares no code with what it judges",
	},
	{
		"operate", []string{"internal/operate"},
		[]string{
			"refusals", "kinds", "authors", "events", "words", "contract", "arithmetic", "serve", "limits", "visitors", "dry run", "rehearsal", "examples",
			"admissions log", "evidence", "operate",
		}, false,
		"it looks at all the others, and is handed its store",
	},
	{
		"description", []string{"internal/openapi"},
		[]string{"refusals", "kinds", "authors", "events", "words", "arithmetic", "serve", "limits", "visitors", "operate"}, false,
		"it describes what all the others answer: only the server and the tests' checks import it",
	},
	{
		"tables", []string{"internal/problem", "internal/metric"},
		[]string{"refusals", "authors", "events", "words", "contract", "arithmetic", "proofs", "serve", "limits", "visitors", "operate"}, false,
		"they answer for and count what all the others return and do: only the server and tests import them",
	},
	{
		"public", []string{"limit"}, []string{"refusals", "arithmetic", "stores", "limits", "public"}, true,
		"whoever imports limit gets the limiter, its two stores and what they need; nothing here imports it",
	},
	{
		"verifier", []string{"pass"}, []string{"serve", "verifier"}, false,
		"whoever imports pass gets what verifies passes; how they are made stays here, and nothing here imports it",
	},
	{
		"visitor", []string{"client"}, nil, false,
		"whoever imports client gets HTTP and nothing of this project",
	},
	{
		"server", []string{"cmd/queue-server"},
		[]string{
			"refusals", "kinds", "authors", "events", "words", "contract", "arithmetic", "stores", "proofs", "serve", "limits", "visitors", "dry run", "operate", "tables", "description",
		}, false,
		"it wires all that serves; what is for tests stays out of it",
	},
	{
		"tools", []string{"internal/check", "cmd/queue-bench", "scripts", "deploy"},
		[]string{
			"refusals", "authors", "events", "words", "contract", "arithmetic", "figures", "stores", "proofs", "serve", "limits", "visitors", "dry run", "rehearsal", "operate", "description", "tables", "tools",
		}, false,
		"they measure and test all of it",
	},
}

// layerOf returns the layer of a folder, nil if it lies in none.
func layerOf(pkg string) *layer {
	var found *layer
	longest := -1
	for i, l := range layers {
		for _, folder := range l.folders {
			if within(pkg, folder) && len(folder) > longest {
				found, longest = &layers[i], len(folder)
			}
		}
	}
	return found
}

// mayImport reports whether a package of the layer may import that.
func (l *layer) mayImport(importPath string) bool {
	if isStandard(importPath) {
		return true
	}
	pkg, ours := strings.CutPrefix(importPath, module+"/")
	if !ours {
		return !l.bare
	}
	to := layerOf(pkg)
	return to != nil && slices.Contains(l.may, to.name)
}

// TestImportsPointOneWay is about what is built: tests may import what they need.
func TestImportsPointOneWay(t *testing.T) {
	for _, from := range tree(t) {
		l := layerOf(from.pkg)
		if l == nil {
			t.Errorf("%s lies in no layer: which of them is it of?", from.path())
			continue
		}
		for _, to := range from.imports {
			if !from.isTest() && !l.mayImport(to) {
				t.Errorf("%s imports %s: %s may import, of ours, %q: %s", from.path(), to, l.name, l.may, l.why)
			}
		}
	}
}

// within reports whether path is folder or lies below it.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// isStandard reports whether the import path is the standard library's: only
// there has the first part no dot.
func isStandard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}
