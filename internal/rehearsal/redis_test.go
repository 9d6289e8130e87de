package rehearsal

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestReplicaIsInAnotherZone: where Terraform puts the nodes, and who follows whom
// once they are there.
func TestReplicaIsInAnotherZone(t *testing.T) {
	t.Parallel()
	r := StartRedis(t)
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

// TestClusterIsMadeByAll: by all nodes at once, each twice, though runs are killed
// at whatever they do.
func TestClusterIsMadeByAll(t *testing.T) {
	t.Parallel()
	r := NewRedis(t)
	r.Certificates(t)
	for _, n := range r.Nodes {
		n.Secrets(t)
		n.Start(t)
	}
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

// TestAloneNobodyBegins: a node that cannot ask all others whether there is a cluster
// makes none.
func TestAloneNobodyBegins(t *testing.T) {
	t.Parallel()
	r := NewRedis(t)
	r.Patience = 2 * time.Second
	r.Certificates(t)
	for _, n := range r.Nodes {
		n.Secrets(t)
	}
	for _, n := range r.Nodes[:nodes-1] {
		n.Start(t)
	}
	for range 2 {
		if said, err := r.Nodes[0].Join(t.Context()); err == nil || !strings.Contains(said, "is not met yet") {
			t.Errorf("it joined: %v\n%s", err, said)
		}
	}
	for _, m := range r.Nodes[0].Members(t) {
		if m.Slots != "" {
			t.Errorf("serves without having asked all: %+v", m)
		}
	}
	r.Nodes[nodes-1].Start(t)
	r.Patience = startTimeout
	r.JoinAll(t)
	r.AwaitWhole(t)
}

// TestReplacedNodes: a master that comes back without its data is not started; as a
// new node it is the replica of who took over. A shard whose two nodes are lost begins
// anew only when somebody says so.
func TestReplacedNodes(t *testing.T) {
	t.Parallel()
	r := StartRedis(t)
	r.Patience = time.Second
	lost, other := r.Nodes[0], r.Nodes[3]

	lost.Kill()
	Await(t, startTimeout, "the replica takes over", func() bool { return r.Nodes[1].Master(t, 0) == other })
	if err := os.RemoveAll(filepath.Join(lost.Data(), "appendonlydir")); err != nil {
		t.Fatal(err)
	}
	if said, err := lost.Guard(t.Context()); err == nil || !strings.Contains(said, "its data are gone") {
		t.Errorf("a master without data may start: %v\n%s", err, said)
	}
	lost.Wipe(t)
	lost.Start(t)
	r.untilWhole(t)
	if master := r.Nodes[1].Master(t, 0); master != other {
		t.Errorf("the new node is the master, want the replica: %+v", master)
	}

	other.Kill()
	lost.Kill()
	Await(t, startTimeout, "both are given up", func() bool { return r.Nodes[1].Master(t, 0) == nil })
	for _, n := range []*Node{lost, other} {
		n.Wipe(t)
		n.Start(t)
	}
	// Several rounds: by the first, the others learn whose address it was.
	for range 3 {
		for _, n := range []*Node{lost, other} {
			if said, err := n.Join(t.Context()); err == nil {
				t.Fatalf("a lost shard began anew by itself: %s", said)
			}
		}
	}
	Await(t, startTimeout, "the shard begins anew", func() bool {
		for _, n := range r.Nodes {
			if n != lost && n != other {
				if said, err := n.Join(t.Context(), "--give-up-lost-shards"); err != nil {
					t.Fatalf("%v: %s", err, said)
				}
			}
		}
		_, err := lost.Join(t.Context())
		return err == nil
	})
	r.untilWhole(t)
}

// untilWhole runs redis-join on each node, as the timers do, until the cluster is whole.
func (r *Redis) untilWhole(t *testing.T) {
	t.Helper()
	var said []string
	defer func() {
		if t.Failed() {
			t.Log(strings.Join(said, "\n"))
		}
	}()
	lack := ""
	Await(t, 2*startTimeout, "the cluster is whole again", func() bool {
		for k, n := range r.Nodes {
			out, err := n.Join(t.Context())
			said = append(said, fmt.Sprintf("%d: %v %s", k, err, out))
		}
		for k, n := range r.Nodes {
			if now := n.whole(t); now != "" {
				if now != lack {
					said = append(said, fmt.Sprintf("%d lacks: %s", k, now))
				}
				lack = now
				return false
			}
		}
		return true
	})
	r.AwaitWhole(t)
}
