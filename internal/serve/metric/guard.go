package metric

import "github.com/prometheus/client_golang/prometheus"

// guardMeter holds what the guard counts: see internal/guard.
type guardMeter struct {
	unlimited *prometheus.CounterVec
	forwarded prometheus.Counter
}

func newGuardMeter(counter func(name, help string, labels ...string) *prometheus.CounterVec) guardMeter {
	d := guardMeter{
		unlimited: counter("queue_joins_unlimited_total",
			"Joins that no address was counted for, by the reason: private, trusted.", "reason"),
		forwarded: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "queue_forwarded_joins_refused_total",
			Help: "Joins refused by their address that say they were forwarded, by a proxy that is not trusted: perhaps one of ours.",
		}),
	}
	for _, reason := range []string{"private", "trusted"} {
		d.unlimited.WithLabelValues(reason)
	}
	return d
}

// JoinUnlimited counts one join that was not counted for its address. reason is
// private or trusted.
func (m *Metrics) JoinUnlimited(reason string) { m.guard.unlimited.WithLabelValues(reason).Inc() }

// ForwardedRefused counts one join that was refused by its address, and that was
// forwarded, by its headers, by a proxy that is not trusted.
func (m *Metrics) ForwardedRefused() { m.guard.forwarded.Inc() }
