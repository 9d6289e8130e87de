// Command queue-bench measures the waiting room beside baselines, in one run
// and on one machine: queue-server on both stores beside a bare echo handler,
// the Redis scripts beside the least that a poll must do, at crowds of up to a
// million. It keeps all figures in docs/performance.json, and writes the pages
// that are made of them.
//
// It starts all that it measures itself, on free ports of this machine, and
// ends it. Absolute figures depend on the machine, and on what else it does;
// the ratios are between slices of a few seconds that took turns.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() { os.Exit(run()) }

// run is the whole program: it returns the exit status.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := newMeasureCommand()
	root.CompletionOptions.DisableDefaultCmd = true
	root.SilenceUsage, root.SilenceErrors = true, true
	root.AddCommand(newLoadTestCommand(&loadTest{}), newJudgeCommand(), newScalingCommand(), &cobra.Command{
		Use: "bare ADDRESS", Short: "Serve as the baseline for HTTP", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return serveBare(c.Context(), args[0]) },
	})
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "queue-bench: %v\n", err)
		return 1
	}
	return 0
}
