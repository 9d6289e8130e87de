package lua

import (
	"context"
	"errors"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// probes is how many slots, by the names of keys, are asked for their masters.
// Of a few masters it finds each: one of three is missed once in 10^11 times.
const probes = 64

// errNoMaster: the cluster's state names no master.
var errNoMaster = errors.New("lua: no master is known")

// Ping implements store.Store. In a cluster it asks whether some master answers: the
// zones of that one can be served.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.unfit(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeouts.call)
	defer cancel()
	cluster, ok := s.client.(*redis.ClusterClient)
	if !ok {
		if err := s.client.Ping(ctx).Err(); err != nil {
			return s.failed(ctx, "ping", err)
		}
		return nil
	}
	// The client's own Ping asks one node, which may be the one that is away.
	err := errNoMaster
	nodes := mastersOf(ctx, cluster)
	answers := make(chan error, len(nodes))
	for _, node := range nodes {
		s.work.Go(func() { answers <- node.Ping(ctx).Err() })
	}
	for range nodes {
		// The first answer will do; a node that hangs takes its time.
		if err = <-answers; err == nil {
			return nil
		}
	}
	return s.failed(ctx, "ping", err)
}

// mastersOf returns masters as the client knows them; it asks no node.
func mastersOf(ctx context.Context, cluster *redis.ClusterClient) []*redis.Client {
	known := make(map[*redis.Client]struct{})
	var nodes []*redis.Client
	for i := range probes {
		node, err := cluster.MasterForKey(ctx, strconv.Itoa(i))
		if err != nil {
			continue // nobody has that slot
		}
		if _, again := known[node]; !again {
			known[node] = struct{}{}
			nodes = append(nodes, node)
		}
	}
	return nodes
}
