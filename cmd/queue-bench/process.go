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
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"

	started "github.com/openqueue/waitingroom/internal/check/process"
)

// process is a server that is measured: a child of this process.
type process struct {
	*started.Process
	// addr is the public listener, admin the operators', limits the limits', site the
	// gate's; "" for none.
	addr, admin, limits, site string
	// token is the operators'.
	token string
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

// startServer starts a queue-server with a configuration in a folder of its own, and with settings, each
// QUEUE_NAME=value. Of the environment, it gets no settings.
func startServer(ctx context.Context, program, dir string, config []byte, settings ...string) (*process, error) {
	// Whoever wants to look at profiles gives a token.
	p := &process{token: cmp.Or(os.Getenv("QUEUE_ADMIN_TOKEN"), rand.Text())}
	file := filepath.Join(dir, "zones.yaml")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		return nil, err
	}
	env := slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "QUEUE_") })
	env = append(env, "QUEUE_ADMIN_TOKEN="+p.token, "QUEUE_CONFIG="+file, "QUEUE_DATA_DIR="+dir, "QUEUE_DRAIN_DELAY=0s", "QUEUE_LOG_LEVEL=error")
	for name, addr := range map[string]*string{
		"QUEUE_ADDR": &p.addr, "QUEUE_ADMIN_ADDR": &p.admin, "QUEUE_LIMITS_ADDR": &p.limits, "QUEUE_SITE_ADDR": &p.site,
	} {
		var err error
		if *addr, err = started.FreeAddr(ctx); err != nil {
			return nil, err
		}
		env = append(env, name+"="+*addr)
	}
	return p, p.start(ctx, append(env, settings...), program, "serve")
}

// start starts the program, which listens on addr, and waits until it is ready. It
// ends with ctx, or with Stop; what it says goes to where this program's errors go.
func (p *process) start(ctx context.Context, env []string, program string, args ...string) error {
	p.Process = &started.Process{Name: program, Args: args, Env: env, Log: os.Stderr}
	return p.StartUntil(ctx, func() bool {
		_, err := get(ctx, p.addr, "/readyz", "")
		return err == nil
	})
}

// used is the processor time that the process has used so far, and the most memory that it
// has held; 0 where the system does not say.
func (p *process) used() (cpu time.Duration, peakBytes int64) {
	proc, err := procfs.NewProc(p.Pid())
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
