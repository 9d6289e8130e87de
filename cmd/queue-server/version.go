package main

import (
	"fmt"
	"io"
	"runtime/debug"
)

// unknown stands for what a build does not say, as with go run.
const unknown = "unknown"

// build is what is running.
type build struct{ version, revision, goVersion string }

// readBuild returns what the go command wrote into the binary.
func readBuild() build {
	b := build{version: unknown, revision: unknown, goVersion: unknown}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.goVersion = info.GoVersion
	if info.Main.Version != "" {
		b.version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.revision = s.Value
		}
	}
	return b
}

// versionCommand is queue-server version.
type versionCommand struct{}

// Run prints the version.
func (versionCommand) Run(out io.Writer) error {
	b := readBuild()
	_, err := fmt.Fprintf(out, "queue-server %s (revision %s, %s)\n", b.version, b.revision, b.goVersion)
	return err
}
