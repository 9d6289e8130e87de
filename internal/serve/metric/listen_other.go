//go:build !linux

package metric

// readListens knows no other kernel's counts.
func readListens() (overflows, drops float64, ok bool) { return 0, 0, false }
