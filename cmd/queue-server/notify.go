package main

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// closingTimeout is what the loops and the store may take to end, once
// everybody is answered.
const closingTimeout = 5 * time.Second

// tellReady tells the service manager that the server listens, in the way of
// sd_notify(3). Without a service manager ($NOTIFY_SOCKET), nothing happens.
func tellReady(log *slog.Logger, address string) {
	tell(log, daemon.SdNotifyReady, "STATUS=Listening on "+address)
}

// tellStopping tells the service manager that the server drains, for so long,
// and has it wait that long before it kills, whatever its unit says.
func tellStopping(log *slog.Logger, delay time.Duration) {
	tell(log, daemon.SdNotifyStopping, "STATUS=Draining",
		fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", longestStop(delay).Microseconds()))
}

// longestStop is how long a server takes from SIGTERM to its end, at most.
func longestStop(drainDelay time.Duration) time.Duration {
	return drainDelay + shutdownTimeout + closingTimeout
}

// tell sends a message. If that fails, the server goes on serving, and the manager decides what becomes of it.
func tell(log *slog.Logger, lines ...string) {
	if _, err := daemon.SdNotify(false, strings.Join(lines, "\n")); err != nil {
		log.Warn("the service manager could not be told", "error", err)
	}
}
