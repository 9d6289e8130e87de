package main

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/check/openapitest"
)

// pages are the routes that the documents leave out: they are for people, Prometheus and the tools of Go.
var pages = []string{
	"/", "/console", "/console/*", "/debug/pprof/*", "/debug/pprof/cmdline", "/debug/pprof/profile", "/debug/pprof/symbol", "/debug/pprof/trace",
	"/favicon.ico", "/metrics",
}

// parameter is a part of a path in echo's notation; the rest of a path is described
// as one.
var parameter = regexp.MustCompile(`:(\w+)`)

// routesOf returns "METHOD path" of all routes, in the notation of OpenAPI, and
// apart from these the paths of the pages.
func routesOf(t *testing.T, h http.Handler) (all, left []string) {
	t.Helper()
	e, ok := h.(*echo.Echo)
	if !ok {
		t.Fatalf("the routes are in a %T", h)
	}
	for _, r := range e.Routes() {
		path := parameter.ReplaceAllString(r.Path, "{$1}")
		for _, before := range []string{"}", "/auth"} {
			if rest, ok := strings.CutSuffix(path, before+"/*"); ok {
				path = rest + before + "/{path}"
			}
		}
		switch {
		case r.Method == echo.RouteNotFound:
		case slices.Contains(pages, path):
			left = append(left, path)
		default:
			all = append(all, r.Method+" "+path)
		}
	}
	slices.Sort(all)
	slices.Sort(left)
	return all, slices.Compact(left)
}

// TestEveryRouteIsDescribed also wants every route that is described to exist.
func TestEveryRouteIsDescribed(t *testing.T) {
	r, _ := testRooms(t, nil)
	for name, listener := range map[string]struct {
		routes   http.Handler
		document *openapitest.Document
		pages    []string
	}{
		"public":    {r.public(), openapitest.Public, nil},
		"operators": {r.operators(), openapitest.Operators, pages},
		"limits":    {r.limitChecks(), openapitest.Limits, nil},
		"site":      {r.siteGate(), openapitest.Site, nil},
	} {
		described, err := listener.document.Operations()
		if err != nil {
			t.Fatal(err)
		}
		got, left := routesOf(t, listener.routes)
		if !slices.Equal(left, listener.pages) || slices.ContainsFunc(left, listener.document.Describes) {
			t.Errorf("%s: the pages are %q, want %q, and none of them described", name, left, listener.pages)
		}
		if !slices.Equal(got, described) {
			t.Errorf("%s: the routes are\n%s\nand these are described:\n%s", name,
				strings.Join(got, "\n"), strings.Join(described, "\n"))
		}
	}
}
