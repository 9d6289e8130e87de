package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/openqueue/waitingroom/internal/check/baseline"
	"github.com/openqueue/waitingroom/internal/token"
	"github.com/openqueue/waitingroom/internal/zone"
)

// The contenders.
const (
	bareEcho   = "bare echo"
	onEmbedded = "embedded"
	onRedis    = "Redis"
)

// contender is a server under load, and who waits there.
type contender struct {
	*process
	// conns is how many ask it at once.
	conns int
	crowd crowd
}

// servers are all that is started.
type servers struct {
	redis *baseline.Server
	// rooms are the contenders, the baseline first.
	rooms []*contender
	keys  *token.Keys
	dir   string
	log   tail // of redis-server
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
func startServers(ctx context.Context, o measureCommand, conns int) (s *servers, err error) {
	s = &servers{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	if s.dir, err = os.MkdirTemp("", "queue-bench"); err != nil {
		return s, err
	}
	if o.Server == "" {
		o.Server = filepath.Join(s.dir, "queue-server")
		if err = build(ctx, o.Server); err != nil {
			return s, err
		}
	}
	if s.redis, err = baseline.Start(ctx, o.Redis, &s.log); err != nil {
		return s, fmt.Errorf("%w\n%s", err, &s.log)
	}
	secret := make([]byte, token.MinSecretBytes)
	rand.Read(secret)
	if s.keys, err = token.NewKeys(secret); err != nil {
		return s, err
	}
	starts := []func() (*process, error){
		func() (*process, error) { return startBare(ctx) },
		func() (*process, error) { return s.startRoom(ctx, o.Server, onEmbedded, secret, "--store=embedded") },
		func() (*process, error) {
			return s.startRoom(ctx, o.Server, onRedis, secret, "--store=redis", "--redis-url="+s.redis.URL())
		},
	}
	for _, start := range starts {
		p, err := start()
		if err != nil {
			return s, err
		}
		s.rooms = append(s.rooms, &contender{process: p, conns: conns})
	}
	return s, nil
}

// build makes the queue-server of this checkout.
func build(ctx context.Context, to string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", to,
		"github.com/openqueue/waitingroom/cmd/queue-server")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build queue-server: %w\n%s", err, out)
	}
	return nil
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
	return start(ctx, bareEcho, addr, exec.CommandContext(ctx, self, "bare", addr))
}

// startRoom starts a queue-server. Its sweeper sleeps: sweeps are measured by
// themselves, and would fall on one slice and not on another.
func (s *servers) startRoom(ctx context.Context, program, name string, secret []byte, flags ...string) (*process, error) {
	dir := filepath.Join(s.dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	return startServer(ctx, program, name, dir, append(zonesFile(benchZone, warmZone), limitsFile()...), []string{
		"QUEUE_SECRET=" + base64.StdEncoding.EncodeToString(secret),
	}, append(flags, "--sweep-every=1h", "--door-limits=off"))
}

// zonesFile is a configuration with these zones.
func zonesFile(zoneIDs ...string) []byte {
	text := []byte("zones:\n")
	for _, id := range zoneIDs {
		z := zoneFor(id)
		text = fmt.Appendf(text, "  - {zoneId: %s, perMinute: %d, idleTimeoutSeconds: %d, passTtlSeconds: %d}\n",
			z.ZoneID, z.PerMinute, z.IdleTimeoutSeconds, z.PassTTLSeconds)
	}
	return text
}

// room returns the contender of that name.
func (s *servers) room(name string) *contender {
	for _, c := range s.rooms {
		if c.name == name {
			return c
		}
	}
	return nil
}

// stop ends all that were started, the last first.
func (s *servers) stop() error {
	var errs []error
	for _, c := range slices.Backward(s.rooms) {
		errs = append(errs, c.stop())
	}
	if s.redis != nil {
		errs = append(errs, s.redis.Stop())
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}
