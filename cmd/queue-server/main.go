// Command queue-server is a virtual waiting room: see the README, and
// queue-server --help.
//
// Exit status: 0 when it has done what it was asked, and after a drain that
// answered everybody; 1 when something went wrong on the way, which the log
// tells; 2 when the command line or a setting is wrong, and nothing was begun.
// Commands that ask a running server have more: see internal/operate/cli. A second signal
// ends the process at once.
package main

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/operate/cli"
)

const description = "A virtual waiting room: admits visitors at the rate that you set, in the order in which they came."

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal drains. From then on signals have their usual effect.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], cli.ProcessTerminal()))
}

// run is the whole program: it returns the exit status. When ctx ends, a
// server drains.
func run(ctx context.Context, args []string, t *cli.Terminal) int {
	root := &cobra.Command{Use: "queue-server", Short: description}
	t.Version, t.Signer = readBuild().version, signer(t.Getenv)
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
