package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
)

// TestMain lets the test's program be the baseline, as queue-bench is, when
// it is started for that.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "bare" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		if err := serveBare(ctx, os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return
	}
	m.Run()
}
