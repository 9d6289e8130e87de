package limit_test

import (
	"context"
	"errors"
	"testing"

	"github.com/openqueue/waitingroom/internal/check/process"
	"github.com/openqueue/waitingroom/limit"
)

// startRedis starts a server on a port of its own, which can be killed and started
// again.
func startRedis(tb testing.TB) *process.Redis {
	tb.Helper()
	r, err := process.NewRedis(tb.Context(), "redis-server", tb.TempDir())
	must(tb, err)
	tb.Cleanup(r.Kill)
	must(tb, r.Start(context.Background()))
	return r
}

// await looks for 20 s.
func await(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	if !process.Soon(tb.Context(), process.StartTimeout, process.LookEvery, holds) {
		tb.Fatalf("in vain: %s", what)
	}
}

// secret is long enough for Redis.
func secret(of string) []byte { return []byte("sixteen bytes of " + of) }

// TestRedisWantsASecret: without one, whoever reads Redis could find every address.
func TestRedisWantsASecret(t *testing.T) {
	t.Parallel()
	for _, bad := range [][]byte{nil, []byte("fifteen bytes..")} {
		if _, err := limit.Open(t.Context(), limit.Options{RedisURL: "redis://127.0.0.1:1", Secret: bad}); !errors.Is(err, limit.ErrSecret) {
			t.Errorf("%q: %v", bad, err)
		}
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
			Rules: []limit.Rule{{Algorithm: limit.FixedWindow, Limit: 10, WindowSeconds: 86_400}},
		})
	}
	l := open(t, limit.Options{RedisURL: r.URL(), Policies: policies, Servers: 2, Secret: secret("one")})
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
	r.Kill()
	for f, want := range map[limit.FailurePolicy]struct {
		allowed int
		by      limit.Source
	}{
		limit.FailLocal: {5, limit.SourceLocal}, limit.FailOpen: {20, limit.SourceOpen}, limit.FailClosed: {0, limit.SourceClosed},
	} {
		if n, by := ask(f, 20); n != want.allowed || by != want.by {
			t.Errorf("%s, while it is away: %d of 20 by %s", f, n, by)
		}
	}
	must(t, r.Start(context.Background()))
	for _, p := range policies {
		await(t, p.Name+" is decided by redis again", func() bool {
			_, by := ask(p.OnStoreFailure, 1)
			return by == limit.SourceStore
		})
	}
}
