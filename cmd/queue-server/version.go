package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/operate/cli"
)

// unknown stands for what a build does not say, as with go run.
const unknown = "unknown"

// What the Makefile stamps into the binary with the linker's -X, from
// scripts/version.sh. A go install of a version has them in its build info.
var stampedVersion, stampedRevision string

// build is what is running.
type build struct{ version, revision, goVersion string }

// readBuild returns what is stamped into the binary, else what the go command
// wrote into it.
func readBuild() build {
	info, _ := debug.ReadBuildInfo()
	return describeBuild(info, stampedVersion, stampedRevision)
}

// describeBuild says what a build is. info may be nil.
func describeBuild(info *debug.BuildInfo, version, revision string) build {
	b := build{version, revision, runtime.Version()}
	if info != nil {
		// "(devel)" is what the go command calls a tree that it knows nothing of.
		b.version = cmp.Or(version, strings.TrimPrefix(strings.Trim(info.Main.Version, "()"), "v"))
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				b.revision = cmp.Or(revision, s.Value)
			}
		}
	}
	b.version, b.revision = cmp.Or(b.version, unknown), cmp.Or(b.revision, unknown)
	return b
}

// versionCommand is queue-server version.
func versionCommand(t *cli.Terminal) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version.", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := readBuild()
			_, err := fmt.Fprintf(t.Stdout, "queue-server %s (revision %s, %s, %s/%s)\n",
				b.version, b.revision, b.goVersion, runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
