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

// Called implements registry.Meter. A zone that is not there, or not as
// expected, is an answer, and so is that this server must not serve it; anything else
// is a failure.
func (m *Metrics) Called(call store.Call, took time.Duration, err error) {
	c := &m.byCall[call]
	c.seconds.Observe(took.Seconds())
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, line.ErrZoneUnknown) &&
		!errors.Is(err, line.ErrZoneDeleted) && !errors.Is(err, line.ErrZoneChanged) &&
		!errors.Is(err, line.ErrFormat) && !errors.Is(err, line.ErrSecrets) {
		c.failures.Inc()
	}
}

// Heard implements registry.Meter: it compares estimates with what the waits became, and
// counts places that were put back.
func (m *Metrics) Heard(zoneID string, a line.Answer) {
	switch a.Status {
	default: // of the others, nothing is to be learned
	case line.Waiting:
		m.Gave(zoneID, a.Place.ID, time.Duration(a.EstimateMillis)*time.Millisecond, time.UnixMilli(a.State.NowMillis))
	case line.Admitted:
		m.Admitted(zoneID, a.Place.ID, time.UnixMilli(a.AdmittedAtMillis))
	}
	if a.Restored {
		m.meter(zoneID).restored.Inc()
	}
}

// ClockAhead implements registry.Meter.
func (m *Metrics) ClockAhead(zoneID string, by time.Duration) {
	m.meter(zoneID).clock.Set(by.Seconds())
}
