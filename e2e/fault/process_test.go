package fault

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/process"
)

// startTimeout bounds the start of a process.
const startTimeout = process.StartTimeout

// await returns when the condition holds, and fails the test when it does not
// within the time.
func await(t testing.TB, within time.Duration, what string, holds func() bool) {
	t.Helper()
	if !soon(t.Context(), within, holds) {
		t.Fatalf("in vain, for %v: %s", within, what)
	}
}

func soon(ctx context.Context, within time.Duration, holds func() bool) bool {
	return process.Soon(ctx, within, process.LookEvery, holds)
}

// child is a process of the test. Its output is kept, and its end is shown when the
// test fails.
type child struct{ *process.Process }

// newChild prepares a program, to run in a folder; start starts it. The test ends it.
func newChild(t testing.TB, name, dir string, args ...string) *child {
	t.Helper()
	return adopt(t, &process.Process{Name: name, Args: args, Dir: dir})
}

// adopt makes a program that is not started yet one of the test's.
func adopt(t testing.TB, program *process.Process) *child {
	t.Helper()
	program.Attributes = diesWithParent()
	p := &child{program}
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			const most = 3 << 10 // enough to see what went wrong
			said := p.Output()
			t.Logf("%s said:\n%s", filepath.Base(p.Name), said[max(0, len(said)-most):])
		}
	})
	return p
}

func (p *child) start(t testing.TB) {
	t.Helper()
	// Not the test's context: a process outlives it until it is killed.
	if err := p.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// freePort returns a port of 127.0.0.1 that nobody listens on.
func freePort(t testing.TB) int {
	t.Helper()
	port, err := process.FreePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// local is a port of this machine.
func local(port int) string { return process.Local(port) }

// writeFile writes a file of the test's own.
func writeFile(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
