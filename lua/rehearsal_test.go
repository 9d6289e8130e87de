package lua

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/openqueue/waitingroom/internal/check/conformance"
	"github.com/openqueue/waitingroom/internal/check/conformance/limits"
	"github.com/openqueue/waitingroom/internal/check/infrastructure"
	"github.com/openqueue/waitingroom/internal/store"
)

// TestConformanceOnInstances tells every story, of lines and of limits, to the cluster
// that the templates of deploy/terraform make: over TLS, as the user that servers have
// there.
func TestConformanceOnInstances(t *testing.T) {
	t.Parallel()
	r := infrastructure.StartRedis(t)
	strangers(t, r)
	queue, admin := dial(t, r, "queue"), dial(t, r, "admin")
	t.Cleanup(func() { deniedNothing(t, r) })
	limits.Property(t, func(t conformance.TB, now func() time.Time) limits.Store {
		t.Helper()
		s, _ := fresh(t, queue, admin, now)
		s.linger = time.Hour
		return s
	})
	open := func(t conformance.TB, now func() time.Time) conformance.Harness {
		t.Helper()
		s, keys := fresh(t, queue, admin, now)
		return conformance.Harness{
			Store: s,
			Lose: func(t conformance.TB) store.Store {
				t.Helper()
				keys.forgetAll(t)
				return s
			},
			Footprint: keys.footprint,
		}
	}
	conformance.Property(t, open, openEmbedded)
	conformance.Run(t, open)
}

// strangers: nodes that no authority of this machine vouches for are not believed;
// those that the given one does are.
func strangers(t *testing.T, r *infrastructure.Redis) {
	t.Helper()
	roots, err := ReadRoots(r.CAFile())
	if err != nil {
		t.Fatal(err)
	}
	for _, pool := range []*x509.CertPool{nil, roots} {
		s, err := Open(t.Context(), Options{URL: r.URL("queue"), Roots: pool, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		s.timeouts = timeouts{patient, patient}
		if err := s.Ping(t.Context()); (err == nil) != (pool != nil) {
			t.Errorf("with an authority: %t: %v", pool != nil, err)
		}
		s.close(t)
	}
}

// deniedNothing: no node has refused a command or a key to anybody.
func deniedNothing(t *testing.T, r *infrastructure.Redis) {
	t.Helper()
	for k, n := range r.Nodes {
		denied, err := n.Admin(context.WithoutCancel(t.Context()), "acl", "log")
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(denied, "\n")
		for i, l := range lines {
			if l == "object" && !strings.HasPrefix(lines[i+1], "client") { // the client's name, for people
				t.Errorf("node %d denied %s", k, lines[i+1])
			}
		}
	}
}

// dial makes a patient client of the cluster for one of its users.
func dial(t *testing.T, r *infrastructure.Redis, user string) *redis.ClusterClient {
	t.Helper()
	roots, err := ReadRoots(r.CAFile())
	if err != nil {
		t.Fatal(err)
	}
	client, err := Client(r.URL(user), roots)
	if err != nil {
		t.Fatal(err)
	}
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		t.Fatalf("the client is a %T", client)
	}
	o := *cluster.Options()
	if err := cluster.Close(); err != nil {
		t.Fatal(err)
	}
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = patient, patient, patient, patient
	cluster = redis.NewClusterClient(&o)
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	return cluster
}

// fresh makes an empty store for the servers' user, and the same for the admin, who
// may list and remove its keys. They go with the test.
func fresh(t conformance.TB, queue, admin redis.UniversalClient, now func() time.Time) (s, keys *Store) {
	t.Helper()
	// A hash tag, so that a user with keys that begin with { may have it.
	prefix := fmt.Sprintf("{test%d}:", prefixes.Add(1))
	s, keys = storeOn(t, queue, prefix, now), storeOn(t, admin, prefix, now)
	t.Cleanup(func() {
		s.work.Wait()
		keys.forgetAll(t)
	})
	return s, keys
}

// storeOn makes a store on a client that others use as well.
func storeOn(t conformance.TB, client redis.UniversalClient, prefix string, now func() time.Time) *Store {
	t.Helper()
	s, err := openOn(client, Options{Prefix: prefix, Now: now, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	s.timeouts = timeouts{patient, patient}
	if err := s.warm(context.Background()); err != nil {
		t.Fatal(err)
	}
	return s
}
