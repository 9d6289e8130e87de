package house

import (
	"slices"
	"strings"
	"testing"
)

// What a package is, for the direction of its imports: each may import its own
// kind's permission and nothing above it.
//
//	cmd -> rooms and stores -> {window, limit, token, pass} -> {zone, line}
var (
	vocabulary = []string{"internal/zone", "internal/line"}
	arithmetic = []string{"internal/window", "internal/limits/limit"}
	proofs     = []string{"internal/token", "internal/pass"}
	stores     = []string{"internal/embedded", "internal/limits/limit/local", "lua"}
)

// publicNeeds are what package limit, which anybody may import, is made of.
var publicNeeds = []string{
	"internal/limits/address", "internal/limits/limit", "internal/limits/limiter", "internal/limits/quota", "lua", "limit",
}

// rule forbids an import; why is what the reader of a failure needs to know.
type rule struct {
	name string
	// breaks reports whether from may not import to.
	breaks func(from source, to string) bool
	why    string
}

var rules = []rule{
	{
		name: "only lua speaks Redis",
		breaks: func(from source, to string) bool {
			return within(to, "github.com/redis/go-redis") && !withinAny(from.pkg, []string{"lua", "internal/check/yardstick"})
		},
		why: "keys and replies are built and read in package lua alone; call a method of lua.Store",
	},
	{
		name: "echo stays in http.go",
		breaks: func(from source, to string) bool {
			return within(to, "github.com/labstack") && !mayUseEcho(from)
		},
		why: "echo is the transport: it will be replaced some day, in files named http.go and in cmd's routes.go and serve.go",
	},
	{
		name: "the vocabulary imports only the standard library",
		breaks: func(from source, to string) bool {
			return !from.isTest() && slices.Contains(vocabulary, from.pkg) && !isStandard(to)
		},
		why: "zone and line are what everything else is made of",
	},
	{
		name: "window is arithmetic",
		breaks: func(from source, to string) bool {
			return !from.isTest() && slices.Contains(arithmetic, from.pkg) &&
				!isStandard(to) && !ours(to, vocabulary...)
		},
		why: "numbers in, numbers out; it may import zone, line and the standard library",
	},
	{
		name: "proofs know no rooms",
		breaks: func(from source, to string) bool {
			return !from.isTest() && slices.Contains(proofs, from.pkg) &&
				ours(to) && !ours(to, vocabulary...)
		},
		why: "of this project, token and pass may import zone and line",
	},
	{
		name: "a store knows no rooms",
		breaks: func(from source, to string) bool {
			return !from.isTest() && slices.Contains(stores, from.pkg) &&
				ours(to) && !ours(to, slices.Concat(vocabulary, arithmetic)...)
		},
		why: "of this project, a store may import window, zone and line",
	},
	{
		name: "a room is handed its store",
		breaks: func(from source, to string) bool {
			return !from.isTest() && isRoom(from.pkg) && ours(to, stores...)
		},
		why: "declare the methods that you call as an interface; cmd chooses the store and hands it in",
	},
	{
		name: "only openapitest reads OpenAPI",
		breaks: func(from source, to string) bool {
			return within(to, "github.com/getkin") && from.pkg != "internal/check/openapitest" ||
				!from.isTest() && ours(to, "internal/check/openapitest")
		},
		why: "it is for tests: what reads OpenAPI stays out of the server, which only sends the documents",
	},
	{
		name: "nothing imports the console",
		breaks: func(from source, to string) bool {
			return ours(to, "internal/operate/console") && !withinAny(from.pkg, []string{"internal/operate/console", "cmd/queue-server"})
		},
		why: "it shows what the others know, and knows nothing itself",
	},
	{
		name: "the public package brings no server with it",
		breaks: func(from source, to string) bool {
			return !from.isTest() && within(from.pkg, "limit") && !isStandard(to) && !ours(to, publicNeeds...) &&
				(from.pkg != "limit/echolimit" || !within(to, "github.com/labstack/echo"))
		},
		why: "whoever imports limit gets the limiter, its two stores and what they need; echo comes with echolimit alone",
	},
	{
		name: "nothing of the server imports the public package",
		breaks: func(from source, to string) bool {
			return ours(to, "limit") && !within(from.pkg, "limit")
		},
		why: "limit is for services of others; what it is made of is in internal",
	},
	{
		name: "nothing imports cmd",
		breaks: func(_ source, to string) bool {
			return ours(to, "cmd")
		},
		why: "cmd wires what the others are",
	},
}

// choosers are the packages below internal that make a store themselves, each
// for a reason: they are no rooms of the server.
var choosers = []string{
	"internal/operate/simulate", // a room of its own: a crowd in virtual time on the embedded store
}

// isRoom reports whether the folder is one that a store must be handed to.
func isRoom(pkg string) bool {
	return within(pkg, "internal") && !withinAny(pkg, choosers) && !withinAny(pkg, stores)
}

// mayUseEcho: http.go and its tests, and the files of cmd that hang the routes.
func mayUseEcho(from source) bool {
	if within(from.pkg, "cmd/queue-server") {
		return slices.Contains([]string{"routes.go", "routes_test.go", "serve.go", "serve_test.go"}, from.file)
	}
	return from.file == "http.go" || from.file == "http_test.go"
}

