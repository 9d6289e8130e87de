package fallback

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
)

// ProbeEvery is how often a store that is away is asked whether it is back.
// With Within, it is how late a server notices: within Stale, and within Apart
// of the others.
const ProbeEvery = 250 * time.Millisecond

// Start begins to look after zones whose store does not answer, until Stop. To
// be called once.
func (s *Store) Start(ctx context.Context) {
	ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.done = make(chan struct{})
	go func() {
		defer close(s.done)
		s.loop(ctx)
	}()
}

// Stop ends the probes and waits for them. A Store that was not started need
// not be stopped.
func (s *Store) Stop() {
	if s.cancel == nil {
		return
	}
	s.cancel()
	<-s.done
}

// loop probes at every tick until ctx ends.
func (s *Store) loop(ctx context.Context) {
	tick := time.NewTicker(ProbeEvery)
	defer tick.Stop()
	var probes sync.WaitGroup
	defer probes.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.probeAll(ctx, &probes)
		}
	}
}

// probeAll begins one probe of each zone that needs one and has none under way.
// Zones do not wait for one another: each may lie on another node.
func (s *Store) probeAll(ctx context.Context, probes *sync.WaitGroup) {
	for _, g := range *s.guards.Load() {
		if g.claimProbe() {
			probes.Go(func() { s.probe(ctx, g) })
		}
	}
}

// claimProbe reports whether the caller is to probe the zone.
func (g *guard) claimProbe() bool {
	if !g.troubled.Load() {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.probing || g.phase != failing && g.phase != away {
		return false
	}
	g.probing = true
	return true
}

// probe asks the store for something that changes nothing.
func (s *Store) probe(ctx context.Context, g *guard) {
	bounded, cancel := context.WithTimeout(ctx, Within)
	defer cancel()
	began := s.clock.millis()
	stats, err := s.lines.Stats(bounded, g.zoneID)
	switch {
	case err == nil:
		g.succeeded(stats.State)
	case unanswered(ctx, err):
		g.probeFailed(began)
	case errors.Is(err, line.ErrZoneUnknown), errors.Is(err, line.ErrZoneDeleted):
		s.forget(g.zoneID)
	}
	g.mu.Lock()
	g.probing = false
	g.mu.Unlock()
}

func (g *guard) probeFailed(began int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fail(g.store.clock.millis(), began)
}
