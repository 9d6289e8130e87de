package baseline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
	"github.com/redis/go-redis/v9"

	"github.com/openqueue/waitingroom/internal/check/process"
)

const (
	// askTimeout bounds an exchange: a script of the baseline may take long,
	// and rewriting a file of a million visitors takes longer.
	askTimeout = 30 * time.Second
	// stopTimeout is how long the server may take to end before it is killed.
	stopTimeout = 10 * time.Second
)

// Server is a redis-server that runs for measuring: on a free port of this
// machine, without persistence, in a folder of its own.
type Server struct {
	redis  *process.Redis
	client *redis.Client
}

// Start starts the program, which must be a redis-server of 7.0 or later. If it does not
// start, the error has what it said. The server ends with ctx, or with Stop.
func Start(ctx context.Context, program string) (*Server, error) {
	dir, err := os.MkdirTemp("", "baseline")
	if err != nil {
		return nil, fmt.Errorf("baseline: %w", err)
	}
	r, err := process.NewRedis(ctx, program, dir)
	if err == nil {
		err = r.Start(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("baseline: %w", err), os.RemoveAll(dir))
	}
	return &Server{r, redis.NewClient(&redis.Options{Addr: r.Addr(), ReadTimeout: askTimeout, PoolSize: 4})}, nil
}

// FreeAddr returns an address of this machine, host:port, that nobody listens on.
func FreeAddr(ctx context.Context) (string, error) {
	port, err := process.FreePort(ctx)
	return process.Local(port), err
}

// Stop ends the server, waits for it, and removes its folder.
func (s *Server) Stop() error {
	err := s.client.Close()
	s.redis.Signal(syscall.SIGTERM)
	if _, ended := s.redis.Wait(stopTimeout); !ended {
		s.redis.Kill()
	}
	return errors.Join(err, os.RemoveAll(s.redis.Dir))
}

// URL is where the server is, as lua.Options.URL takes it.
func (s *Server) URL() string { return s.redis.URL() }

// Version is the server's.
func (s *Server) Version(ctx context.Context) (string, error) {
	return s.info(ctx, "Server", "redis_version")
}

// CPU is the processor time that the server has used, in user and kernel mode.
func (s *Server) CPU(ctx context.Context) (time.Duration, error) {
	var sum float64
	for _, field := range []string{"used_cpu_user", "used_cpu_sys"} {
		text, err := s.info(ctx, "CPU", field)
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

// Waited is for how long the server was ready to run and no processor was free, since it began:
// on a machine with other work its calls take that much longer.
func (s *Server) Waited(ctx context.Context) (time.Duration, error) {
	text, err := s.info(ctx, "Server", "process_id")
	if err != nil {
		return 0, err
	}
	id, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("baseline: process_id: %w", err)
	}
	p, err := procfs.NewProc(id)
	if err != nil {
		return 0, fmt.Errorf("baseline: %w", err)
	}
	stat, err := p.Schedstat()
	return time.Duration(stat.WaitingNanoseconds), err
}

// UsedMemory is what the server has allocated, in bytes, once no table is
// being moved to a larger one: then it holds both.
func (s *Server) UsedMemory(ctx context.Context) (int64, error) {
	text, err := s.info(ctx, "Memory", "used_memory")
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// Remove removes the keys that match a pattern of SCAN, and returns when their memory is free.
func (s *Server) Remove(ctx context.Context, pattern string) error {
	const batch = 1_000
	var keys []string
	found := s.client.Scan(ctx, 0, pattern, batch).Iterator()
	for found.Next(ctx) {
		keys = append(keys, found.Val())
	}
	err := found.Err()
	for some := range slices.Chunk(keys, batch) {
		err = errors.Join(err, s.client.Del(ctx, some...).Err())
	}
	return err
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
	var err error
	if !process.Soon(ctx, askTimeout, process.LookEvery, func() (done bool) {
		done, err = s.logged(ctx)
		return done || err != nil
	}) {
		return fmt.Errorf("baseline: appendonly %s: not within %v", value, askTimeout)
	}
	return err
}

// logged reports whether no log is being written anew.
func (s *Server) logged(ctx context.Context) (bool, error) {
	for _, field := range []string{"aof_rewrite_in_progress", "aof_rewrite_scheduled"} {
		if text, err := s.info(ctx, "Persistence", field); err != nil || text != "0" {
			return false, err
		}
	}
	return true, nil
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

// ScriptCall is one that was noted: the script's hash, and how long it held the server.
type ScriptCall struct {
	SHA  string
	Took time.Duration
}

// ScriptCalls returns the script calls since WatchCalls, in order, and ends the watch.
func (s *Server) ScriptCalls(ctx context.Context) ([]ScriptCall, error) {
	if err := s.client.ConfigSet(ctx, "slowlog-log-slower-than", "-1").Err(); err != nil {
		return nil, fmt.Errorf("baseline: script calls: %w", err)
	}
	logged, err := s.client.SlowLogGet(ctx, -1).Result()
	if err != nil {
		return nil, fmt.Errorf("baseline: script calls: %w", err)
	}
	if err := s.client.SlowLogReset(ctx).Err(); err != nil { // it takes memory
		return nil, fmt.Errorf("baseline: script calls: %w", err)
	}
	var calls []ScriptCall
	for _, l := range slices.Backward(logged) { // the newest comes first
		if len(l.Args) > 1 && strings.HasPrefix(strings.ToLower(l.Args[0]), "eval") {
			calls = append(calls, ScriptCall{l.Args[1], l.Duration})
		}
	}
	return calls, nil
}

// info returns one field of a section of INFO; "" where there is none.
func (s *Server) info(ctx context.Context, section, field string) (string, error) {
	info := s.client.InfoMap(ctx, section)
	if err := info.Err(); err != nil {
		return "", fmt.Errorf("baseline: info: %w", err)
	}
	return info.Item(section, field), nil
}
