package main

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestDescribeBuild(t *testing.T) {
	module := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: settings}
	}
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "4f1e"}
	tests := []struct {
		name              string
		info              *debug.BuildInfo
		version, revision string
		want              build
	}{
		{"make build, make release", module("(devel)"), "0.1.0-dev.20261121153910+gadef9a8", "adef9a8",
			build{version: "0.1.0-dev.20261121153910+gadef9a8", revision: "adef9a8"}},
		{"go install ...@v0.1.0", module("v0.1.0"), "", "", build{version: "0.1.0", revision: unknown}},
		{"go build in a checkout", module("v0.0.0-20261121153910-adef9a8b1c2d+dirty", commit), "", "",
			build{version: "0.0.0-20261121153910-adef9a8b1c2d+dirty", revision: "4f1e"}},
		{"go build without git", module("(devel)"), "", "", build{version: "devel", revision: unknown}},
		{"the stamp wins", module("v0.0.0-2026", commit), "0.1.0", "adef9a8", build{version: "0.1.0", revision: "adef9a8"}},
		{"nothing known", nil, "", "", build{version: unknown, revision: unknown}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.goVersion = runtime.Version()
			if got := describeBuild(tt.info, tt.version, tt.revision); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}
