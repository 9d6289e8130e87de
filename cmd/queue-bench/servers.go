package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openqueue/waitingroom/internal/check/baseline"
	started "github.com/openqueue/waitingroom/internal/check/process"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/zone"
)

// The contenders.
const (
	bareEcho   = "bare echo"
	constant   = "nginx"
	onEmbedded = "embedded"
	onRedis    = "Redis"
)

// contender is a server under load, and who waits there.
type contender struct {
	*process

	name  string
	crowd crowd
}

// lineless: it answers everybody the same, and nobody waits there.
func (c *contender) lineless() bool { return c.name == bareEcho || c.name == constant }

// servers are all that is started.
type servers struct {
	redis *baseline.Server
	// contenders begin with the baseline.
	contenders []*contender
	keys       *token.Keys
	dir        string
}

// zoneFor is a zone whose line stays as it is while it is measured: one is let
// in every 10 s, and nobody is idle for an hour.
func zoneFor(zoneID string) zone.Settings {
	z := zone.Defaults(zoneID)
	z.PerMinute = 6
	z.IdleTimeoutSeconds = zone.MaxIdleTimeoutSeconds
	z.PassTTLSeconds = zone.MaxPassTTLSeconds
	return z
}

// startServers starts all of them.
func startServers(ctx context.Context, o measureOptions) (s *servers, err error) {
	s = &servers{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	if s.dir, err = os.MkdirTemp("", "queue-bench"); err != nil {
		return s, err
	}
	if o.server == "" {
		o.server = filepath.Join(s.dir, "queue-server")
		if err = build(ctx, o.server); err != nil {
			return s, err
		}
	}
	if s.redis, err = baseline.Start(ctx, "redis-server"); err != nil {
		return s, err
	}
	secret := make([]byte, token.MinSecretBytes)
	rand.Read(secret)
	if s.keys, err = token.NewKeys(secret); err != nil {
		return s, err
	}
	for _, name := range []string{bareEcho, constant, onEmbedded, onRedis} {
		c := &contender{name: name}
		switch name {
		case bareEcho:
			c.process, err = startBare(ctx)
		case constant:
			c.process, err = startConstant(ctx, s.dir)
		default:
			c.process, err = s.startOn(ctx, o.server, strings.ToLower(name), secret)
		}
		if err != nil {
			return s, err
		}
		if c.lineless() { // its crowd is a token that it answers like any other
			c.crowd.tokens = []byte(bareToken)
		}
		s.contenders = append(s.contenders, c)
	}
	return s, nil
}

// startOn starts the queue-server on a store.
func (s *servers) startOn(ctx context.Context, program, store string, secret []byte) (*process, error) {
	config := []byte("zones:\n")
	for _, id := range []string{benchZone, warmZone} {
		z := zoneFor(id)
		config = fmt.Appendf(config, "  - {zoneId: %s, perMinute: %d, idleTimeoutSeconds: %d, passTtlSeconds: %d}\n",
			z.ZoneID, z.PerMinute, z.IdleTimeoutSeconds, z.PassTTLSeconds)
	}
	dir := filepath.Join(s.dir, store)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	// Its sweeper sleeps: sweeps are measured by themselves, and would fall on one slice
	// and not on another.
	return startServer(ctx, program, dir, append(config, limitsFile()...), "QUEUE_SECRET="+base64.StdEncoding.EncodeToString(secret),
		"QUEUE_STORE="+store, "QUEUE_REDIS_URL="+s.redis.URL(), "QUEUE_SWEEP_EVERY=1h", "QUEUE_DOOR_LIMITS=off")
}

// startBare starts this program as the baseline.
func startBare(ctx context.Context) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	addr, err := started.FreeAddr(ctx)
	if err != nil {
		return nil, err
	}
	p := &process{addr: addr}
	return p, p.start(ctx, os.Environ(), self, "bare", addr)
}

// startConstant starts an nginx of one process that answers everybody what bare echo does, as the other
// baseline: the most that a server of one core can answer.
func startConstant(ctx context.Context, dir string) (*process, error) {
	text, err := json.Marshal(bareAnswerTo(benchZone, bareToken))
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "constant.conf")
	const site = "server { listen 80; default_type application/json; keepalive_requests 1000000000; location / { return 200 '%s'; } }"
	if err := os.WriteFile(file, fmt.Appendf(nil, site, text), 0o600); err != nil {
		return nil, err
	}
	nginx, err := started.NewNginx(ctx, dir, file, nil, "")
	if err != nil {
		return nil, err
	}
	nginx.Log = os.Stderr
	return &process{Process: nginx.Process, addr: nginx.Addr}, nginx.Start(ctx)
}

// named returns the contender of that name, and those the contenders of some.
func (s *servers) named(name string) *contender {
	return s.contenders[slices.IndexFunc(s.contenders, func(c *contender) bool { return c.name == name })]
}

func (s *servers) those(names ...string) (all []*contender) {
	for _, name := range names {
		all = append(all, s.named(name))
	}
	return all
}

// stop ends all that were started, the last first.
func (s *servers) stop() error {
	var errs []error
	for _, c := range slices.Backward(s.contenders) {
		errs = append(errs, c.Stop())
	}
	if s.redis != nil {
		errs = append(errs, s.redis.Stop())
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}
