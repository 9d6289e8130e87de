package cli

import (
	"bytes"
	"context"
	"testing"

	"github.com/spf13/cobra"
)

// execute runs a program that has the commands of operators alone.
func execute(ctx context.Context, args []string, t *Terminal) int {
	return Execute(ctx, program(t), args, t)
}

// program is a variable since the commands get their context from Execute.
var program = func(t *Terminal) *cobra.Command {
	root := &cobra.Command{Use: "queue-server"}
	root.AddCommand(Commands(t, []string{"addr"})...)
	return root
}

// nowhere is an environment without variables; withToken has the operators' token.
func nowhere(string) string { return "" }

func withToken(name string) string {
	return map[string]string{adminVariable: "Zq7RtWn2Xv5Ks8PdLm3CbT6Y"}[name]
}

func command(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = execute(t.Context(), args, &Terminal{Getenv: nowhere, Stdout: &out, Stderr: &errs})
	return status, out.String(), errs.String()
}

// TestStopped: who ends a run is told so in plain words.
func TestStopped(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	status := execute(ctx, []string{"simulate"}, &Terminal{Getenv: nowhere, Stdout: &out, Stderr: &errs})
	if want := "queue-server: stopped before the last one was in\n"; status != ExitFailed || errs.String() != want {
		t.Errorf("status %d, stderr %q, want %q", status, errs.String(), want)
	}
}
