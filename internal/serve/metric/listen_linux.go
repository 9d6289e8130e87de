package metric

import "github.com/prometheus/procfs"

// readListens reads TcpExt of /proc/self/net/netstat.
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
