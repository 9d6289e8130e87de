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
	"syscall"

	"github.com/openqueue/waitingroom/internal/operate/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal drains. From then on signals have their usual effect.
	context.AfterFunc(ctx, stop)
	os.Exit(runIn(ctx, os.Args[1:], cli.ProcessTerminal()))
}
