package infrastructure

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// process is a program that runs until the test ends, or is killed.
type process struct {
	cmd  *exec.Cmd
	said *output
	kill func()
}

// output collects what a program says.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// begin starts a program, which is killed with the test. What it said is in the
// test's log if that fails.
func begin(t testing.TB, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{cmd: cmd, said: new(output)}
	cmd.Stdout, cmd.Stderr = p.said, p.said
	if err := cmd.Start(); err != nil {
		t.Fatalf("%s, which this test needs: %v", cmd.Path, err)
	}
	p.kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill() // it may have ended by itself
		_ = cmd.Wait()
	})
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s:\n%s", strings.Join(cmd.Args, " "), last(p.said.String(), 90))
		}
	})
	return p
}

// last returns the last lines of a text.
func last(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
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
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("not within %v: %s", within, what)
		case <-tick.C:
		}
	}
}

// freePort is a port that nobody listens on.
func freePort(t testing.TB) int {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatalf("listens on a %T", l.Addr())
	}
	return addr.Port
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
