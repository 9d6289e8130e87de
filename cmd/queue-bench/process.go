package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/openqueue/waitingroom/internal/check/baseline"
)

const (
	// startTimeout is above what a server needs on a busy machine.
	startTimeout = 20 * time.Second
	// stopTimeout is how long it may take to end before it is killed.
	stopTimeout = 10 * time.Second
	// lookEvery is the pause between two looks at something awaited.
	lookEvery = 20 * time.Millisecond
)

// process is a server that is measured: a child of this process.
type process struct {
	name string
	// addr is the public listener, admin the operators', limits the limits'; "" for
	// none.
	addr, admin, limits string
	// token is the operators'; "" where nobody asks for profiles.
	token  string
	cmd    *exec.Cmd
	log    *tail
	exited chan struct{} // closed when it has ended
}

// startServer starts a queue-server with a configuration in a folder of its own. Of the
// environment, it gets no settings but these.
func startServer(ctx context.Context, program, name, dir string, config []byte, settings, flags []string) (*process, error) {
	var addrs [3]string
	for i := range addrs {
		var err error
		if addrs[i], err = baseline.FreeAddr(ctx); err != nil {
			return nil, err
		}
	}
	file := filepath.Join(dir, "zones.yaml")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, append([]string{
		"serve", "--addr=" + addrs[0], "--admin-addr=" + addrs[1], "--limits-addr=" + addrs[2], "--data-dir=" + dir,
		"--config=" + file, "--drain-delay=0s", "--log-level=warn",
	}, flags...)...)
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "QUEUE_") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	// Whoever wants to look at profiles gives a token.
	token := cmp.Or(os.Getenv("QUEUE_ADMIN_TOKEN"), rand.Text())
	cmd.Env = append(append(cmd.Env, settings...), "QUEUE_ADMIN_TOKEN="+token)
	p, err := start(ctx, name, addrs[0], cmd)
	if err != nil {
		return nil, err
	}
	p.admin, p.limits, p.token = addrs[1], addrs[2], token
	return p, nil
}

// start starts a program that listens on addr, and waits until it is ready. It
// ends with ctx, or with stop.
func start(ctx context.Context, name, addr string, cmd *exec.Cmd) (*process, error) {
	p := &process{name: name, addr: addr, cmd: cmd, log: &tail{}, exited: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p.log, p.log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTimeout
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	go func() {
		defer close(p.exited)
		// Its exit status says how it was ended, which is known.
		_ = cmd.Wait()
	}()
	if err := p.await(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%s did not start: %w\n%s", name, err, p.log), p.stop())
	}
	return p, nil
}

// await waits until the server says that it is ready.
func (p *process) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if _, err := get(ctx, "http://"+p.addr+"/readyz"); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.exited:
			return errors.New("it has ended")
		case <-tick.C:
		}
	}
}

// stop ends the process and waits for it.
func (p *process) stop() error {
	err := p.cmd.Process.Signal(syscall.SIGTERM)
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	select {
	case <-p.exited:
		return err
	case <-time.After(stopTimeout):
		return errors.Join(err, fmt.Errorf("%s had to be killed", p.name), p.cmd.Process.Kill())
	}
}

// cpu is the processor time that the process has used so far; 0 where the
// system does not say.
func (p *process) cpu() time.Duration {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/stat")
	if err != nil {
		return 0
	}
	// proc(5): the name, field 2, is in brackets and may hold anything; user
	// and system time are fields 14 and 15, in hundredths of a second.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const user, system, skipped = 14, 15, 3
	var ticks int64
	for _, i := range []int{user, system} {
		if len(fields) <= i-skipped {
			return 0
		}
		n, err := strconv.ParseInt(fields[i-skipped], 10, 64)
		if err != nil {
			return 0
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// ownCPU is the processor time that this process has used so far.
func ownCPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// metrics reads the server's metrics: the sum of each over its labels.
func (p *process) metrics(ctx context.Context) (map[string]float64, error) {
	text, err := p.ask(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	out := make(map[string]float64)
	for l := range strings.Lines(string(text)) {
		name, value, ok := strings.Cut(strings.TrimSpace(l), " ")
		if !ok || strings.HasPrefix(l, "#") {
			continue
		}
		name, _, _ = strings.Cut(name, "{")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			out[name] += v
		}
	}
	return out, nil
}

// heap is what the server's heap holds after a garbage collection, in bytes.
func (p *process) heap(ctx context.Context) (int64, error) {
	// The second collection frees what pools kept over the first.
	for range 2 {
		if _, err := p.ask(ctx, "/debug/pprof/heap?gc=1"); err != nil {
			return 0, err
		}
	}
	m, err := p.metrics(ctx)
	return int64(m["go_memstats_heap_alloc_bytes"]), err
}

// ask asks the operators' listener.
func (p *process) ask(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.admin+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
	return fetch(req)
}

// get fetches a page of a server of ours.
func get(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return fetch(req)
}

// fetch sends a request to a server of ours.
func fetch(req *http.Request) ([]byte, error) {
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }() // read to its end, or given up
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", req.URL, res.Status)
	}
	return body, err
}

// tail keeps the last of what a process says.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailBytes = 4 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	t.text = t.text[max(0, len(t.text)-tailBytes):]
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
