package metric

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestAFullListenQueueIsCounted makes the kernel itself turn connections away.
func TestAFullListenQueueIsCounted(t *testing.T) {
	overflows, drops, ok := readListens()
	if !ok {
		t.Fatal("this kernel does not count")
	}
	address := deafListener(t)
	for deadline := time.Now().Add(time.Minute); ; {
		now, nowDrops, ok := readListens()
		if now > overflows && nowDrops > drops && ok {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("still %v overflows and %v drops", now, nowDrops)
		}
		knock(t, address)
	}
}

// deafListener returns the address of a listener that accepts no connection, and whose
// queue is as short as possible.
func deafListener(t *testing.T) string {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	raw, err := l.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	// A second listen changes the length of the queue.
	err = raw.Control(func(fd uintptr) { failed = syscall.Listen(int(fd), 0) })
	if err := errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}

// knock tries to connect, for a moment. A connection that got into the queue stays in it.
func knock(t *testing.T, address string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if c, err := new(net.Dialer).DialContext(ctx, "tcp", address); err == nil {
		t.Cleanup(func() { _ = c.Close() })
	}
}

func TestListens(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	l := newListens()
	known := true
	l.read = func() (overflows, drops float64, ok bool) { return 3, 5, known }
	if err := reg.Register(l); err != nil {
		t.Fatal(err)
	}
	const text = `
# HELP queue_listen_drops_total Connections that the kernel turned away from a listener for any reason, a full queue included; all of the network namespace.
# TYPE queue_listen_drops_total counter
queue_listen_drops_total 5
# HELP queue_listen_overflows_total Connections that the kernel turned away since a listen queue was full; all listeners of the network namespace.
# TYPE queue_listen_overflows_total counter
queue_listen_overflows_total 3
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(text)); err != nil {
		t.Error(err)
	}
	known = false
	if err := testutil.GatherAndCompare(reg, strings.NewReader("")); err != nil {
		t.Errorf("where nothing is known: %v", err)
	}
}
