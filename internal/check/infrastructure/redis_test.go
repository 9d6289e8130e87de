package infrastructure

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestInstances looks at one cluster from all sides; the last kills a node of it.
func TestInstances(t *testing.T) {
	r := StartRedis(t)
	for _, look := range []struct {
		name string
		at   func(*testing.T, *Redis)
	}{
		{"a replica is in another zone than its master", zones},
		{"what Prometheus sees", watched},
		{"what users may not do", refused},
		{"who is not let in", shutOut},
		{"new passwords and certificates", renewed},
		{"a server, and a master that is killed", served},
	} {
		t.Run(look.name, func(t *testing.T) { look.at(t, r) })
	}
}

// zones: where Terraform puts the nodes, and who follows whom once they are there.
func zones(t *testing.T, r *Redis) {
	t.Helper()
	var masters []int
	for _, m := range r.Nodes[0].Members(t) {
		if m.Slots != "" {
			masters = append(masters, m.Node.Subnet)
			continue
		}
		if of := r.Nodes[0].Master(t, m.Node.Shard); of == nil || of.Subnet == m.Node.Subnet {
			t.Errorf("the replica of shard %d is in zone %d, as its master: %+v", m.Node.Shard, m.Node.Subnet, of)
		}
	}
	slices.Sort(masters)
	if !slices.Equal(masters, []int{0, 1, 2}) {
		t.Errorf("masters are in the zones %v, want each in one of its own", masters)
	}
}

// TestClusterIsMadeByAll: not before all are there; then by all nodes at once, though
// runs are killed at whatever they do, and again.
func TestClusterIsMadeByAll(t *testing.T) {
	t.Parallel()
	r := NewRedis(t)
	r.Certificates(t)
	for k, n := range r.Nodes {
		n.Secrets(t)
		if k < nodes-1 {
			n.Start(t)
		}
	}
	r.Patience = time.Second
	if said, err := r.Nodes[0].Join(t.Context()); err == nil || !strings.Contains(said, "is not met yet") {
		t.Errorf("it joined: %v\n%s", err, said)
	}
	for _, m := range r.Nodes[0].Members(t) {
		if m.Slots != "" {
			t.Errorf("serves without having asked all: %+v", m)
		}
	}
	r.Nodes[nodes-1].Start(t)
	r.Patience = startTimeout
	for after := range 6 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(after)*150*time.Millisecond)
		done := make(chan struct{})
		for _, n := range r.Nodes {
			go func() {
				_, _ = n.Join(ctx) // killed, or not: both must do
				done <- struct{}{}
			}()
		}
		for range r.Nodes {
			<-done
		}
		cancel()
	}
	r.JoinAll(t)
	r.JoinAll(t)
	r.AwaitWhole(t)
}
