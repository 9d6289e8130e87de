package rehearse

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestLines: each line that a client prints says whose it is, however it is cut into writes.
func TestLines(t *testing.T) {
	var to strings.Builder
	l := &lines{to: &to, name: "act | "}
	for _, p := range []string{"a\nb", "c", "\n\nd"} {
		if n, err := l.Write([]byte(p)); n != len(p) || err != nil {
			t.Fatal(n, err)
		}
	}
	l.end()
	if got, want := to.String(), "act | a\nact | bc\nact | \nact | d\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestTheActsPlayTheWholeTable: the rows are those of /openapi.yaml, and each status of
// each row is an answer in some act.
func TestTheActsPlayTheWholeTable(t *testing.T) {
	text, err := os.ReadFile("../../openapi/public/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| answer | do this |")
	table, _, _ = strings.Cut(table, "\n\n")
	var written, known []string
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, "|"); len(cells) > 2 && !strings.Contains(line, "---") {
			written = append(written, strings.TrimSpace(cells[1]))
		}
	}
	for _, r := range rows {
		known = append(known, r.answer)
	}
	if !slices.Equal(written, known) {
		t.Fatalf("/openapi.yaml has the answers\n%q, the rehearsal\n%q", written, known)
	}
	played := map[string]bool{}
	for _, a := range Acts() {
		for _, s := range a.steps {
			played[rowOf(s).answer+s.String()] = true
		}
	}
	status := regexp.MustCompile(`\d{3}`)
	for _, r := range rows {
		some := status.FindAllString(r.answer, -1)
		if r == rowOther {
			some = append(some, "no answer", "cut short", "within 3 s", "page")
		}
		if r == rowWait || r == rowEnter {
			some = []string{""}
		}
		for _, answer := range some {
			found := false
			for key := range played {
				said, is := strings.CutPrefix(key, r.answer)
				found = found || is && strings.Contains(said, answer)
			}
			if !found {
				t.Errorf("no act answers %q, of the row %q", answer, r.answer)
			}
		}
	}
}

// TestActsEnd: each act ends with what ends a wait, and nowhere before.
func TestActsEnd(t *testing.T) {
	for _, a := range Acts() {
		for i, s := range a.steps {
			then := rowOf(s).then
			if ends := then == thenStop || then == thenEnter; ends != (i == len(a.steps)-1) {
				t.Errorf("%s: step %d is %s", a.Name, i+1, s)
			}
		}
	}
}
