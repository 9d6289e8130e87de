package sweeper

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics of the sweeper. They carry no zone: what was swept from each is among
// the zone's own totals.
type metrics struct {
	examined, removed prometheus.Counter
	failures          prometheus.Counter
	skipped           *prometheus.CounterVec
	seconds           prometheus.Histogram
	longestCall       prometheus.Gauge
	lastSuccess       prometheus.Gauge
	period            prometheus.Gauge
}

// runBuckets reach from a run over empty zones to one that fills the schedule.
var runBuckets = []float64{.001, .01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

// newMetrics registers the sweeper's metrics with reg.
func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		examined: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "queue_sweep_examined_total", Help: "Places that this server's sweeps looked at.",
		}),
		removed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "queue_sweep_removed_total", Help: "Idle places that this server's sweeps removed.",
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "queue_sweep_failures_total", Help: "Zones whose sweep failed.",
		}),
		skipped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "queue_sweep_skipped_total", Help: "Zones that were not swept in a run, by reason.",
		}, []string{"reason"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "queue_sweep_seconds", Help: "How long a run over all zones took.",
			Buckets: runBuckets, NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100,
		}),
		longestCall: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "queue_sweep_longest_call_seconds", Help: "The longest call to the store in the latest run.",
		}),
		period: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "queue_sweep_period_seconds", Help: "How often this server sweeps.",
		}),
		lastSuccess: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "queue_sweep_last_success_timestamp_seconds", Help: "When a run in which no zone failed last ended; 0 before the first.",
		}),
	}
	for _, reason := range []string{skipBusy, skipUnwatched, skipJump, skipLoss, skipOverload} {
		m.skipped.WithLabelValues(reason)
	}
	for _, c := range []prometheus.Collector{
		m.examined, m.removed, m.failures, m.skipped, m.seconds, m.longestCall, m.lastSuccess, m.period,
	} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("sweeper: %w", err)
		}
	}
	return m, nil
}
