package main

import (
	"math"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
)

// gcPercent lets the heap grow to five times what is in use before it is
// collected. A server's heap is small next to the machine (5 MB on Redis, 60 MB
// with a million waiting in the embedded store), so that Go's default of 100
// has it collect dozens of times a second under a rush. Measured: 7 to 10 % of
// the processor time of a poll. GOGC and GOMEMLIMIT, where set, have their say.
const gcPercent = 400

// memoryShare is how much of what the control group may have the collector keeps
// to, in percent. The rest is for what it does not see: the kernel counts the
// sockets' buffers, too.
const memoryShare = 80

// tuneGC sets the collector for a server, unless the operator did: to collect seldom,
// and more often where the memory of its control group (of a container, or the unit's
// MemoryMax) comes to an end.
func tuneGC(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if getenv("GOMEMLIMIT") == "" {
		if most := groupMemory("/proc/self/cgroup", "/sys/fs/cgroup"); most < math.MaxInt64 {
			debug.SetMemoryLimit(most / 100 * memoryShare)
		}
	}
}

// groupMemory is the least memory in bytes that a control group of this process
// (version 2) or one above it may have; math.MaxInt64 where none is limited.
func groupMemory(own, root string) int64 {
	least := int64(math.MaxInt64)
	text, err := os.ReadFile(own)
	if err != nil {
		return least // no Linux
	}
	for line := range strings.Lines(string(text)) {
		group, ours := strings.CutPrefix(strings.TrimSpace(line), "0::")
		for ; ours; group = path.Dir(group) {
			if most, err := os.ReadFile(filepath.Join(root, group, "memory.max")); err == nil {
				if n, err := strconv.ParseInt(strings.TrimSpace(string(most)), 10, 64); err == nil { // else "max"
					least = min(least, n)
				}
			}
			if group == "/" || group == "." {
				break
			}
		}
	}
	return least
}
