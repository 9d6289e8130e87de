package fault

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
	"github.com/openqueue/waitingroom/internal/check/process"
)

// cliTimeout bounds one redis-cli: a hung Redis never answers.
const cliTimeout = 30 * time.Second

// engine is a redis-server of the test's own.
type engine struct {
	*process.Redis
	// password is what it asks for; empty for none.
	password string
}

// startEngine starts a Redis without persistence. More arguments are given as on
// its command line: "--appendonly", "yes".
func startEngine(t testing.TB, args ...string) *engine {
	t.Helper()
	e := newEngine(t, args...)
	e.start(t)
	return e
}

// newEngine prepares a Redis that is not started yet.
func newEngine(t testing.TB, args ...string) *engine {
	t.Helper()
	// A replica that has no data yet need not wait for others to come.
	own := []string{"--enable-debug-command", "local", "--repl-diskless-sync-delay", "0"}
	r, err := process.NewRedis(t.Context(), "redis-server", t.TempDir(), append(own, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	room.Adopt(t, r.Process)
	return &engine{Redis: r}
}

// start starts it, anew after Kill, and waits until it answers.
func (e *engine) start(t testing.TB) {
	t.Helper()
	room.Launch(t, e.Redis)
}

// hang stops the process where it is (SIGSTOP): it takes connections, and
// answers nothing.
func (e *engine) hang() { e.Signal(syscall.SIGSTOP) }

// goOn ends hang.
func (e *engine) goOn() { e.Signal(syscall.SIGCONT) }

// do runs one command and returns what redis-cli prints.
func (e *engine) do(t testing.TB, args ...string) string {
	t.Helper()
	out, err := e.cli(args...)
	if err != nil {
		t.Fatalf("redis %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return out
}

// cli runs redis-cli, and fails on an error reply, too.
func (e *engine) cli(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), cliTimeout)
	defer cancel()
	all := append([]string{"-e", "-p", strconv.Itoa(e.Port)}, args...)
	cmd := exec.CommandContext(ctx, "redis-cli", all...)
	if e.password != "" {
		cmd.Env = append(os.Environ(), "REDISCLI_AUTH="+e.password)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("redis-cli: %w", err)
	}
	return strings.TrimSpace(string(out)), err
}

// info returns one field of INFO, "" while Redis does not answer.
func (e *engine) info(section, field string) string {
	out, err := e.cli("INFO", section)
	if err != nil {
		return ""
	}
	return fieldOf(out, field)
}

func fieldOf(text, field string) string {
	for l := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(l), field+":"); ok {
			return v
		}
	}
	return ""
}
