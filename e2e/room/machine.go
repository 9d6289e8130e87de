package room

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// tick is the timer by whose lateness the machine is judged.
const tick = 10 * time.Millisecond

// latest is by how much, in nanoseconds, the timer was late at most since the process began.
var latest = watchTimers()

func watchTimers() *atomic.Int64 {
	late := new(atomic.Int64)
	go func() {
		was := time.Now()
		for range time.Tick(tick) {
			now := time.Now()
			late.Store(max(late.Load(), int64(now.Sub(was)-tick)))
			was = now
		}
	}()
	return late
}

// Lateness is by how much a timer of 10 ms was late at most, since this process began. What takes
// longer than it may on a machine that is late by itself is no fault of the room.
func Lateness() time.Duration { return time.Duration(latest.Load()) }

// Machine says what was seen of the machine: for what judges real time and fails.
func Machine() string {
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		load = []byte("unknown")
	}
	steal := "unknown"
	if stat, err := os.ReadFile("/proc/stat"); err == nil {
		first, _, _ := strings.Cut(string(stat), "\n")
		if all := strings.Fields(first); len(all) > 8 {
			steal = all[8]
		}
	}
	return fmt.Sprintf("the machine: load average %s, %s hundredths of a second stolen since it booted, a timer of %v up to %v late",
		strings.TrimSpace(string(load)), steal, tick, Lateness().Round(time.Millisecond))
}
