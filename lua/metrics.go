package lua

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
)

// metrics of the Redis store.
type metrics struct {
	batch     prometheus.Histogram
	decisions prometheus.Histogram
	seconds   *prometheus.HistogramVec
	failures  *prometheus.CounterVec
	reloaded  prometheus.Counter
	overflows prometheus.Counter
	glances   prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, client redis.UniversalClient, strange func() error) (*metrics, error) {
	m := &metrics{
		batch: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "queue_redis_batch_visitors",
			Help:    "Visitors that travelled in one script call.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 9),
		}),
		decisions: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "queue_redis_pipeline_decisions",
			Help:    "Decisions on limits that travelled in one pipeline.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 8),
		}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:                        "queue_redis_call_seconds",
			Help:                        "Time of one script call, or of a pipeline of them, as this server saw it.",
			Buckets:                     prometheus.ExponentialBuckets(0.000125, 2, 13),
			NativeHistogramBucketFactor: 1.1,
		}, []string{"script"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "queue_redis_failures_total",
			Help: "Calls to Redis that failed.",
		}, []string{"call"}),
		reloaded: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "queue_redis_script_reloads_total",
			Help: "Script calls that found the script missing on the node.",
		}),
		overflows: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "queue_redis_overflows_total",
			Help: "Requests refused because too many waited for a call.",
		}),
		glances: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "queue_redis_glances_total",
			Help: "Polls from far away, answered with the position that others between the same marks had.",
		}),
	}
	for _, call := range []string{"visit", "sweep", "settle", "delete", "zone", "zones", "changes", "ping", "take", "meet"} {
		m.failures.WithLabelValues(call)
	}
	m.seconds.WithLabelValues("visit")
	m.seconds.WithLabelValues("sweep")
	m.seconds.WithLabelValues("take")
	if reg == nil {
		return m, nil
	}
	gauge := func(name, help string, value func(*redis.PoolStats) uint32) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help},
			func() float64 { return float64(value(client.PoolStats())) })
	}
	var errs []error
	for _, c := range []prometheus.Collector{
		m.batch, m.decisions, m.seconds, m.failures, m.reloaded, m.overflows, m.glances,
		gauge("queue_redis_connections", "Open connections.",
			func(p *redis.PoolStats) uint32 { return p.TotalConns }),
		gauge("queue_redis_connections_idle", "Open connections that are idle.",
			func(p *redis.PoolStats) uint32 { return p.IdleConns }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "queue_secrets_differ",
			Help: "1 while servers that use the same Redis have other secrets than this one, which therefore does not serve; else 0.",
		}, func() float64 {
			if strange() != nil {
				return 1
			}
			return 0
		}),
	} {
		errs = append(errs, reg.Register(c))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("lua: metrics: %w", err)
	}
	return m, nil
}
