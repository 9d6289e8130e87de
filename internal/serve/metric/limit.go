package metric

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/openqueue/waitingroom/internal/limits/limiter"
)

// LimitMeter counts how long decisions of limits take, and how often a partition of their
// store begins to fail or is calm again. It implements limiter.Meter.
type LimitMeter struct {
	took    map[limiter.Source]prometheus.Observer
	changes map[bool]prometheus.Counter
}

// LimitMeter registers the metrics that the limiter reports as they happen.
func (m *Metrics) LimitMeter() (*LimitMeter, error) {
	took := histogram("queue_limit_decision_seconds",
		"How long the decision of a limit took, waiting included; those from memory are not timed.", callBuckets, "source")
	changes := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "queue_limit_partition_changes_total", Help: "How often a partition of the limits' store began to fail, and was calm again.",
	}, []string{"to"})
	return &LimitMeter{
		took: map[limiter.Source]prometheus.Observer{
			limiter.SourceStore: took.WithLabelValues(string(limiter.SourceStore)),
			limiter.SourceLocal: took.WithLabelValues(string(limiter.SourceLocal)),
		},
		changes: map[bool]prometheus.Counter{
			true: changes.WithLabelValues("failing"), false: changes.WithLabelValues("calm"),
		},
	}, m.register(took, changes)
}

// Took implements limiter.Meter.
func (m *LimitMeter) Took(by limiter.Source, d time.Duration) {
	if o := m.took[by]; o != nil {
		o.Observe(d.Seconds())
	}
}

// Failing implements limiter.Meter.
func (m *LimitMeter) Failing(_ int, failing bool) { m.changes[failing].Inc() }

// decisions is the collector of what the limiter counts.
type decisions struct {
	of                        *limiter.Limiter
	desc, remaining, refusals *prometheus.Desc
}

// ShowLimits registers the counters of decisions, which ask l at each scrape. Every policy
// and tier in force has a series for each outcome, from 0. No series names a key.
func (m *Metrics) ShowLimits(l *limiter.Limiter) error {
	return m.register(
		&decisions{
			l, prometheus.NewDesc("queue_limit_decisions_total",
				"Questions to the limits, by what became of them.", []string{"policy", "tier", "outcome"}, nil),
			prometheus.NewDesc("queue_limit_remaining_ratio",
				"Share of its permits that a client who asked had left, mean of the last minute's questions; 1 where nobody asked.",
				[]string{"policy", "tier"}, nil),
			prometheus.NewDesc("queue_limit_refusals_total",
				"Questions to the limits that were refused, by what the client was told apart by.", []string{"policy", "kind"}, nil),
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
	out <- d.remaining
	out <- d.refusals
}

// Collect implements prometheus.Collector.
func (d *decisions) Collect(out chan<- prometheus.Metric) {
	for _, t := range d.of.Counts() {
		for o, n := range t.Counts {
			out <- prometheus.MustNewConstMetric(d.desc, prometheus.CounterValue, float64(n), t.Policy, t.Tier, limiter.Outcome(o).String())
		}
		out <- prometheus.MustNewConstMetric(d.remaining, prometheus.GaugeValue, t.Remaining, t.Policy, t.Tier)
	}
	for _, p := range d.of.Refusals() {
		for k, n := range p.Refused {
			out <- prometheus.MustNewConstMetric(d.refusals, prometheus.CounterValue, float64(n), p.Policy, limiter.Kind(k).String())
		}
	}
}
