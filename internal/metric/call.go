package metric

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zones"
)

// callMeter holds the series of one kind of call to the store.
type callMeter struct {
	seconds  prometheus.Observer
	failures prometheus.Counter
}

// Called implements zones.Meter. An error counts as a failure of the store, unless it
// is an answer (the zone is not there, is not as expected, or this server must not serve
// it), or the caller gave up.
func (m *Metrics) Called(call store.Call, took time.Duration, err error) {
	c := &m.byCall[call]
	c.seconds.Observe(took.Seconds())
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, line.ErrZoneUnknown) &&
		!errors.Is(err, line.ErrZoneDeleted) && !errors.Is(err, line.ErrZoneChanged) &&
		!errors.Is(err, line.ErrFormat) && !errors.Is(err, line.ErrSecrets) {
		c.failures.Inc()
	}
}

// Count implements zones.Meter.
func (m *Metrics) Count(zoneID string, what zones.Counted) { m.meter(zoneID).counted[what].Inc() }

// ClockAhead implements zones.Meter.
func (m *Metrics) ClockAhead(zoneID string, by time.Duration) {
	m.meter(zoneID).clock.Set(by.Seconds())
}

// JoinUnlimited implements guard.Meter.
func (m *Metrics) JoinUnlimited(reason string) { m.unlimited.WithLabelValues(reason).Inc() }

// ForwardedRefused implements guard.Meter.
func (m *Metrics) ForwardedRefused() { m.forwarded.Inc() }
