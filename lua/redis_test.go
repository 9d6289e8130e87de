package lua

import (
	"context"
	"fmt"
	"hash/crc32"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/openqueue/waitingroom/internal/check/conformance"
	"github.com/openqueue/waitingroom/internal/check/process"
)

// TestMain stops the Redis that the tests have started, and finds goroutines
// that nobody waited for.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(exitCode(func() int {
		code := m.Run()
		if err := redisServer.stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return code
	}),
		// A pool whose dials have failed sleeps for a second before it sees that it was closed.
		goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// exitCode is a testing.M that does more.
type exitCode func() int

// Run is what goleak calls.
func (run exitCode) Run() int { return run() }

// seenKey is where the beginning of the seen buckets' names is among a zone's keys.
const seenKey = 6

// redisServer is the one Redis of this package's tests. Each test has keys with
// a prefix of its own there.
var redisServer server

// server is a redis-server that the first test that asks for it starts.
type server struct {
	once  sync.Once
	err   error
	redis *process.Redis
}

// address starts the server when it is first asked for.
func (s *server) address(t conformance.TB) string {
	t.Helper()
	s.once.Do(func() { s.err = s.start() })
	if s.err != nil {
		t.Fatalf("redis-server, which these tests need, did not start: %v", s.err)
	}
	return s.redis.URL()
}

func (s *server) start() error {
	dir, err := os.MkdirTemp("", "lua-test")
	if err != nil {
		return err
	}
	if s.redis, err = process.NewRedis(context.Background(), "redis-server", dir); err != nil {
		return err
	}
	return s.redis.Start(context.Background())
}

func (s *server) stop() error {
	if s.redis == nil {
		return nil
	}
	s.redis.Kill()
	return os.RemoveAll(s.redis.Dir)
}

// sharedServer returns the address of redisServer, with a database that few other tests have: what a test looks for among
// all keys, it does not look for among the keys of a large crowd.
func sharedServer(t conformance.TB) string {
	t.Helper()
	const databases = 16
	test, _, _ := strings.Cut(t.Name(), "/")
	return fmt.Sprintf("%s/%d", redisServer.address(t), crc32.ChecksumIEEE([]byte(test))%databases)
}

// ownServer returns the address of a Redis of the test's own.
func ownServer(t *testing.T) string {
	t.Helper()
	var own server
	t.Cleanup(func() {
		if err := own.stop(); err != nil {
			t.Error(err)
		}
	})
	return own.address(t)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// prefixes counts the stores that tests have opened.
var prefixes atomic.Int64

// patient is how long a call may take on a machine that has other work to do.
const patient = time.Minute

// openStore opens a store whose keys no other test has. They go with the test.
// It waits long for Redis: what is tested is what it answers, not how soon.
func openStore(t conformance.TB, now func() time.Time) *Store {
	t.Helper()
	return openStoreAt(t, sharedServer(t), now)
}

func openStoreAt(t conformance.TB, url string, now func() time.Time) *Store {
	t.Helper()
	s := openPatient(t, url, now)
	t.Cleanup(func() {
		s.forgetAll(t)
		s.close(t)
	})
	return s
}

func (s *Store) close(t conformance.TB) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func openPatient(t conformance.TB, url string, now func() time.Time) *Store {
	t.Helper()
	s, err := Open(t.Context(), Options{URL: url, Prefix: fmt.Sprintf("test%d:", prefixes.Add(1)), Now: now, Sealer: conformance.NewSealer()})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = patient, patient, patient, patient
	o.MaxRetries = -1
	if err := s.client.Close(); err != nil {
		t.Fatalf("open: %v", err)
	}
	s.client, s.timeouts = redis.NewClient(o), timeouts{patient, patient, patient}
	return s
}

// forgetAll removes all keys with the store's prefix.
func (s *Store) forgetAll(t conformance.TB) {
	t.Helper()
	if all := s.allKeys(t, ""); len(all) > 0 {
		if err := s.client.Unlink(context.Background(), all...).Err(); err != nil {
			t.Errorf("unlink: %v", err)
		}
	}
}

// allKeys are the keys that begin so, after the store's prefix.
func (s *Store) allKeys(t conformance.TB, begin string) []string {
	t.Helper()
	var all []string
	seen := make(map[string]bool) // SCAN may name a key twice
	node := s.node(t)
	for cursor := uint64(0); ; {
		keys, next, err := node.Scan(context.Background(), cursor, s.prefix+begin+"*", 1_000).Result()
		if err != nil {
			t.Fatalf("scan: %v", err)
		}
		for _, k := range keys {
			if !seen[k] {
				seen[k] = true
				all = append(all, k)
			}
		}
		if cursor = next; cursor == 0 {
			return all
		}
	}
}

// node is the server that has the store's keys. In a cluster the prefix is a hash
// tag, so that all are on one.
func (s *Store) node(t conformance.TB) redis.Cmdable {
	t.Helper()
	cluster, ok := s.client.(*redis.ClusterClient)
	if !ok {
		return s.client
	}
	node, err := cluster.MasterForKey(context.Background(), s.prefix)
	if err != nil {
		t.Fatalf("no master for %s: %v", s.prefix, err)
	}
	return node
}
