package limit_test

import (
	"context"
	"net"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/limit"
)

// redis is a server on a port of its own, which can be killed and started again.
type redis struct {
	addr string
	dir  string
	cmd  *exec.Cmd
}

func startRedis(tb testing.TB) *redis {
	tb.Helper()
	l, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	must(tb, err)
	r := &redis{addr: l.Addr().String(), dir: tb.TempDir()}
	must(tb, l.Close())
	tb.Cleanup(r.kill)
	r.start(tb)
	return r
}

func (r *redis) start(tb testing.TB) {
	tb.Helper()
	_, port, err := net.SplitHostPort(r.addr)
	must(tb, err)
	r.cmd = exec.CommandContext(context.Background(), "redis-server",
		"--bind", "127.0.0.1", "--port", port, "--dir", r.dir, "--save", "", "--appendonly", "no")
	must(tb, r.cmd.Start())
	await(tb, "redis listens", func() bool {
		c, err := new(net.Dialer).DialContext(tb.Context(), "tcp", r.addr)
		if err == nil {
			err = c.Close()
		}
		return err == nil
	})
}

// kill ends it at once, and waits until it is gone.
func (r *redis) kill() {
	if r.cmd == nil {
		return
	}
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
	r.cmd = nil
}

// await looks every 10 ms, for 20 s.
func await(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for deadline := time.Now().Add(20 * time.Second); !holds(); <-look.C {
		if time.Now().After(deadline) {
			tb.Fatalf("in vain: %s", what)
		}
	}
}

// TestServersCountTogether: of two servers' clients at once, as many pass as one
// limit allows.
func TestServersCountTogether(t *testing.T) {
	t.Parallel()
	r := startRedis(t)
	policies := []limit.Policy{{
		Name: "api", Rules: []limit.Rule{{Algorithm: limit.SlidingLog, Limit: 100, Window: time.Minute}},
	}}
	var mu sync.Mutex
	var clients sync.WaitGroup
	allowed, refused := 0, 0
	for range 2 {
		l := open(t, limit.Options{RedisURL: "redis://" + r.addr, Policies: policies, Secret: []byte("s")})
		for range 32 {
			clients.Go(func() {
				for range 4 {
					d, err := l.Allow(t.Context(), limit.Request{Policy: "api", Key: "a"})
					if err != nil {
						t.Error(err)
						return
					}
					if d.Source != limit.SourceStore && d.Source != limit.SourceMemory {
						t.Errorf("decided by %s", d.Source)
					}
					mu.Lock()
					if d.Allowed {
						allowed++
					} else {
						refused++
					}
					mu.Unlock()
				}
			})
		}
	}
	clients.Wait()
	if allowed != 100 || refused != 156 {
		t.Errorf("%d of 100 passed, %d were refused", allowed, refused)
	}
	other := open(t, limit.Options{RedisURL: "redis://" + r.addr, Policies: policies, Secret: []byte("another")})
	if d, err := other.Allow(t.Context(), limit.Request{Policy: "api", Key: "a"}); err != nil || !d.Allowed {
		t.Errorf("with another secret: %+v %v", d, err)
	}
}

// TestRedisIsAway: each policy in its own way, and back by itself.
func TestRedisIsAway(t *testing.T) {
	t.Parallel()
	r := startRedis(t)
	var policies []limit.Policy
	for _, f := range []limit.FailurePolicy{limit.FailLocal, limit.FailOpen, limit.FailClosed} {
		policies = append(policies, limit.Policy{
			Name: string(f), OnStoreFailure: f,
			Rules: []limit.Rule{{Algorithm: limit.FixedWindow, Limit: 10, Window: 24 * time.Hour}},
		})
	}
	l := open(t, limit.Options{RedisURL: "redis://" + r.addr, Policies: policies, Servers: 2})
	// ask asks with one key n times and returns how many were allowed, and by what
	// the last was decided.
	ask := func(f limit.FailurePolicy, n int) (allowed int, by limit.Source) {
		t.Helper()
		for range n {
			d, err := l.Allow(t.Context(), limit.Request{Policy: string(f), Key: "a"})
			must(t, err)
			if d.Allowed {
				allowed++
			}
			by = d.Source
		}
		return allowed, by
	}
	for _, p := range policies {
		if n, by := ask(p.OnStoreFailure, 1); n != 1 || by != limit.SourceStore {
			t.Errorf("%s, while it is there: %d by %s", p.Name, n, by)
		}
	}
	r.kill()
	for f, want := range map[limit.FailurePolicy]struct {
		allowed int
		by      limit.Source
	}{
		limit.FailLocal: {5, limit.SourceLocal}, limit.FailOpen: {20, limit.SourceOpen}, limit.FailClosed: {0, limit.SourceClosed},
	} {
		begun := time.Now()
		if n, by := ask(f, 20); n != want.allowed || by != want.by {
			t.Errorf("%s, while it is away: %d of 20 by %s", f, n, by)
		}
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("%s: 20 answers took %v", f, took)
		}
	}
	r.start(t)
	for _, p := range policies {
		await(t, p.Name+" is decided by redis again", func() bool {
			_, by := ask(p.OnStoreFailure, 1)
			return by == limit.SourceStore
		})
	}
}
