package infrastructure

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// Member is a line of CLUSTER NODES.
type Member struct {
	ID string
	// Node is who has that address now; nil for one that has none.
	Node *Node
	// Flags are separated by commas, Master is the id of a replica's.
	Flags, Master string
	Linked        bool
	// Slots are the ranges that it serves: "0-5460".
	Slots string
	// bus is the port of the cluster's bus.
	bus string
}

// Failed reports whether the others have given the node up.
func (m Member) Failed() bool {
	return strings.Contains(","+m.Flags+",", ",fail,") || strings.Contains(m.Flags, "noaddr")
}

// Members is the cluster as a node sees it.
func (n *Node) Members(t testing.TB) []Member {
	t.Helper()
	text, err := n.Admin(t.Context(), "cluster", "nodes")
	if err != nil {
		return nil
	}
	var all []Member
	for l := range strings.Lines(text) {
		f := strings.Fields(l)
		if len(f) < 8 {
			t.Fatalf("CLUSTER NODES: %q", l)
		}
		m := Member{ID: f[0], Flags: f[2], Master: f[3], Linked: f[7] == "connected", Slots: strings.Join(f[8:], " ")}
		addr, bus, _ := strings.Cut(f[1], "@")
		m.bus = bus
		for i, a := range n.redis.addresses {
			if a == addr {
				m.Node = n.redis.Nodes[i]
			}
		}
		all = append(all, m)
	}
	return all
}

// whole says what a node's view lacks of a cluster in which every shard has a master,
// with all its slots, and a replica of it; "" if nothing.
func (n *Node) whole(t testing.TB) string {
	t.Helper()
	members := n.Members(t)
	if len(members) != nodes {
		return fmt.Sprintf("%d members", len(members))
	}
	masters := make(map[string]Member)
	for _, m := range members {
		if m.Failed() || !m.Linked || m.Node == nil || strings.Contains(m.Flags, "handshake") {
			return fmt.Sprintf("%+v", m)
		}
		if m.Slots != "" {
			masters[m.ID] = m
		}
	}
	if len(masters) != shards {
		return fmt.Sprintf("%d masters", len(masters))
	}
	for _, m := range members {
		if m.Slots != "" {
			if want := slots(m.Node.Shard); m.Slots != want {
				return fmt.Sprintf("%+v serves not %s", m, want)
			}
			continue
		}
		if of, ok := masters[m.Master]; !ok || of.Node.Shard != m.Node.Shard {
			return fmt.Sprintf("%+v is no replica of its shard's master", m)
		}
	}
	return ""
}

// slots are those of a shard, as CLUSTER NODES writes them.
func slots(shard int) string {
	const all = 16_384
	return strconv.Itoa(shard*all/shards) + "-" + strconv.Itoa((shard+1)*all/shards-1)
}

// AwaitWhole waits until every node sees the whole cluster, and every replica follows.
func (r *Redis) AwaitWhole(t testing.TB) {
	t.Helper()
	lack := ""
	Await(t, startTimeout, "the cluster is whole", func() bool {
		for k, n := range r.Nodes {
			if lack = n.whole(t); lack != "" {
				lack = fmt.Sprintf("node %d: %s", k, lack)
				return false
			}
			info, err := n.Admin(t.Context(), "info", "replication")
			if err != nil || strings.Contains(info, "master_link_status:down") {
				return false
			}
			info, err = n.Admin(t.Context(), "cluster", "info")
			if err != nil || !strings.Contains(info, "cluster_state:ok") {
				return false
			}
		}
		return true
	})
}

// Master returns who serves a shard, as node sees it, nil if nobody does.
func (n *Node) Master(t testing.TB, shard int) *Node {
	t.Helper()
	for _, m := range n.Members(t) {
		if m.Slots == slots(shard) && !m.Failed() {
			return m.Node
		}
	}
	return nil
}
