package main

import (
	"os"
	"regexp"
	"runtime"
	"strings"
)

// machine is what was measured on.
type machine struct {
	Cores       int    `json:"cores"`
	Processor   string `json:"processor"`
	System      string `json:"system"`
	Go          string `json:"go"`
	Redis       string `json:"redis,omitzero"`
	LoadAverage string `json:"loadAverage,omitzero"`
}

var leadingVersion = regexp.MustCompile(`^\d+(\.\d+)*`)

// describeMachine says what can be found out; the rest is "unknown".
func describeMachine() machine {
	m := machine{
		Cores: runtime.NumCPU(), Go: strings.TrimPrefix(runtime.Version(), "go"),
		Processor: "unknown", System: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for l := range strings.Lines(string(text)) {
			if key, value, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(key) == "model name" {
				m.Processor = strings.TrimSpace(value)
				break
			}
		}
	}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		// Without what a distributor or a cloud appends to it.
		m.System = "Linux " + leadingVersion.FindString(string(text)) + ", " + runtime.GOARCH
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.LoadAverage, _, _ = strings.Cut(string(text), " ")
	}
	return m
}
