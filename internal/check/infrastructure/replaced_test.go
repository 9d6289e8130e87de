//go:build infrastructure

package infrastructure

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

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
