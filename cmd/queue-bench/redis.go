package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/openqueue/waitingroom/internal/check/process"
	"github.com/openqueue/waitingroom/lua"
)

// redisServer is a redis-server that runs for measuring: on a free port of this machine, without persistence, in a folder
// of its own. It is asked here, and not by package lua, for what no server of ours asks: processor time, memory, the slow
// log.
type redisServer struct {
	*process.Redis

	client *redis.Client
}

// startRedis starts the redis-server of the PATH. It ends with ctx, or with Stop.
func startRedis(ctx context.Context) (*redisServer, error) {
	dir, err := os.MkdirTemp("", "queue-bench")
	if err != nil {
		return nil, err
	}
	r, err := process.NewRedis(ctx, "redis-server", dir)
	if err == nil {
		err = r.Start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &redisServer{r, redis.NewClient(&redis.Options{Addr: r.Addr()})}, nil
}

// Stop ends the server, waits for it, and removes its folder.
func (s *redisServer) Stop() error {
	err := s.client.Close()
	_ = s.Redis.Stop() // one that had to be killed has lost nothing that anybody needs
	return errors.Join(err, os.RemoveAll(s.Dir))
}

// cpu is the processor time that the server has used, in user and kernel mode.
func (s *redisServer) cpu(ctx context.Context) (time.Duration, error) {
	user, err := s.number(ctx, "CPU", "used_cpu_user")
	system, failed := s.number(ctx, "CPU", "used_cpu_sys")
	return time.Duration((user + system) * float64(time.Second)), errors.Join(err, failed)
}

// memory is what the server has allocated, in bytes.
func (s *redisServer) memory(ctx context.Context) (int64, error) {
	bytes, err := s.number(ctx, "Memory", "used_memory")
	return int64(bytes), err
}

// number is a field of a section of INFO.
func (s *redisServer) number(ctx context.Context, section, field string) (float64, error) {
	info := s.client.InfoMap(ctx, section)
	if err := info.Err(); err != nil {
		return 0, fmt.Errorf("redis-server: info: %w", err)
	}
	return strconv.ParseFloat(info.Item(section, field), 64)
}

// longCall is from when on a script call is looked at.
const longCall = 200 * time.Microsecond

// longestCalls does something, and returns how long the longest call of each of our scripts held the server meanwhile.
// Shorter ones than longCall are not noted.
func (s *redisServer) longestCalls(ctx context.Context, do func() error) (map[string]time.Duration, error) {
	set := func(least time.Duration) error {
		_, err := s.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.ConfigSet(ctx, "slowlog-max-len", "100000")
			pipe.ConfigSet(ctx, "slowlog-log-slower-than", strconv.FormatInt(least.Microseconds(), 10))
			pipe.SlowLogReset(ctx) // it takes memory
			return nil
		})
		return err
	}
	if err := errors.Join(set(longCall), do()); err != nil {
		return nil, err
	}
	calls, err := s.client.SlowLogGet(ctx, -1).Result()
	longest := make(map[string]time.Duration)
	for _, c := range calls {
		if len(c.Args) > 1 && strings.HasPrefix(strings.ToLower(c.Args[0]), "eval") {
			if name := lua.ScriptNamed(c.Args[1]); name != "" {
				longest[name] = max(longest[name], c.Duration)
			}
		}
	}
	return longest, errors.Join(err, set(-time.Microsecond))
}
