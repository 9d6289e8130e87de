package metric

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/openqueue/waitingroom/internal/limits/limiter"
)

// Took implements limiter.Meter.
func (m *Metrics) Took(by limiter.Source, d time.Duration) {
	if o := m.took[by]; o != nil {
		o.Observe(d.Seconds())
	}
}

// Failing implements limiter.Meter.
func (m *Metrics) Failing(_ int, failing bool) { m.changes[failing].Inc() }

// decisions is the collector of what the limiter counts.
type decisions struct {
	of   *limiter.Limiter
	desc *prometheus.Desc
}

// ShowLimits registers the counters of decisions, which ask l at each scrape. Every policy
// and tier in force has a series for each outcome, from 0. No series names a key.
func (m *Metrics) ShowLimits(l *limiter.Limiter) {
	m.reg.MustRegister(
		&decisions{
			l, prometheus.NewDesc("queue_limit_decisions_total",
				"Questions to the limits, by what became of them.", []string{"policy", "tier", "outcome"}, nil),
		},
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "queue_limit_failing_partitions",
			Help: "How many partitions of the limits' store, of up to 16, do not answer, so that onStoreFailure decides.",
		}, func() float64 { return float64(l.Failing()) }),
	)
}

// Describe implements prometheus.Collector.
func (d *decisions) Describe(out chan<- *prometheus.Desc) {
	out <- d.desc
}

// Collect implements prometheus.Collector.
func (d *decisions) Collect(out chan<- prometheus.Metric) {
	for _, t := range d.of.Counts() {
		for o, n := range t.Counts {
			out <- prometheus.MustNewConstMetric(d.desc, prometheus.CounterValue, float64(n), t.Policy, t.Tier, limiter.Outcome(o).String())
		}
	}
}
