package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"

	"github.com/openqueue/waitingroom/internal/check/baseline"
	started "github.com/openqueue/waitingroom/internal/check/process"
)

// stopTimeout is how long it may take to end before it is killed.
const stopTimeout = 10 * time.Second

// process is a server that is measured: a child of this process.
type process struct {
	name string
	// addr is the public listener, admin the operators', limits the limits', site the
	// gate's; "" for none.
	addr, admin, limits, site string
	// token is the operators'.
	token string
	child *started.Process
}

// build makes the queue-server of this checkout.
func build(ctx context.Context, to string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", to, "github.com/openqueue/waitingroom/cmd/queue-server")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build queue-server: %w\n%s", err, out)
	}
	return nil
}

// startServer starts a queue-server with a configuration in a folder of its own. Of the
// environment, it gets no settings but these.
func startServer(ctx context.Context, program, name, dir string, config []byte, settings, flags []string) (*process, error) {
	// Whoever wants to look at profiles gives a token.
	p := &process{name: name, token: cmp.Or(os.Getenv("QUEUE_ADMIN_TOKEN"), rand.Text())}
	for _, addr := range []*string{&p.addr, &p.admin, &p.limits, &p.site} {
		var err error
		if *addr, err = baseline.FreeAddr(ctx); err != nil {
			return nil, err
		}
	}
	file := filepath.Join(dir, "zones.yaml")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		return nil, err
	}
	env := append([]string{"QUEUE_ADMIN_TOKEN=" + p.token}, settings...)
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "QUEUE_") {
			env = append(env, e)
		}
	}
	return p, p.start(ctx, env, program, append([]string{
		"serve", "--addr=" + p.addr, "--admin-addr=" + p.admin, "--limits-addr=" + p.limits, "--site-addr=" + p.site, "--data-dir=" + dir,
		"--config=" + file, "--drain-delay=0s", "--log-level=error",
	}, flags...)...)
}

// start starts the program, which listens on addr, and waits until it is ready. It
// ends with ctx, or with stop; what it says goes to where this program's errors go.
func (p *process) start(ctx context.Context, env []string, program string, args ...string) error {
	p.child = &started.Process{Name: program, Args: args, Env: env, Log: os.Stderr}
	return p.child.StartUntil(ctx, func() bool {
		_, err := get(ctx, p.addr, "/readyz", "")
		return err == nil
	})
}

// stop ends the process and waits for it.
func (p *process) stop() error {
	p.child.Signal(syscall.SIGTERM)
	if _, ended := p.child.Wait(stopTimeout); !ended {
		p.child.Kill()
		return fmt.Errorf("%s had to be killed", p.name)
	}
	return nil
}

// used is the processor time that the process has used so far, and the most memory that it
// has held; 0 where the system does not say.
func (p *process) used() (cpu time.Duration, peakBytes int64) {
	proc, err := procfs.NewProc(p.child.Pid())
	if err != nil {
		return 0, 0
	}
	if stat, err := proc.Stat(); err == nil {
		cpu = time.Duration(stat.CPUTime() * float64(time.Second))
	}
	if status, err := proc.NewStatus(); err == nil {
		peakBytes = int64(status.VmHWM)
	}
	return cpu, peakBytes
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
	text, err := get(ctx, p.admin, "/metrics", p.token)
	out := make(map[string]float64)
	for l := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(l), " ")
		name, _, _ = strings.Cut(name, "{")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			out[name] += v
		}
	}
	return out, err
}

// heap is what the server's heap holds after a garbage collection, in bytes.
func (p *process) heap(ctx context.Context) (int64, error) {
	// The second collection frees what pools kept over the first.
	for range 2 {
		if _, err := get(ctx, p.admin, "/debug/pprof/heap?gc=1", p.token); err != nil {
			return 0, err
		}
	}
	m, err := p.metrics(ctx)
	return int64(m["go_memstats_heap_alloc_bytes"]), err
}

// get asks a listener of a server of ours.
func get(ctx context.Context, addr, path, token string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
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

// rises returns by how much what read reads has risen when something was done.
func rises[T ~int64](ctx context.Context, read func(context.Context) (T, error), do func() error) (T, error) {
	before, err := read(ctx)
	if err == nil {
		err = do()
	}
	if err != nil {
		return 0, err
	}
	after, err := read(ctx)
	return after - before, err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
