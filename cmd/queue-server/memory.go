package main

import "runtime/debug"

// gcPercent lets the heap grow to five times what is in use before it is
// collected. A server's heap is small next to the machine (5 MB on Redis, 60 MB
// with a million waiting in the embedded store), so that Go's default of 100
// has it collect dozens of times a second under a rush. Measured: 7 to 10 % of
// the processor time of a poll. GOGC and GOMEMLIMIT, where set, have their say.
const gcPercent = 400

// tuneGC sets the collector for a server, unless the operator did.
func tuneGC(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