func TestImportsPointOneWay(t *testing.T) {
	for _, from := range tree(t) {
		for _, to := range from.imports {
			for _, r := range rules {
				if r.breaks(from, to) {
					t.Errorf("%s imports %s: %s: %s", from.path(), to, r.name, r.why)
				}
			}
		}
	}
}

// TestRulesBite shows each rule a file that breaks it and one that does not: a
// rule that never fires holds nothing.
func TestRulesBite(t *testing.T) {
	own := func(pkg string) string { return module + "/" + pkg }
	tests := []struct {
		rule      string
		pkg, file string
		to        string
		breaks    bool
	}{
		{"only lua speaks Redis", "lua", "poll.go", "github.com/redis/go-redis/v9", false},
		{"only lua speaks Redis", "internal/wait", "service.go", "github.com/redis/go-redis/v9", true},
		{"only lua speaks Redis", "cmd/queue-server", "two_test.go", "github.com/redis/go-redis/v9", true},
		{"echo stays in http.go", "internal/entry", "http.go", "github.com/labstack/echo/v4", false},
		{"echo stays in http.go", "internal/entry", "service.go", "github.com/labstack/echo/v4", true},
		{"echo stays in http.go", "cmd/queue-server", "routes.go", "github.com/labstack/echo/v4/middleware", false},
		{"echo stays in http.go", "cmd/queue-server", "main.go", "github.com/labstack/echo/v4", true},
		{"the vocabulary imports only the standard library", "internal/zone", "zone.go", "regexp", false},
		{"the vocabulary imports only the standard library", "internal/line", "line.go", own("internal/zone"), true},
		{"the vocabulary imports only the standard library", "internal/zone", "zone_test.go", "pgregory.net/rapid", false},
		{"window is arithmetic", "internal/window", "edge.go", own("internal/zone"), false},
		{"window is arithmetic", "internal/window", "edge.go", own("internal/token"), true},
		{"window is arithmetic", "internal/window", "edge.go", "github.com/google/uuid", true},
		{"proofs know no rooms", "internal/pass", "pass.go", "github.com/golang-jwt/jwt/v5", false},
		{"proofs know no rooms", "internal/token", "token.go", own("internal/wait"), true},
		{"a store knows no rooms", "internal/embedded", "store.go", own("internal/window"), false},
		{"a store knows no rooms", "lua", "store.go", own("internal/embedded"), true},
		{"a store knows no rooms", "lua", "conformance_test.go", own("internal/embedded"), false},
		{"a room is handed its store", "internal/sweeper", "job.go", own("internal/line"), false},
		{"a room is handed its store", "internal/sweeper", "job.go", own("lua"), true},
		{"a room is handed its store", "internal/wait", "service.go", own("internal/embedded"), true},
		{"only openapitest reads OpenAPI", "internal/serve/openapi", "http.go", "github.com/getkin/kin-openapi/openapi3", true},
		{"only openapitest reads OpenAPI", "internal/check/openapitest", "check.go", "github.com/getkin/kin-openapi/openapi3", false},
		{"only openapitest reads OpenAPI", "cmd/queue-server", "routes.go", own("internal/check/openapitest"), true},
		{"only openapitest reads OpenAPI", "cmd/queue-server", "routes_test.go", own("internal/check/openapitest"), false},
		{"nothing imports the console", "cmd/queue-server", "serve.go", own("internal/operate/console"), false},
		{"nothing imports the console", "internal/operate/operator", "http.go", own("internal/operate/console"), true},
		{"the public package brings no server with it", "limit", "limit.go", own("internal/limits/limiter"), false},
		{"the public package brings no server with it", "limit", "middleware.go", "github.com/labstack/echo/v4", true},
		{"the public package brings no server with it", "limit", "limit.go", own("internal/serve/problem"), true},
		{"the public package brings no server with it", "limit/echolimit", "http.go", "github.com/labstack/echo/v4", false},
		{"nothing of the server imports the public package", "internal/limits/gate", "http.go", own("limit"), true},
		{"nothing of the server imports the public package", "limit/echolimit", "http.go", own("limit"), false},
		{"nothing imports cmd", "internal/wait", "service.go", own("cmd/queue-server"), true},
		{"nothing imports cmd", "cmd/queue-server", "main.go", own("internal/wait"), false},
	}
	tried := map[string]bool{}
	for _, tt := range tests {
		i := slices.IndexFunc(rules, func(r rule) bool { return r.name == tt.rule })
		if i < 0 {
			t.Errorf("there is no rule %q", tt.rule)
			continue
		}
		if got := rules[i].breaks(source{pkg: tt.pkg, file: tt.file}, tt.to); got != tt.breaks {
			t.Errorf("%s: %s/%s importing %s: breaks = %t, want %t", tt.rule, tt.pkg, tt.file, tt.to, got, tt.breaks)
		}
		tried[tt.rule] = tried[tt.rule] || tt.breaks
	}
	for _, r := range rules {
		if !tried[r.name] {
			t.Errorf("no example breaks the rule %q", r.name)
		}
	}
}

// within reports whether path is folder or lies below it.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

func withinAny(path string, folders []string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool { return within(path, folder) })
}

// ours reports whether the import path is one of this project's, in one of the
// folders if any are named.
func ours(importPath string, folders ...string) bool {
	folder, found := strings.CutPrefix(importPath, module+"/")
	return found && (len(folders) == 0 || withinAny(folder, folders))
}

// isStandard reports whether the import path is the standard library's: only
// there has the first part no dot.
func isStandard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}
