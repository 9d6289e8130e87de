package fault

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/e2e/room"
)

const (
	// shards is how many masters a cluster has; each has one replica.
	shards = 3
	// slots is how many hash slots Redis Cluster has.
	slots = 16_384
	// nodeTimeout is how long a node of a cluster is silent before the others
	// ask each other whether it failed. Redis's default is 15 s.
	nodeTimeout = 1500 * time.Millisecond
)

// cluster is a Redis Cluster of three masters and three replicas: nodes[i+3] is
// the replica of nodes[i].
type cluster struct {
	nodes []*engine
}

// startCluster starts a cluster and waits until it takes writes. Its nodes are
// told of each other by the files that they keep of the cluster, which takes a
// second less than to have them meet.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{nodes: make([]*engine, 2*shards)}
	for i := range c.nodes {
		c.nodes[i] = newEngine(t,
			"--cluster-enabled", "yes", "--cluster-port", port(t),
			"--cluster-node-timeout", strconv.FormatInt(nodeTimeout.Milliseconds(), 10),
			// One dead shard must not stop the zones of the others.
			"--cluster-require-full-coverage", "no",
			// A replica whose link broke lately may take over all the same.
			"--cluster-replica-validity-factor", "0",
		)
	}
	for i, n := range c.nodes {
		if err := os.WriteFile(filepath.Join(n.Dir, "nodes.conf"), []byte(c.nodesFile(i)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range c.nodes {
		n.start(t)
	}
	room.Await(t, "the cluster is whole", c.whole)
	return c
}

// nodesFile is nodes.conf as the node with that index would have written it.
func (c *cluster) nodesFile(self int) string {
	var b strings.Builder
	for i, n := range c.nodes {
		flags, master, epoch, own := "master", "-", i+1, ""
		if i == self {
			flags = "myself,master"
		}
		if i >= shards {
			flags, master, epoch = strings.Replace(flags, "master", "slave", 1), nodeID(i-shards), i-shards+1
		} else {
			own = fmt.Sprintf(" %d-%d", i*slots/shards, (i+1)*slots/shards-1)
		}
		fmt.Fprintf(&b, "%s %s@%s %s %s 0 0 %d connected%s\n",
			nodeID(i), n.Addr(), argument(n, "--cluster-port"), flags, master, epoch, own)
	}
	fmt.Fprintf(&b, "vars currentEpoch %d lastVoteEpoch 0\n", shards)
	return b.String()
}

// nodeID is the name of a node in the cluster.
func nodeID(i int) string { return strings.Repeat(strconv.Itoa(i+1), 40) }

func argument(e *engine, name string) string {
	for i, a := range e.Args {
		if a == name {
			return e.Args[i+1]
		}
	}
	return ""
}

// whole reports whether every node sees a working cluster and every replica
// follows its master.
func (c *cluster) whole() bool {
	for i, n := range c.nodes {
		if n.clusterInfo("cluster_state") != "ok" || n.clusterInfo("cluster_known_nodes") != strconv.Itoa(len(c.nodes)) {
			return false
		}
		if i >= shards && n.info("replication", "master_link_status") != "up" {
			return false
		}
	}
	return true
}

func (e *engine) clusterInfo(field string) string {
	out, err := e.cli("CLUSTER", "INFO")
	if err != nil {
		return ""
	}
	return fieldOf(out, field)
}

// url is the cluster as queue-server takes it: all nodes.
func (c *cluster) url() string {
	addrs := make([]string, 0, len(c.nodes))
	for _, n := range c.nodes {
		addrs = append(addrs, n.Addr())
	}
	return "redis://" + strings.Join(addrs, ",")
}

// shard is the index of the master that a key belongs to when the cluster is
// new. A zone's keys all have the hash tag {zoneId}.
func (c *cluster) shard(t *testing.T, key string) int {
	t.Helper()
	out, err := c.nodes[0].cli("CLUSTER", "KEYSLOT", key)
	slot, badSlot := strconv.Atoi(out)
	if err != nil || badSlot != nil {
		t.Fatalf("slot of %q: %q, %v", key, out, err)
	}
	for i := range shards {
		if slot < (i+1)*slots/shards {
			return i
		}
	}
	t.Fatalf("slot of %q: %d", key, slot)
	return 0
}

// zoneOn returns a zone's name, with that beginning, that lies on the shard.
func (c *cluster) zoneOn(t *testing.T, shard int, beginning string) string {
	t.Helper()
	for i := range 100 {
		name := beginning + strconv.Itoa(i)
		if c.shard(t, "{"+name+"}") == shard {
			return name
		}
	}
	t.Fatalf("no zone %s... lies on shard %d", beginning, shard)
	return ""
}

// awaitTakeover waits until the replica of a shard is its master and every node
// that is asked agrees. It returns when that was.
func (c *cluster) awaitTakeover(t *testing.T, shard int) time.Time {
	t.Helper()
	replica := c.nodes[shard+shards]
	room.Await(t, "the replica takes over", func() bool {
		return replica.info("replication", "role") == "master" && replica.clusterInfo("cluster_state") == "ok"
	})
	return time.Now()
}
