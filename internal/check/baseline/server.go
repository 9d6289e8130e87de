package baseline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"github.com/redis/go-redis/v9"

	"github.com/openqueue/waitingroom/internal/check/process"
)

// askTimeout bounds an exchange: a script of the baseline may take long,
// and rewriting a file of a million visitors takes longer.
const askTimeout = 30 * time.Second

// Server is a redis-server that runs for measuring: on a free port of this
// machine, without persistence, in a folder of its own.
type Server struct {
	*process.Redis

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

// Stop ends the server, waits for it, and removes its folder.
func (s *Server) Stop() error {
	err := s.client.Close()
	_ = s.Redis.Stop() // one that had to be killed has lost nothing that anybody needs
	return errors.Join(err, os.RemoveAll(s.Dir))
}

// Version is the server's.
func (s *Server) Version(ctx context.Context) (string, error) {
	return s.info(ctx, "Server", "redis_version")
}

// CPU is the processor time that the server has used, in user and kernel mode.
func (s *Server) CPU(ctx context.Context) (time.Duration, error) {
	user, err := s.number(ctx, "CPU", "used_cpu_user")
	system, failed := s.number(ctx, "CPU", "used_cpu_sys")
	return time.Duration((user + system) * float64(time.Second)), errors.Join(err, failed)
}

// Waited is for how long the server was ready to run and no processor was free, since it began:
// on a machine with other work its calls take that much longer.
func (s *Server) Waited(context.Context) (time.Duration, error) {
	p, err := procfs.NewProc(s.Pid())
	if err != nil {
		return 0, fmt.Errorf("baseline: %w", err)
	}
	stat, err := p.Schedstat()
	return time.Duration(stat.WaitingNanoseconds), err
}

// UsedMemory is what the server has allocated, in bytes, once no table is
// being moved to a larger one: then it holds both.
func (s *Server) UsedMemory(ctx context.Context) (int64, error) {
	bytes, err := s.number(ctx, "Memory", "used_memory")
	return int64(bytes), err
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
	value := map[bool]string{true: "yes", false: "no"}[on]
	err := s.client.ConfigSet(ctx, "appendonly", value).Err()
	if err == nil && !process.Soon(ctx, askTimeout, process.LookEvery, func() bool {
		var info string
		info, err = s.client.Info(ctx, "persistence").Result()
		return err != nil || strings.Contains(info, "aof_rewrite_in_progress:0") && strings.Contains(info, "aof_rewrite_scheduled:0")
	}) {
		err = fmt.Errorf("not within %v", askTimeout)
	}
	if err != nil {
		return fmt.Errorf("baseline: appendonly %s: %w", value, err)
	}
	return nil
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
	var logged *redis.SlowLogCmd
	if _, err := s.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.ConfigSet(ctx, "slowlog-log-slower-than", "-1")
		logged = pipe.SlowLogGet(ctx, -1)
		pipe.SlowLogReset(ctx) // it takes memory
		return nil
	}); err != nil {
		return nil, fmt.Errorf("baseline: script calls: %w", err)
	}
	var calls []ScriptCall
	for _, l := range slices.Backward(logged.Val()) { // the newest comes first
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

// number is info of a field that is one.
func (s *Server) number(ctx context.Context, section, field string) (float64, error) {
	text, err := s.info(ctx, section, field)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("baseline: %s: %w", field, err)
	}
	return n, nil
}
