package openapitest

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Answer is one that a document describes: of an operation, with this status
// and, for a problem, this code.
type Answer struct {
	Operation
	Status string
	Code   string
}

// String returns "POST /traffic/entry 410 token_expired".
func (a Answer) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", a.Operation, a.Status, a.Code))
}

// seen collects the answers that were checked and found good.
type seen struct {
	mu      sync.Mutex
	answers map[Answer]bool
}

// note notes an exchange that is as described.
func (s *seen) note(in found, x Exchange) {
	if !in.described || x.Request.Method == http.MethodHead {
		return
	}
	var p Problem
	if in.answer.Content[problemType] != nil {
		p, _ = problemOf(x) // it was found good
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answers == nil {
		s.answers = make(map[Answer]bool)
	}
	s.answers[Answer{Operation{x.Request.Method, in.route.Path}, fmt.Sprint(x.Status), p.Code}] = true
}

// Unseen returns the answers of these paths that the document describes and
// that nobody got so far in this process, HEAD apart.
func (d *Document) Unseen(paths ...string) ([]Answer, error) {
	doc, err := d.load()
	if err != nil {
		return nil, err
	}
	d.seen.mu.Lock()
	defer d.seen.mu.Unlock()
	var unseen []Answer
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
					codes = codes[:0]
					for code := range media.Examples {
						codes = append(codes, code)
					}
				}
				for _, code := range codes {
					if a := (Answer{Operation{method, path}, status, code}); !d.seen.answers[a] {
						unseen = append(unseen, a)
					}
				}
			}
		}
	}
	slices.SortFunc(unseen, func(a, b Answer) int { return strings.Compare(a.String(), b.String()) })
	return unseen, nil
}

// Main runs a package's tests, and fails if they have not seen every answer
// that the document describes for these paths: what is promised and never given
// is as wrong as the reverse. excused are answers, as Answer.String writes
// them, that the tests cannot get, each with the reason. A part of the tests
// proves nothing and is not judged. It returns the exit status.
func (d *Document) Main(m *testing.M, excused map[string]string, paths ...string) int {
	status := m.Run()
	if status != 0 || !whole() {
		return status
	}
	unseen, err := d.Unseen(paths...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, a := range unseen {
		if excused[a.String()] == "" {
			fmt.Fprintf(os.Stderr, "openapitest: no test has got the answer %s\n", a)
			status = 1
		}
	}
	for a := range excused {
		if !slices.ContainsFunc(unseen, func(u Answer) bool { return u.String() == a }) {
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
