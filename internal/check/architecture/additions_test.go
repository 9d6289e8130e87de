package architecture

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// additions are the lists of CONTRIBUTING.md that give an example with each place.
var additions = []string{"a setting of a zone", "a total", "a metric", "a problem", "a field of an answer", "a field of what a limit answers"}

// TestPlacesToAddSomethingAreThere: each place that such a list names is there, and so is
// its example.
func TestPlacesToAddSomethingAreThere(t *testing.T) {
	const page = "CONTRIBUTING.md"
	text, err := os.ReadFile("../../../" + page)
	if err != nil {
		t.Fatal(err)
	}
	path, place := regexp.MustCompile("`(?:[\\w.-]+/)+[\\w.-]+\\.\\w+`"), regexp.MustCompile("`([^`]+/[^`]+)`\\s\\(`([^`]+)`\\)")
	for _, title := range additions {
		_, list, _ := strings.Cut(string(text), "\n### To add "+title+"\n")
		list, _, _ = strings.Cut(list, "\n#")
		places := place.FindAllStringSubmatch(list, -1)
		if paths := path.FindAllString(list, -1); len(places) != len(paths) || len(places) < 3 {
			t.Errorf("%s, %q: %q are named, of which %d with an example", page, title, paths, len(places))
		}
		for _, p := range places {
			text, err := os.ReadFile("../../../" + p[1])
			if err != nil {
				t.Errorf("%s, %q: %v", page, title, err)
			} else if !strings.Contains(string(text), p[2]) {
				t.Errorf("%s, %q: %s has no %s", page, title, p[1], p[2])
			}
		}
	}
}
