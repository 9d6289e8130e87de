package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"golang.org/x/net/netutil"
)

// TestTheStoreHasItsFiles: where visitors have all the connections that they may, operators and Redis get theirs. From
// 1,000 files on, visitors alone have QueueFilesRunOut fire, which does so above 70 %, before they are refused.
func TestTheStoreHasItsFiles(t *testing.T) {
	for _, most := range []int{0, 3, 100, 256, 1000, 1024, 1600, 4096, 20_000, 1 << 20} {
		b := budgetOf(most)
		own := most - b.public - b.gateways - b.operators
		if b.public < 1 || b.gateways < 1 || b.operators < 1 || own < min(ownFiles, most/2-3) {
			t.Errorf("of %d files: %+v, and %d for the store", most, b, own)
		}
		if most >= 1000 && b.public <= most*7/10 {
			t.Errorf("of %d files visitors have %d", most, b.public)
		}
	}
}

// TestTimeLimitsOfConnections: fewer are set than asked for, and all of them hold.
func TestTimeLimitsOfConnections(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	all := newCounted(prometheus.NewRegistry(), l, "public", 10, nil)
	t.Cleanup(func() { _ = all.Close() })
	peer, err := new(net.Dialer).DialContext(t.Context(), "tcp", l.Addr().String())
	must(t, err)
	conn, err := all.Accept()
	must(t, err)
	t.Cleanup(func() { _, _ = conn.Close(), peer.Close() })
	past, later := time.Unix(1, 0), time.Now().Add(time.Hour)
	read := func() error { _, err := conn.Read(make([]byte, 1)); return err }
	write := func() error { _, err := conn.Write([]byte("x")); return err }

	must(t, conn.SetReadDeadline(past))
	if err := read(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a read after its time: %v", err)
	}
	_, err = peer.Write([]byte("ab"))
	must(t, err)
	must(t, conn.SetReadDeadline(time.Time{}))
	must(t, read())
	must(t, conn.SetReadDeadline(time.Time{}))
	must(t, conn.SetReadDeadline(past))
	if err := read(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a limit after one that was taken away: %v", err)
	}

	must(t, conn.SetWriteDeadline(past))
	must(t, conn.SetWriteDeadline(past.Add(time.Second/2)))
	if err := write(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a write after its time: %v", err)
	}
	for _, limit := range []time.Time{{}, later, later.Add(time.Second / 2), {}} {
		must(t, conn.SetWriteDeadline(limit))
		must(t, write())
	}
	must(t, conn.SetWriteDeadline(later))
	must(t, conn.SetWriteDeadline(past))
	if err := write(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a limit that is earlier than the one before: %v", err)
	}
}

func TestAnAddressHasAShareOfTheConnections(t *testing.T) {
	for name, tt := range map[string]struct {
		addr  func(i int) string
		taken int
	}{
		"one":                {func(int) string { return "203.0.113.1" }, 2},
		"one line of IPv6":   {func(i int) string { return fmt.Sprintf("2001:db8::%x", i+1) }, 2},
		"a trusted proxy":    {func(int) string { return "10.1.2.3" }, 5},
		"this machine":       {func(int) string { return "127.0.0.1" }, 5},
		"several":            {func(i int) string { return fmt.Sprintf("203.0.113.%d", i+1) }, 5},
		"IPv4 in IPv6's way": {func(int) string { return "::ffff:203.0.113.1" }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			l := newCounted(prometheus.NewRegistry(), nil, "public", 2, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")})
			var keys []string
			for i := range 5 {
				if key := l.key(&net.TCPAddr{IP: net.ParseIP(tt.addr(i)), Port: 5}); l.count(key) {
					keys = append(keys, key)
				}
			}
			if len(keys) != tt.taken || l.n.Load() != int64(tt.taken) {
				t.Errorf("%d of 5 taken, %v open, want %d", len(keys), l.n.Load(), tt.taken)
			}
			l.forget(keys[0])
			if !l.count(keys[0]) {
				t.Error("there is room again, and the next one was not taken")
			}
			for _, key := range keys {
				l.forget(key)
			}
			if len(l.from) != 0 || l.n.Load() != 0 {
				t.Errorf("left behind: %v", l.from)
			}
		})
	}
}

// TestAFullListenerMakesOthersWait: whoever comes to a full listener is answered when there is room, on each of them. nginx
// takes a connection that is closed for a server that is gone, and then lets everybody go on into the shop.
func TestAFullListenerMakesOthersWait(t *testing.T) {
	l, err := listen(t.Context(), "public", "127.0.0.1:0", time.Minute)
	must(t, err)
	counted := newCounted(prometheus.NewRegistry(), l.Listener, "public", math.MaxInt, nil)
	l.Listener = netutil.LimitListener(counted, 1)
	began, goOn := make(chan struct{}, 2), make(chan struct{})
	l.serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		began <- struct{}{}
		<-goOn
		w.Header().Set("Connection", "close")
		_, _ = io.WriteString(w, "done")
	}), time.Minute, newLogger(io.Discard, checked{}), make(chan error, 1))
	got := make(chan reply, 2)
	for range 2 {
		go func() { got <- request(t, "GET", "http://"+l.Addr().String(), "") }()
	}
	<-began
	if _, may := acceptQueue(counted.Listener); runtime.GOOS == "linux" && may == 0 {
		t.Error("the length of the accept queue is not known")
	}
	if n := counted.n.Load(); n != 1 || len(began) != 0 {
		t.Errorf("%v are open, and %d more at work, want one", n, len(began))
	}
	close(goOn)
	for range 2 {
		if r := <-got; r.body != "done" {
			t.Errorf("%+v", r)
		}
	}
	must(t, l.drain(t.Context()))
	if n := counted.n.Load(); n != 0 || testutil.ToFloat64(counted.refused) != 0 {
		t.Errorf("%v are open at the end, %v refused", n, testutil.ToFloat64(counted.refused))
	}
}

// TestListenersDrainTogether: while one visitor's answer takes its time, gateways are not left with a listener that will be
// cut off with all their requests at the end.
func TestListenersDrainTogether(t *testing.T) {
	began, goOn := make(chan struct{}), make(chan struct{})
	failed := make(chan error, 2)
	var all []*listener
	for _, h := range []http.HandlerFunc{
		func(http.ResponseWriter, *http.Request) { close(began); <-goOn },
		func(http.ResponseWriter, *http.Request) {},
	} {
		l, err := listen(t.Context(), "any", "127.0.0.1:0", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		l.serve(h, time.Minute, newLogger(io.Discard, checked{}), failed)
		all = append(all, l)
	}
	got, drained := make(chan reply), make(chan error)
	go func() { got <- request(t, "GET", "http://"+all[0].Addr().String(), "") }()
	<-began
	go func() { drained <- drain(t.Context(), 0, all...) }()
	ended := make(chan struct{})
	go func() { all[1].running.Wait(); close(ended) }()
	select {
	case <-ended:
	case err := <-drained:
		t.Errorf("drained before all were answered: %v", err)
	case <-time.After(patience):
		t.Error("the second listener takes connections while the first is drained")
	}
	close(goOn)
	if r := <-got; r.status != http.StatusOK {
		t.Errorf("%+v", r)
	}
	if err := <-drained; err != nil {
		t.Error(err)
	}
}
