package baseline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// startTimeout is above what a redis-server needs on a busy machine.
	startTimeout = 15 * time.Second
	// stopTimeout is how long it may take to end before it is killed.
	stopTimeout = 10 * time.Second
	// askTimeout bounds an exchange: a script of the baseline may take long,
	// and rewriting a file of a million visitors takes longer.
	askTimeout = 30 * time.Second
	// lookEvery is the pause between two looks at something awaited.
	lookEvery = 20 * time.Millisecond
)

// Server is a redis-server that runs for measuring: on a free port of this
// machine, without persistence, in a folder of its own.
type Server struct {
	addr   string
	dir    string
	cmd    *exec.Cmd
	client *redis.Client
	// exited is closed when the process has ended.
	exited chan struct{}
}

// errExited: the server has ended by itself.
var errExited = errors.New("baseline: redis-server has ended; its log says why")

// Start starts the program, which must be a redis-server of 7.0 or later. What
// it logs goes to log. The server ends with ctx, or with Stop.
func Start(ctx context.Context, program string, log io.Writer) (*Server, error) {
	addr, err := FreeAddr(ctx)
	if err != nil {
		return nil, fmt.Errorf("baseline: %w", err)
	}
	dir, err := os.MkdirTemp("", "baseline")
	if err != nil {
		return nil, fmt.Errorf("baseline: %w", err)
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("baseline: %w", err)
	}
	cmd := exec.CommandContext(ctx, program,
		"--bind", "127.0.0.1", "--port", port, "--dir", dir, "--save", "", "--appendonly", "no")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTimeout
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("baseline: %w", err), os.RemoveAll(dir))
	}
	s := &Server{
		addr: addr, dir: dir, cmd: cmd,
		client: redis.NewClient(&redis.Options{Addr: addr, ReadTimeout: askTimeout, PoolSize: 4}),
		exited: make(chan struct{}),
	}
	go func() {
		defer close(s.exited)
		// Its exit status says how it was ended, which is known.
		_ = cmd.Wait()
	}()
	if err := s.await(ctx, startTimeout, func(ctx context.Context) (bool, error) {
		return s.client.Ping(ctx).Err() == nil, nil
	}); err != nil {
		return nil, errors.Join(fmt.Errorf("baseline: %s did not start: %w", program, err), s.Stop())
	}
	return s, nil
}

// FreeAddr returns an address of this machine, host:port, that nobody listens on.
func FreeAddr(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// Stop ends the server, waits for it, and removes its folder.
func (s *Server) Stop() error {
	errs := []error{s.client.Close()}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		errs = append(errs, err)
	}
	<-s.exited
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}

// URL is where the server is, as lua.Options.URL takes it.
func (s *Server) URL() string { return "redis://" + s.addr }

// Version is the server's.
func (s *Server) Version(ctx context.Context) (string, error) {
	return s.info(ctx, "server", "redis_version")
}

// CPU is the processor time that the server has used, in user and kernel mode.
func (s *Server) CPU(ctx context.Context) (time.Duration, error) {
	var sum float64
	for _, field := range []string{"used_cpu_user", "used_cpu_sys"} {
		text, err := s.info(ctx, "cpu", field)
		if err != nil {
			return 0, err
		}
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return 0, fmt.Errorf("baseline: %s: %w", field, err)
		}
		sum += seconds
	}
	return time.Duration(sum * float64(time.Second)), nil
}

// UsedMemory is what the server has allocated, in bytes, once no table is
// being moved to a larger one: then it holds both.
func (s *Server) UsedMemory(ctx context.Context) (int64, error) {
	text, err := s.info(ctx, "memory", "used_memory")
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// SetAppendOnly has the server write a log of all changes to disk, synced every
// second, or stops it. It returns when the log holds all data.
func (s *Server) SetAppendOnly(ctx context.Context, on bool) error {
	value := "no"
	if on {
		value = "yes"
	}
	if err := s.client.ConfigSet(ctx, "appendonly", value).Err(); err != nil {
		return fmt.Errorf("baseline: appendonly %s: %w", value, err)
	}
	return s.await(ctx, askTimeout, func(ctx context.Context) (bool, error) {
		for _, field := range []string{"aof_rewrite_in_progress", "aof_rewrite_scheduled"} {
			if text, err := s.info(ctx, "persistence", field); err != nil || text != "0" {
				return false, err
			}
		}
		return true, nil
	})
}

// WatchCalls begins to note how long commands take: those from then on that
// take at least the given time, the latest 100,000 of them.
func (s *Server) WatchCalls(ctx context.Context, least time.Duration) error {
	_, err := s.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.ConfigSet(ctx, "slowlog-max-len", "100000")
		pipe.ConfigSet(ctx, "slowlog-log-slower-than", strconv.FormatInt(least.Microseconds(), 10))
		pipe.SlowLogReset(ctx)
		return nil
	})
	if err != nil {
		return fmt.Errorf("baseline: watch calls: %w", err)
	}
	return nil
}

// ScriptCalls returns how long each script call has held the server since
// WatchCalls, in order, and ends the watch.
func (s *Server) ScriptCalls(ctx context.Context) ([]time.Duration, error) {
	if err := s.client.ConfigSet(ctx, "slowlog-log-slower-than", "-1").Err(); err != nil {
		return nil, fmt.Errorf("baseline: script calls: %w", err)
	}
	logged, err := s.client.SlowLogGet(ctx, -1).Result()
	if err != nil {
		return nil, fmt.Errorf("baseline: script calls: %w", err)
	}
	var calls []time.Duration
	for _, l := range slices.Backward(logged) { // the newest comes first
		if len(l.Args) > 0 && strings.HasPrefix(strings.ToLower(l.Args[0]), "eval") {
			calls = append(calls, l.Duration)
		}
	}
	return calls, nil
}

// info returns one field of INFO.
func (s *Server) info(ctx context.Context, section, field string) (string, error) {
	text, err := s.client.Info(ctx, section).Result()
	if err != nil {
		return "", fmt.Errorf("baseline: info: %w", err)
	}
	for l := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(l, field+":"); ok {
			return strings.TrimSpace(value), nil
		}
	}
	return "", fmt.Errorf("baseline: info %s has no %s", section, field)
}

// await looks until done, an error, or the end of ctx or the time.
func (s *Server) await(ctx context.Context, most time.Duration, done func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if ok, err := done(ctx); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.exited:
			return errExited
		case <-tick.C:
		}
	}
}
