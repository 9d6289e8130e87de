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

// Ping implements store.Store. In a cluster one master that answers is enough: the zones of that master can be served.
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
		s.answered.Store(true)
		return nil
	}
	// The client's own Ping asks one node, which may be the one that is away. MasterForKey asks none.
	err, nodes, answers := errNoMaster, make(map[*redis.Client]bool), make(chan error, probes)
	for i := range probes {
		node, err := cluster.MasterForKey(ctx, strconv.Itoa(i))
		if err != nil || nodes[node] {
			continue // nobody has that slot, or the node is asked already
		}
		nodes[node] = true
		s.work.Go(func() { answers <- node.Ping(ctx).Err() })
	}
	for range nodes {
		// The first answer will do; a node that hangs takes its time.
		if err = <-answers; err == nil {
			s.answered.Store(true)
			return nil
		}
	}
	return s.failed(ctx, "ping", err)
}
