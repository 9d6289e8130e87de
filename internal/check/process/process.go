// Package process starts the programs that tests and tools need, redis-server above
// all, on free ports of this machine, and ends them by their own ids.
package process

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// StartTimeout bounds the start of a program: thirty times what it takes on two
	// busy cores.
	StartTimeout = time.Minute
	// stopTimeout is how long one that was told to end has until it is killed.
	stopTimeout = 10 * time.Second
	// LookEvery is how often to look at what costs little to look at.
	LookEvery = 10 * time.Millisecond
)

// Process is a program that can be started, ended, and started again.
type Process struct {
	Name string
	Args []string
	Dir  string
	// Env are its variables, NAME=value; nil for this process's own.
	Env []string
	// Log gets what it says, besides Output; nil for nobody.
	Log io.Writer

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{} // closed when cmd has ended
	said   output
}

// Start starts it. It is told to end (SIGTERM) when ctx ends.
func (p *Process) Start(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	cmd := exec.CommandContext(ctx, p.Name, p.Args...)
	cmd.Dir, cmd.Env = p.Dir, p.Env
	cmd.Stdout = &p.said
	if p.Log != nil {
		cmd.Stdout = io.MultiWriter(&p.said, p.Log)
	}
	cmd.Stderr = cmd.Stdout
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTimeout
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		// How it ended is read from cmd.ProcessState.
		_ = cmd.Wait()
	}()
	p.cmd, p.exited = cmd, exited
	return nil
}

// StartUntil starts it, and waits until it is ready. One that ends, or is not ready within
// StartTimeout, is killed; the error has what it said.
func (p *Process) StartUntil(ctx context.Context, ready func() bool) error {
	if err := p.Start(ctx); err != nil {
		return err
	}
	ended := false
	if !Soon(ctx, StartTimeout, LookEvery, func() bool {
		_, ended = p.Wait(0)
		return ended || ready()
	}) || ended {
		p.Kill()
		return fmt.Errorf("%s does not answer:\n%s", p.Name, p.Output())
	}
	return nil
}

// Signal sends a signal, if the process runs.
func (p *Process) Signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		// One that has just ended needs no signal.
		_ = p.cmd.Process.Signal(s)
	}
}

// Pid is the process's number, 0 before Start.
func (p *Process) Pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

// Kill ends the process at once (SIGKILL), with nothing written and no connection
// closed in order, and waits until it is gone.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	p.Wait(StartTimeout)
}

// Stop tells the process to end (SIGTERM), and waits until it has. One that does not end in
// time is killed, which is an error.
func (p *Process) Stop() error {
	p.Signal(syscall.SIGTERM)
	if _, ended := p.Wait(stopTimeout); !ended {
		p.Kill()
		return fmt.Errorf("%s had to be killed", p.Name)
	}
	return nil
}

// Wait waits until the process has ended and returns its exit status; false if it
// goes on.
func (p *Process) Wait(within time.Duration) (status int, ended bool) {
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
	case <-late.C:
		select {
		case <-exited: // both, where there was no time to wait
		default:
			return 0, false
		}
	}
	return cmd.ProcessState.ExitCode(), true
}

// Output is what the process has said.
func (p *Process) Output() string {
	p.said.mu.Lock()
	defer p.said.mu.Unlock()
	return p.said.text.String()
}

// output collects what a program says.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

// Soon looks every so often until something holds, and reports whether it did within
// the time.
func Soon(ctx context.Context, within, every time.Duration, holds func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	look := time.NewTicker(every)
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

// Ports are taken from below those that systems give to outgoing connections: a port
// that a killed process leaves for a second must still be free when it comes back.
const (
	firstPort = 11_000
	portCount = 20_000
)

// nextPort is the offset of the port that is given out next. It begins anywhere.
var nextPort = func() *atomic.Uint32 {
	v := new(atomic.Uint32)
	v.Store(rand.Uint32N(portCount))
	return v
}()

// FreePort returns a port of 127.0.0.1 that nobody listens on, another each time, also in other processes on this machine.
func FreePort(ctx context.Context) (int, error) {
	for range portCount {
		port := firstPort + int(nextPort.Add(1)%portCount)
		if !takePort(port) {
			continue
		}
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", Local(port))
		if err == nil {
			return port, l.Close()
		}
		if ctx.Err() != nil {
			return 0, err
		}
	}
	return 0, fmt.Errorf("none of %d ports is free", portCount)
}

// taken are the locks of the ports that this process has given out: they are held until it ends.
var taken sync.Map

// takePort reports whether no other process has given the port out. Packages are tested side by side, and a program begins
// to listen a moment after it was told its port.
func takePort(port int) bool {
	folder := filepath.Join(os.TempDir(), "waitingroom-ports")
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return true // without locks, two test runs on one machine seldom meet
	}
	f, err := os.OpenFile(filepath.Join(folder, strconv.Itoa(port)), os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return true
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return false
	}
	taken.Store(port, f)
	return true
}

// FreeAddr returns an address of this machine, host:port, that nobody listens on.
func FreeAddr(ctx context.Context) (string, error) {
	port, err := FreePort(ctx)
	return Local(port), err
}

// Local is the address of a port of this machine.
func Local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
