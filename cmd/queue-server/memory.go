package main

import (
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// gcPercent lets the heap grow to five times what is in use before it is
// collected. A server's heap is small next to the machine (5 MB on Redis, 60 MB
// with a million waiting in the embedded store), so that Go's default of 100
// has it collect dozens of times a second under a rush. Measured: 7 to 10 % of
// the processor time of a poll. GOGC and GOMEMLIMIT, where set, have their say.
const gcPercent = 400

// memoryShare is how much of what the control group may have, or else of the machine's
// memory, the collector keeps to. The rest is for what it does not see: the kernel counts the sockets' buffers, too.
const memoryShare = 0.8

// tuneGC sets the collector for a server, unless the operator did: to collect seldom,
// and more often where the memory of its control group (of a container, or the unit's
// MemoryMax), or of the machine, comes to an end.
func tuneGC(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if getenv("GOMEMLIMIT") == "" {
		// Where the system says neither, there is no limit.
		_, _ = memlimit.Set(memlimit.WithRatio(memoryShare), memlimit.WithProvider(memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)))
	}
}
