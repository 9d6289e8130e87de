package metric

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/procfs"
)

// listens shows the connections that the kernel turned away before any program
// saw them, counted since this machine, or container, started. The kernel counts
// for all listeners of the network namespace together. A crowd comes to those of
// this server.
type listens struct {
	overflows, drops *prometheus.Desc
	// read returns the two counts; ok is false if they are not known.
	read func() (overflows, drops float64, ok bool)
}

func newListens() *listens {
	return &listens{
		overflows: prometheus.NewDesc("queue_listen_overflows_total",
			"Connections that the kernel turned away since a listen queue was full; all listeners of the network namespace.", nil, nil),
		drops: prometheus.NewDesc("queue_listen_drops_total",
			"Connections that the kernel turned away from a listener for any reason, a full queue included; all of the network namespace.",
			nil, nil),
		read: readListens,
	}
}

// readListens reads TcpExt of /proc/self/net/netstat, which only Linux has.
func readListens() (overflows, drops float64, ok bool) {
	self, err := procfs.Self()
	if err != nil {
		return 0, 0, false
	}
	all, err := self.Netstat()
	if err != nil || all.ListenOverflows == nil || all.ListenDrops == nil {
		return 0, 0, false
	}
	return *all.ListenOverflows, *all.ListenDrops, true
}

// Describe implements prometheus.Collector.
func (l *listens) Describe(out chan<- *prometheus.Desc) {
	out <- l.overflows
	out <- l.drops
}

// Collect implements prometheus.Collector. If the counts are not known, there are no
// series: a 0 would say that no connection was turned away.
func (l *listens) Collect(out chan<- prometheus.Metric) {
	overflows, drops, ok := l.read()
	if !ok {
		return
	}
	out <- prometheus.MustNewConstMetric(l.overflows, prometheus.CounterValue, overflows)
	out <- prometheus.MustNewConstMetric(l.drops, prometheus.CounterValue, drops)
}
