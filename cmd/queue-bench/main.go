// Command queue-bench measures the waiting room beside baselines, in one run
// and on one machine: queue-server on both stores beside a bare echo handler,
// the Redis scripts beside the least that a poll must do, at crowds of up to a
// million. It prints tables, keeps all figures in docs/performance.json and writes the
// pages that are made of them.
//
// It starts all that it measures itself, on free ports of this machine, and
// ends it. Absolute figures depend on the machine, and on what else it does;
// the ratios are between slices of a few seconds that took turns.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// commands is the command line.
type commands struct {
	Measure  measureCommand  `cmd:"" default:"withargs" help:"Measure, print the tables, write the pages."`
	LoadTest loadTestCommand `cmd:"" name:"loadtest" help:"Run the scenarios of loadtest/k6 on both stores, and judge them."`
	Judge    judgeCommand    `cmd:"" help:"Judge what k6 has written down elsewhere (--console-output)."`
	Scaling  scalingCommand  `cmd:"" help:"Write the pages made of docs/performance.json: performance.md, scaling.md, and the tables of deploy/terraform/examples."`
	Bare     bareCommand     `cmd:"" hidden:"" help:"Serve as the baseline for HTTP."`
}

// bareCommand is how queue-bench starts itself as the baseline.
type bareCommand struct {
	Addr string `arg:"" help:"Address to listen on."`
}

// Run serves until ctx ends.
func (c *bareCommand) Run(ctx context.Context) error { return serveBare(ctx, c.Addr) }

// output is where a run says what it has found, and what it does meanwhile.
type output struct{ table, progress io.Writer }

func main() { os.Exit(run()) }

// run is the whole program: it returns the exit status.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c commands
	parsed := kong.Parse(&c, kong.Name("queue-bench"),
		kong.Description("Measures the waiting room beside baselines."),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(output{table: os.Stdout, progress: os.Stderr}))
	if err := parsed.Run(); err != nil {
		fmt.Fprintf(os.Stderr, "queue-bench: %v\n", err)
		return 1
	}
	return 0
}
