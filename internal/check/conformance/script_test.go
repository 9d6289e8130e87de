package conformance

import (
	"slices"
	"strings"
	"testing"
)

func TestNamesOfAScript(t *testing.T) {
	t.Parallel()
	s := &story{t: t}
	for text, want := range map[string][]string{
		"a":                   {"a"},
		"nobody":              nil,
		"v*3":                 {"vAa", "vAb", "vAc"},
		"v*9[1:3]":            {"vAb", "vAc"},
		"v*9[7:]":             {"vAh", "vAi"},
		"v*9[:1]":             {"vAa"},
		"v*9[1::3]":           {"vAb", "vAe", "vAh"},
		"a v*9[:1] backwards": {"vAa", "a"},
	} {
		if got := s.names(strings.Fields(text)); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func TestScriptsAreRead(t *testing.T) {
	t.Parallel()
	all, err := scripted()
	if err != nil || len(all) < 50 {
		t.Errorf("%d stories, %v", len(all), err)
	}
}
