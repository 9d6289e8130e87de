package room

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/process"
)

// Adopt makes a program that is not started yet one of the test's, which kills it in the end. What it
// said is shown when the test fails.
func Adopt(t testing.TB, p *process.Process) *process.Process {
	t.Helper()
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

// Launch starts a program of the test, a Redis or a gateway, and waits until it answers.
func Launch(t testing.TB, p interface{ Start(context.Context) error }) {
	t.Helper()
	if err := p.Start(context.Background()); err != nil { // it outlives the test's context
		t.Fatal(err)
	}
}

// StartRedis starts a Redis without persistence. More arguments are given as on its command
// line: "--appendonly", "yes".
func StartRedis(t testing.TB, args ...string) *process.Redis {
	t.Helper()
	r, err := process.NewRedis(t.Context(), "redis-server", t.TempDir(), args...)
	if err != nil {
		t.Fatal(err)
	}
	Adopt(t, r.Process)
	Launch(t, r)
	return r
}

// FreeAddr is an address of this machine, host:port, that nobody listens on.
func FreeAddr(t testing.TB) string {
	t.Helper()
	addr, err := process.FreeAddr(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

// Await returns when the condition holds, and fails the test when it does not within Patience.
func Await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	if !Soon(t, Patience, holds) {
		t.Fatalf("in vain, for %v: %s; %s", Patience, what, Machine())
	}
}

// Soon reports whether the condition comes to hold within the time.
func Soon(t testing.TB, within time.Duration, holds func() bool) bool {
	t.Helper()
	return process.Soon(t.Context(), within, process.LookEvery, holds)
}

// Tool is a program that the Makefile pins under a name: CADDY, K6. It is built on first use.
func Tool(t testing.TB, name string) string {
	t.Helper()
	return pinned(t, name, "go-tool.sh")
}

// NPMTool is Tool for a program of a package that npm has: WORKERD.
func NPMTool(t testing.TB, name, program string) string {
	t.Helper()
	return pinned(t, name, "npm-tool.sh", program)
}

// pinned returns the path of a pinned program that a script gets.
func pinned(t testing.TB, name, script string, args ...string) string {
	t.Helper()
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	pin := regexp.MustCompile(`(?m)^` + name + ` +:= (\S+)$`).FindSubmatch(makefile)
	if pin == nil {
		t.Fatalf("the Makefile pins no %s", name)
	}
	tool := exec.CommandContext(t.Context(), filepath.Join(root, "scripts", script), append([]string{string(pin[1])}, args...)...)
	tool.Stderr = os.Stderr
	path, err := tool.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(path))
}
