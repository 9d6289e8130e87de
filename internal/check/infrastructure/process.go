package infrastructure

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/process"
)

// lookEvery is how often a condition is looked at: as often as a visitor may ask.
const lookEvery = 50 * time.Millisecond

// begin starts a program, which is killed with the test. What it said is in the
// test's log if that fails.
func begin(t testing.TB, p *process.Process) *process.Process {
	t.Helper()
	if err := p.Start(context.Background()); err != nil {
		t.Fatalf("this test needs it: %v", err)
	}
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			const most = 8 << 10
			said := p.Output()
			t.Logf("%s %q:\n%s", p.Name, p.Args, said[max(0, len(said)-most):])
		}
	})
	return p
}

// script runs a script to its end; the test fails if it does.
func (r *Redis) script(t testing.TB, name string, args ...string) {
	t.Helper()
	if said, err := r.run(t.Context(), name, args...); err != nil {
		t.Fatalf("%s: %v\n%s", filepath.Base(name), err, said)
	}
}

// run runs a script with the stand-in for the AWS CLI.
func (r *Redis) run(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, scriptTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(),
		"PATH="+folder("testdata")+string(os.PathListSeparator)+os.Getenv("PATH"),
		"AWS_STAND_IN="+r.secrets, "REDIS_JOIN_PATIENCE="+strconv.Itoa(int(r.Patience.Seconds())))
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%s: %w: %s", filepath.Base(name), err, out)
	}
	return string(out), nil
}

// Await polls until something holds.
func Await(t testing.TB, within time.Duration, what string, holds func() bool) {
	t.Helper()
	if !process.Soon(t.Context(), within, lookEvery, holds) {
		t.Fatalf("not within %v: %s", within, what)
	}
}

// freePort is a port that nobody listens on.
func freePort(t testing.TB) int {
	t.Helper()
	port, err := process.FreePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func writeFile(t testing.TB, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t testing.TB, name string) {
	t.Helper()
	if err := os.MkdirAll(name, 0o755); err != nil {
		t.Fatal(err)
	}
}
