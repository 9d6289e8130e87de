package main

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/openapi/openapitest"
)

// undescribed are the routes that the documents leave out, each for a reason.
var undescribed = map[string]string{
	"/": pages, "/console": pages, "/console/*": pages,
}

const pages = "pages for people, and no interface for programs"

// profiles are the routes behind echo's /debug/pprof/*, as net/http/pprof tells
// them apart.
var profiles = []string{"/debug/pprof/", "/debug/pprof/{profile}"}

// parameter is a part of a path in echo's notation.
var parameter = regexp.MustCompile(`:(\w+)`)

// routesOf returns "METHOD path" of all routes, in the notation of OpenAPI.
func routesOf(t *testing.T, h http.Handler) []string {
	t.Helper()
	e, ok := h.(*echo.Echo)
	if !ok {
		t.Fatalf("the routes are in a %T", h)
	}
	var all []string
	for _, r := range e.Routes() {
		paths := []string{parameter.ReplaceAllString(r.Path, "{$1}")}
		if r.Path == "/debug/pprof/*" {
			paths = profiles
		}
		for _, path := range paths {
			if r.Method != echo.RouteNotFound && undescribed[path] == "" {
				all = append(all, r.Method+" "+path)
			}
		}
	}
	slices.Sort(all)
	return all
}

// TestEveryRouteIsDescribed also wants every route that is described to exist.
func TestEveryRouteIsDescribed(t *testing.T) {
	r, _ := testRooms(t, nil)
	for name, listener := range map[string]struct {
		routes   http.Handler
		document *openapitest.Document
	}{
		"public": {r.public(), openapitest.Public}, "operators": {r.operators(), openapitest.Operators},
	} {
		operations, err := listener.document.Operations()
		if err != nil {
			t.Fatal(err)
		}
		var described []string
		for _, op := range operations {
			described = append(described, op.String())
		}
		slices.Sort(described)
		if got := routesOf(t, listener.routes); !slices.Equal(got, described) {
			t.Errorf("%s: the routes are\n%s\nand these are described:\n%s", name,
				strings.Join(got, "\n"), strings.Join(described, "\n"))
		}
	}
}
