package metric

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/store"
)

// callMeter holds the series of one kind of call to the store.
type callMeter struct {
	seconds  prometheus.Observer
	failures prometheus.Counter
}

// Called implements registry.Meter. An error counts as a failure of the store, unless it
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

// Restored implements registry.Meter.
func (m *Metrics) Restored(zoneID string) { m.meter(zoneID).restored.Inc() }

// Lost implements registry.Meter.
func (m *Metrics) Lost(zoneID string) { m.meter(zoneID).losses.Inc() }

// Forgotten implements registry.Meter.
func (m *Metrics) Forgotten(zoneID string) { m.meter(zoneID).forgotten.Inc() }

// ClockAhead implements registry.Meter.
func (m *Metrics) ClockAhead(zoneID string, by time.Duration) {
	m.meter(zoneID).clock.Set(by.Seconds())
}

// JoinUnlimited implements guard.Meter.
func (m *Metrics) JoinUnlimited(reason string) { m.unlimited.WithLabelValues(reason).Inc() }

// ForwardedRefused implements guard.Meter.
func (m *Metrics) ForwardedRefused() { m.forwarded.Inc() }
