package main

import (
	"math"
	"net"
	"syscall"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestACrowdedAcceptQueueIsCounted: also one that is empty again before anybody looks.
func TestACrowdedAcceptQueueIsCounted(t *testing.T) {
	inner, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	l := newCounted(prometheus.NewRegistry(), inner, "public", math.MaxInt, nil)
	defer func() { must(t, l.Close()) }()
	socket, ok := inner.(*net.TCPListener)
	if !ok {
		t.Fatalf("the listener is a %T", inner)
	}
	raw, err := socket.SyscallConn()
	must(t, err)
	must(t, raw.Control(func(fd uintptr) { must(t, syscall.Listen(int(fd), 4)) })) // at most 4 wait
	if _, most := acceptQueue(inner); most != 4 {
		t.Fatalf("at most %d wait, want 4", most)
	}
	for range 4 {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", inner.Addr().String())
		must(t, err)
		defer func() { _ = conn.Close() }()
	}
	for i, want := range []float64{1, 1, 1, 1} { // 3, 2, 1 and none are left
		conn, err := l.Accept()
		must(t, err)
		_ = conn.Close()
		if got := testutil.ToFloat64(l.crowded); got != want {
			t.Errorf("after %d connections: %v crowded, want %v", i+1, got, want)
		}
	}
}
