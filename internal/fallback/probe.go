package fallback

import (
	"context"
	"errors"
	"time"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve/background"
)

// ProbeEvery is how often a store that is away is asked whether it is back. A server notices that at most ProbeEvery
// plus Within late, which is less than Stale and less than Apart.
const ProbeEvery = 250 * time.Millisecond

// Start begins to probe zones whose store does not answer, until Stop. It is to be called once.
func (p *Policy) Start(ctx context.Context) {
	p.probes.Start(ctx, background.Every(ProbeEvery, p.probeAll))
}

// RunOnce probes the zones that need it, one after the other. After Start this is done every ProbeEvery.
func (p *Policy) RunOnce(ctx context.Context) {
	for _, b := range *p.breakers.Load() {
		if b.missesStore() {
			p.probe(ctx, b)
		}
	}
}

// Stop ends the probes and waits for them.
func (p *Policy) Stop() { p.probes.Stop() }

// probeAll begins one probe of each zone that needs one and has none under way.
// Zones do not wait for one another: each may lie on another node.
func (p *Policy) probeAll(ctx context.Context) {
	for _, b := range *p.breakers.Load() {
		if b.missesStore() {
			p.probes.GoAlone(&b.probing, func() { p.probe(ctx, b) })
		}
	}
}

// missesStore reports whether the zone is to be probed.
func (b *breaker) missesStore() bool {
	if !b.troubled.Load() {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.phase == failing || b.phase == away
}

// probe asks the store for something that changes nothing.
func (p *Policy) probe(ctx context.Context, b *breaker) {
	bounded, cancel := context.WithTimeout(ctx, Within)
	defer cancel()
	began := p.clock.millis()
	stats, err := p.lines.Stats(bounded, b.zoneID)
	switch {
	case err == nil:
		b.succeeded(stats.State)
	case unanswered(ctx, err):
		b.mu.Lock()
		b.fail(p.clock.millis(), began)
		b.mu.Unlock()
	case errors.Is(err, line.ErrZoneUnknown), errors.Is(err, line.ErrZoneDeleted):
		p.forget(b.zoneID)
	}
}
