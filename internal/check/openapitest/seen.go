package openapitest

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// answer names one that a document describes: of an operation, with this status and, for a
// problem, this code: "POST /traffic/entry 410 token_expired".
func answer(method, path, status, code string) string {
	return strings.TrimSpace(method + " " + path + " " + status + " " + code)
}

// note notes an exchange that is as described.
func (d *Document) note(doc *described, x Exchange) {
	route, _, err := doc.router.FindRoute(x.Request)
	if err != nil || x.Request.Method == http.MethodHead {
		return
	}
	var p problem
	ref := route.Operation.Responses.Value(strconv.Itoa(x.Status))
	if ref != nil && ref.Value.Content[problemType] != nil && json.Unmarshal(x.Body, &p) != nil {
		return // it was found good, so that it is one
	}
	d.seen.Store(answer(x.Request.Method, route.Path, strconv.Itoa(x.Status), p.Code), true)
}

// Unseen returns the answers of these paths that the document describes and
// that nobody got so far in this process, HEAD apart: "POST /traffic/entry 410 token_expired".
func (d *Document) Unseen(paths ...string) ([]string, error) {
	doc, err := d.load()
	if err != nil {
		return nil, err
	}
	var unseen []string
	for _, path := range paths {
		item := doc.Paths.Value(path)
		if item == nil {
			return nil, fmt.Errorf("openapitest: there is no path %s", path)
		}
		for method, op := range item.Operations() {
			if method == http.MethodHead {
				continue
			}
			for status, res := range op.Responses.Map() {
				codes := []string{""}
				if media := res.Value.Content[problemType]; media != nil {
					codes = slices.Collect(maps.Keys(media.Examples))
				}
				for _, code := range codes {
					a := answer(method, path, status, code)
					if _, got := d.seen.Load(a); !got {
						unseen = append(unseen, a)
					}
				}
			}
		}
	}
	slices.Sort(unseen)
	return unseen, nil
}

// Main runs a package's tests, and fails if they have not seen every answer
// that the document describes for these paths: what is promised and never given
// is as wrong as the reverse. excused are answers, as Unseen names
// them, that the tests cannot get, each with the reason. A part of the tests
// proves nothing and is not judged. It returns the exit status.
func (d *Document) Main(m *testing.M, excused map[string]string, paths ...string) int {
	return d.After(m.Run(), excused, paths...)
}

// After is Main for a package that answers on two listeners: the tests have run, with this exit status.
func (d *Document) After(status int, excused map[string]string, paths ...string) int {
	if status != 0 || !whole() {
		return status
	}
	unseen, err := d.Unseen(paths...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, a := range unseen {
		if excused[a] == "" {
			fmt.Fprintf(os.Stderr, "openapitest: no test has got the answer %s\n", a)
			status = 1
		}
	}
	for a := range excused {
		if !slices.Contains(unseen, a) {
			fmt.Fprintf(os.Stderr, "openapitest: the answer %s is excused for nothing\n", a)
			status = 1
		}
	}
	return status
}

// whole reports whether all tests of the package were run.
func whole() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.fuzz"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return false
		}
	}
	worker := flag.Lookup("test.fuzzworker")
	return worker == nil || worker.Value.String() != "true"
}
