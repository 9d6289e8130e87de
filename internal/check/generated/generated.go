// Package generated holds files to the tables that parts of them are made from. In a file a comment names the part:
//
//	# {{totals}}
//	...
//	# {{end}}
//
// A test makes what stands between the two anew, and fails if the file has something else. With the flag -write, which
// "make generate" sets, the test writes it.
package generated

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var write = flag.Bool("write", false, "write the generated parts of files")

// part finds the indentation, the name, the arguments and the lines of a generated part.
var part = regexp.MustCompile(`(?m)^([ \t]*)\S+ \{\{(\w+) ?(.*?)\}\}.*\n((?:.*\n)*?)[ \t]*\S+ \{\{end\}\}`)

// File holds a file to its makers, each of which returns the lines of a part of its name, without indentation, for the
// arguments that the part's first line has. Each maker must have a part. Parts with other names are those of other tests.
func File(t *testing.T, name string, makers map[string]func(args string) []string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	made := make(map[string]bool)
	is := part.ReplaceAllStringFunc(string(text), func(all string) string {
		m := part.FindStringSubmatch(all)
		maker := makers[m[2]]
		if maker == nil {
			return all
		}
		made[m[2]] = true
		var b strings.Builder
		for _, line := range maker(m[3]) {
			if line != "" {
				b.WriteString(m[1])
			}
			b.WriteString(line + "\n")
		}
		if b.String() == m[4] {
			return all
		}
		if !*write {
			t.Errorf("%s: {{%s}} is stale: run make generate", name, strings.TrimSpace(m[2]+" "+m[3]))
		}
		head, _, _ := strings.Cut(all, "\n")
		end := all[strings.LastIndex(all, "\n")+1:]
		return head + "\n" + b.String() + end
	})
	for name := range makers {
		if !made[name] {
			t.Errorf("no part of the file is {{%s}}", name)
		}
	}
	if *write && is != string(text) {
		replace(t, name, is)
	}
}

func replace(t *testing.T, name, text string) {
	t.Helper()
	folder, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(folder.WriteFile(filepath.Base(name), []byte(text), 0o600), folder.Close()); err != nil {
		t.Fatal(err)
	}
}

// Whole holds a file to all of its text, which is made.
func Whole(t *testing.T, name, made string) {
	t.Helper()
	is, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case string(is) == made:
	case !*write:
		t.Errorf("%s is stale: run make generate", name)
	default:
		replace(t, name, made)
	}
}
