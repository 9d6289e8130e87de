package main

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/operate/cli"
)

const description = "A virtual waiting room: lets visitors in at the rate that you set, in the order in which they came."

// run is the whole program where nobody can be asked.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	return runIn(ctx, args, &cli.Terminal{Getenv: getenv, Stdout: stdout, Stderr: stderr})
}

// runIn is the whole program: it returns the exit status. When ctx ends, a
// server drains.
func runIn(ctx context.Context, args []string, t *cli.Terminal) int {
	root := &cobra.Command{Use: "queue-server", Short: description}
	root.AddCommand(serveCommand(t), healthcheckCommand(t), versionCommand(t))
	root.AddCommand(cli.Commands(t, settingNames())...)
	return cli.Execute(ctx, root, withCommand(args), t)
}

// withCommand puts the command that is meant when none is named before the flags:
// serve. It does so for a shell that asks how a command line may go on, too.
func withCommand(args []string) []string {
	at := 0
	if len(args) > 1 && args[0] == cobra.ShellCompRequestCmd {
		at = 1
	}
	if len(args) > at && (!strings.HasPrefix(args[at], "-") || slices.Contains([]string{"-h", "--help"}, args[at])) {
		return args
	}
	return slices.Insert(slices.Clone(args), at, "serve")
}
