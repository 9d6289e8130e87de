// Command queue-bench measures the waiting room beside a baseline, in one run and on one machine, and prints one table:
// queue-server on both stores beside a bare echo handler, what is left of their peak when three times as much is asked,
// and what one zone of one Redis does with ten million who wait.
//
// It starts all that it measures itself, on free ports of this machine, and ends it. Absolute figures depend on the
// machine, and on what else it does; the ratios are between slices of a few seconds that took turns. What the stores cost
// by themselves, their benchmarks tell: see scripts/bench.sh.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(run()) }

// run is the whole program: it returns the exit status. With the arguments bare ADDRESS it is the baseline for HTTP.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var o options
	flag.BoolVar(&o.quick, "quick", false, "small crowds and short slices, to see that it works")
	flag.StringVar(&o.server, "server", "bin/queue-server", "the queue-server to measure")
	flag.IntVar(&o.million, "million", 0, "how many wait in the section of that name, for a machine with little memory; as planned when 0")
	flag.StringVar(&o.only, "only", "all", "the section to measure: line, idle or million")
	flag.Parse()
	err := fmt.Errorf("there are no arguments, and one is %q", flag.Arg(0))
	switch {
	case flag.NArg() == 2 && flag.Arg(0) == "bare":
		err = serveBare(ctx, flag.Arg(1))
	case flag.NArg() == 0:
		err = o.run(ctx, os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "queue-bench: %v\n", err)
		return 1
	}
	return 0
}

// options are the flags.
type options struct {
	quick        bool
	only, server string
	million      int
}
