package lua

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics of the Redis store.
type metrics struct {
	seconds   *prometheus.HistogramVec
	failures  *prometheus.CounterVec
	reloaded  prometheus.Counter
	overflows prometheus.Counter
	touches   prometheus.Counter
}

// is returns the value of a gauge that is 1 while something holds.
func is(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}

func newMetrics(reg prometheus.Registerer, s *Store) (*metrics, error) {
	var all []prometheus.Collector
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		all = append(all, c)
		return c
	}
	gauge := func(name, help string, value func() float64) {
		all = append(all, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	m := &metrics{
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
		reloaded:  counter("queue_redis_script_reloads_total", "Script calls that found the script missing on the node."),
		overflows: counter("queue_redis_overflows_total", "Requests refused because too many waited for a call."),
		touches: counter("queue_redis_touches_total",
			"Polls from far away that Redis was told of afterwards: they were answered with the position that others between the same marks had."),
	}
	all = append(all, m.seconds, m.failures)
	for _, sc := range scripts {
		m.failures.WithLabelValues(sc.name)
	}
	for _, call := range []string{"zone", "zones", "changes", "document", "ping"} {
		m.failures.WithLabelValues(call)
	}
	for _, sc := range []*script{pollScript, touchScript, sweepScript, observeScript, recallScript, reportScript, spendScript, visitScript, allowScript} {
		m.seconds.WithLabelValues(sc.name)
	}
	gauge("queue_secrets_differ",
		"1 while servers that use the same Redis have other secrets than this one, which therefore does not serve; else 0.",
		func() float64 { return is(s.SecretsDiffer() != nil) })
	gauge("queue_redis_evicts",
		"1 while a master of Redis has a maxmemory-policy by which it may remove keys of zones, unless QUEUE_REDIS_EVICTION allows that; else 0.",
		func() float64 { return is(s.evicts.Load()) })
	gauge("queue_redis_login_refused",
		"1 while Redis refuses the user or the password of a new connection, though connections that are open may go on; else 0.",
		func() float64 { return is(s.loginRefused.Load()) })
	if reg == nil {
		return m, nil
	}
	var errs []error
	for _, c := range all {
		errs = append(errs, reg.Register(c))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("lua: metrics: %w", err)
	}
	return m, nil
}
