package metric

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/procfs"
)

// listens are connections that the kernel turned away before any program saw
// them, as it has counted since this machine, or container, started. It counts
// for all listeners of the network namespace, of which the server's are those
// that a crowd comes to.
type listens struct {
	overflows, drops *prometheus.Desc
	// read returns the two counts; ok is false where they cannot be known.
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

// readListens reads TcpExt of /proc/self/net/netstat, which Linux alone has.
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

// Collect implements prometheus.Collector. Where the kernel does not say, there
// are no series: a 0 would be a claim.
func (l *listens) Collect(out chan<- prometheus.Metric) {
	overflows, drops, ok := l.read()
	if !ok {
		return
	}
	out <- prometheus.MustNewConstMetric(l.overflows, prometheus.CounterValue, overflows)
	out <- prometheus.MustNewConstMetric(l.drops, prometheus.CounterValue, drops)
}
