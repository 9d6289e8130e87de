package fault

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
)

// Ports are taken from below those that systems give to outgoing connections:
// a port that a killed process leaves for a second must still be free when it
// comes back.
const (
	firstPort = 11_000
	portCount = 20_000
)

// lastPort is the offset of the port that was given out last; where it begins
// keeps two test runs on one machine apart.
var lastPort = func() *atomic.Uint32 {
	v := new(atomic.Uint32)
	v.Store(rand.Uint32N(portCount))
	return v
}()

// freePort returns a port of 127.0.0.1 that nobody listens on.
func freePort(t testing.TB) int {
	t.Helper()
	for range portCount {
		port := firstPort + int(lastPort.Add(1)%portCount)
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", local(port))
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		return port
	}
	t.Fatal("no port is free")
	return 0
}

// local is a port of this machine.
func local(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
