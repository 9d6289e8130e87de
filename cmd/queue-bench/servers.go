package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"

	"github.com/openqueue/waitingroom/internal/check/process"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/lua"
)

// The contenders.
const (
	bareEcho   = "bare echo"
	onEmbedded = "embedded"
	onRedis    = "Redis"
)

// contender is a server under load, a child of this process, and who waits there.
type contender struct {
	process.Process

	name, addr string
	crowd      crowd
}

// lineless: it answers everybody the same, and nobody waits there.
func (c *contender) lineless() bool { return c.name == bareEcho }

// servers are all that is started.
type servers struct {
	redis *redisServer
	// store asks Redis by itself, without a server.
	store *lua.Store
	// contenders begin with the baseline.
	contenders []*contender
	keys       *token.Keys
	dir        string
}

// startServers starts all of them; program is the queue-server.
func startServers(ctx context.Context, program string) (s *servers, err error) {
	s = &servers{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	if s.dir, err = os.MkdirTemp("", "queue-bench"); err != nil {
		return s, err
	}
	if s.redis, err = startRedis(ctx); err != nil {
		return s, err
	}
	if s.store, err = lua.Open(ctx, lua.Options{URL: s.redis.URL()}); err != nil {
		return s, err
	}
	secret := make([]byte, token.MinSecretBytes)
	rand.Read(secret)
	if s.keys, err = token.NewKeys(secret); err != nil {
		return s, err
	}
	for _, name := range []string{bareEcho, onEmbedded, onRedis} {
		c, err := s.prepare(ctx, program, name, secret)
		if err != nil {
			return s, err
		}
		if err := c.StartUntil(ctx, func() bool { return ready(ctx, c.addr) }); err != nil {
			return s, err
		}
		s.contenders = append(s.contenders, c)
	}
	return s, nil
}

// prepare makes a contender: this program, or a queue-server with a zone whose line stays as it is while it is measured:
// one is admitted every 10 s, and nobody is idle for an hour. Of the environment it gets no settings but the operators'
// token, for whoever wants to look at profiles. Its sweeper sleeps: a sweep would fall on one slice and not on another.
func (s *servers) prepare(ctx context.Context, program, name string, secret []byte) (c *contender, err error) {
	c = &contender{Process: process.Process{Name: program, Args: []string{"serve"}, Log: os.Stderr}, name: name}
	if c.addr, err = process.FreeAddr(ctx); err != nil {
		return nil, err
	}
	if c.lineless() {
		c.crowd.tokens = []byte(bareToken) // which it answers like any other
		c.Args = []string{"bare", c.addr}
		c.Name, err = os.Executable()
		return c, err
	}
	dir := filepath.Join(s.dir, name)
	file := filepath.Join(dir, "zones.yaml")
	config := fmt.Appendf(nil, "zones:\n  - {zoneId: %s, perMinute: 6, idleTimeoutSeconds: %d, passTtlSeconds: %d}\n",
		benchZone, zone.MaxIdleTimeoutSeconds, zone.MaxPassTTLSeconds)
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(file, config, 0o600)); err != nil {
		return nil, err
	}
	admin, err := process.FreeAddr(ctx)
	isSetting := func(e string) bool { return strings.HasPrefix(e, "QUEUE_") }
	c.Env = append(slices.DeleteFunc(os.Environ(), isSetting), "QUEUE_ADMIN_TOKEN="+cmp.Or(os.Getenv("QUEUE_ADMIN_TOKEN"), rand.Text()),
		"QUEUE_ADDR="+c.addr, "QUEUE_ADMIN_ADDR="+admin, "QUEUE_CONFIG="+file, "QUEUE_DATA_DIR="+dir,
		"QUEUE_STORE="+strings.ToLower(name), "QUEUE_REDIS_URL="+s.redis.URL(), "QUEUE_SECRET="+base64.StdEncoding.EncodeToString(secret),
		"QUEUE_SWEEP_EVERY=1h", "QUEUE_DOOR_LIMITS=off", "QUEUE_DRAIN_DELAY=0s", "QUEUE_LOG_LEVEL=error")
	return c, err
}

// ready reports whether a server says that it is.
func ready(ctx context.Context, addr string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/readyz", http.NoBody)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	return err == nil && res.Body.Close() == nil && res.StatusCode == http.StatusOK
}

// stop ends all that were started, the last first.
func (s *servers) stop() error {
	var errs []error
	for _, c := range slices.Backward(s.contenders) {
		errs = append(errs, c.Stop())
	}
	if s.store != nil {
		errs = append(errs, s.store.Close())
	}
	if s.redis != nil {
		errs = append(errs, s.redis.Stop())
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}

// cpu is the processor time that the process has used so far, 0 where the system does not say.
func (c *contender) cpu() time.Duration {
	proc, err := procfs.NewProc(c.Pid())
	if err != nil {
		return 0
	}
	stat, err := proc.Stat()
	if err != nil {
		return 0
	}
	return time.Duration(stat.CPUTime() * float64(time.Second))
}

// ownCPU is the processor time that this process has used so far.
func ownCPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
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
