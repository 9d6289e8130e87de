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
	if s.redis, err = baseline.Start(ctx, o.redis); err != nil {
		return s, err
	}
	for _, start := range []func(context.Context) (*process, error){
		startBare, func(ctx context.Context) (*process, error) { return startConstant(ctx, o.nginx, s.dir) },
	} {
		p, err := start(ctx)
		if err != nil {
			return s, err
		}
		// It has no line: its crowd is a token that it answers like any other.
		s.contenders = append(s.contenders, &contender{process: p, crowd: crowd{[]byte(bareToken)}})
	}
	secret := make([]byte, token.MinSecretBytes)
	rand.Read(secret)
	if s.keys, err = token.NewKeys(secret); err != nil {
		return s, err
	}
	config := []byte("zones:\n")
	for _, id := range []string{benchZone, warmZone} {
		z := zoneFor(id)
		config = fmt.Appendf(config, "  - {zoneId: %s, perMinute: %d, idleTimeoutSeconds: %d, passTtlSeconds: %d}\n",
			z.ZoneID, z.PerMinute, z.IdleTimeoutSeconds, z.PassTTLSeconds)
	}
	config = append(config, limitsFile()...)
	for _, name := range []string{onEmbedded, onRedis} {
		store := strings.ToLower(name)
		dir := filepath.Join(s.dir, store)
		if err := os.Mkdir(dir, 0o700); err != nil {
			return s, err
		}
		// Its sweeper sleeps: sweeps are measured by themselves, and would fall on one slice
		// and not on another.
		p, err := startServer(ctx, o.server, name, dir, config,
			[]string{"QUEUE_SECRET=" + base64.StdEncoding.EncodeToString(secret)},
			[]string{"--store=" + store, "--redis-url=" + s.redis.URL(), "--sweep-every=1h", "--door-limits=off"})
		if err != nil {
			return s, err
		}
		s.contenders = append(s.contenders, &contender{process: p})
	}
	return s, nil
}

// startBare starts this program as the baseline.
func startBare(ctx context.Context) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	addr, err := baseline.FreeAddr(ctx)
	if err != nil {
		return nil, err
	}
	p := &process{name: bareEcho, addr: addr}
	return p, p.start(ctx, os.Environ(), self, "bare", addr)
}

// constantConf is of an nginx of one process that answers everybody what bare echo does.
const constantConf = `daemon off;
master_process off;
pid %[1]s/nginx.pid;
error_log stderr crit;
worker_rlimit_nofile 20000;
events { worker_connections 16384; }
http {
    access_log off;
    default_type application/json;
    keepalive_requests 1000000000;
    client_body_temp_path %[1]s/body;
    proxy_temp_path %[1]s/proxy;
    fastcgi_temp_path %[1]s/fastcgi;
    uwsgi_temp_path %[1]s/uwsgi;
    scgi_temp_path %[1]s/scgi;
    server { listen %[2]s; location / { return 200 '%[3]s'; } }
}
`

// startConstant starts an nginx as the other baseline: the most that a server of one core
// can answer.
func startConstant(ctx context.Context, program, dir string) (*process, error) {
	addr, err := baseline.FreeAddr(ctx)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(bareAnswerTo(benchZone, bareToken))
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, fmt.Appendf(nil, constantConf, dir, addr, text), 0o600); err != nil {
		return nil, err
	}
	p := &process{name: constant, addr: addr}
	return p, p.start(ctx, os.Environ(), program, "-e", "stderr", "-c", file)
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
		errs = append(errs, c.stop())
	}
	if s.redis != nil {
		errs = append(errs, s.redis.Stop())
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}
