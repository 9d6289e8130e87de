package main

import (
	"os"
	"regexp"
	"runtime"
	"strings"
)

// machine is what was measured on.
type machine struct {
	cores                int
	processor, system    string
	golang, redis        string
	loadAverage          string
	loadAverageAvailable bool
}

var leadingVersion = regexp.MustCompile(`^\d+(\.\d+)*`)

// describeMachine says what can be found out; the rest is "unknown".
func describeMachine() machine {
	m := machine{
		cores: runtime.NumCPU(), golang: strings.TrimPrefix(runtime.Version(), "go"),
		processor: "unknown", system: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for l := range strings.Lines(string(text)) {
			if key, value, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(key) == "model name" {
				m.processor = strings.TrimSpace(value)
				break
			}
		}
	}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		// Without what a distributor or a cloud appends to it.
		m.system = "Linux " + leadingVersion.FindString(string(text)) + ", " + runtime.GOARCH
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.loadAverage, _, m.loadAverageAvailable = strings.Cut(string(text), " ")
	}
	return m
}
