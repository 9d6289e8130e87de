package fault

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// startTimeout bounds the start of a process: ten times what it takes on
	// two busy cores.
	startTimeout = 20 * time.Second
	// lookEvery is how often a condition is looked at.
	lookEvery = 10 * time.Millisecond
)

// await returns when the condition holds, and fails the test when it does not
// within the time.
func await(t testing.TB, within time.Duration, what string, holds func() bool) {
	t.Helper()
	if !soon(t.Context(), within, holds) {
		t.Fatalf("in vain, for %v: %s", within, what)
	}
}

func soon(ctx context.Context, within time.Duration, holds func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			return false
		case <-look.C:
		}
	}
	return true
}

// process is a child of the test. Its output is kept, and shown when the test
// fails.
type process struct {
	name string
	args []string
	dir  string
	// env are variables besides this process's own, NAME=value.
	env []string

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{} // closed when cmd has ended
	out    *lockedBuffer
}

// newProcess prepares a program, to run in a folder; start starts it. The test
// ends it.
func newProcess(t testing.TB, name, dir string, args ...string) *process {
	t.Helper()
	p := &process{name: name, args: args, dir: dir, out: &lockedBuffer{}}
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s said:\n%s", filepath.Base(name), p.out.tail())
		}
	})
	return p
}

func (p *process) start(t testing.TB) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	// Not the test's context: a process outlives it until it is killed.
	cmd := exec.CommandContext(context.Background(), p.name, p.args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), p.env...)
	cmd.Stdout, cmd.Stderr = p.out, p.out
	cmd.SysProcAttr = diesWithParent()
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", p.name, err)
	}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		// How it ended is read from cmd.ProcessState.
		_ = cmd.Wait()
	}()
	p.cmd, p.exited = cmd, exited
}

// signal sends a signal, if the process runs.
func (p *process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return
	}
	// One that has just ended needs no signal.
	_ = p.cmd.Process.Signal(s)
}

// kill ends the process at once (kill -9), with nothing written and no connection
// closed in order, and waits until it is gone.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	p.wait(startTimeout)
}

// wait waits until the process has ended and returns its exit status; false if
// it goes on.
func (p *process) wait(within time.Duration) (status int, ended bool) {
	p.mu.Lock()
	cmd, exited := p.cmd, p.exited
	p.mu.Unlock()
	if cmd == nil {
		return 0, true
	}
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case <-exited:
		return cmd.ProcessState.ExitCode(), true
	case <-late.C:
		return 0, false
	}
}

// lockedBuffer keeps what a process says.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// tail is the end of it, enough to see what went wrong.
func (b *lockedBuffer) tail() string {
	const most = 3 << 10
	s := b.text()
	if len(s) > most {
		s = fmt.Sprintf("... %s", s[len(s)-most:])
	}
	return s
}

// writeFile writes a file of the test's own.
func writeFile(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
