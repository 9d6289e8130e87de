package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// crowdedAt is a bound with a clock that the test moves.
func crowdedAt(most, perAddress int) (b *connections, pass func(time.Duration)) {
	b = newConnections("public", most, perAddress, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")})
	now := b.began
	b.now = func() time.Time { return now }
	return b, func(d time.Duration) { now = now.Add(d) }
}

// comes has an address open a connection, and tells whether it may, and how many
// were closed for it.
func (b *connections) comes(addr string) (c *connection, taken bool, closed int) {
	c = &connection{of: b, key: b.keyOf(&net.TCPAddr{IP: net.ParseIP(addr), Port: 5})}
	c.waits.Store(b.time())
	taken, others := b.add(c)
	return c, taken, len(others)
}

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

func TestOneWhoWaitsMakesRoom(t *testing.T) {
	b, pass := crowdedAt(3, 0)
	oldest, _, _ := b.comes("203.0.113.1")
	pass(time.Second)
	busy, _, _ := b.comes("203.0.113.2")
	stateChanged(busy, http.StateActive)
	pass(time.Second)
	idle, _, _ := b.comes("203.0.113.3")
	stateChanged(idle, http.StateActive)
	stateChanged(idle, http.StateIdle)
	for step, want := range []struct {
		taken  bool
		closed int
	}{{true, 1}, {false, 0}} {
		if _, taken, closed := b.comes("203.0.113.4"); taken != want.taken || closed != want.closed {
			t.Errorf("step %d: taken %t, closed %d, want %+v", step, taken, closed, want)
		}
	}
	if _, open := b.all[oldest]; open {
		t.Error("the one that had waited longest is open")
	}
	pass(leastWait)
	if _, taken, closed := b.comes("203.0.113.5"); !taken || closed != 1 {
		t.Errorf("a second later: taken %t, closed %d", taken, closed)
	}
	if _, open := b.all[busy]; !open {
		t.Error("one that was at work was closed")
	}
	if n := testutil.ToFloat64(b.open); n != 3 {
		t.Errorf("%v open, want 3", n)
	}
}

// TestTimeLimitsOfConnections: fewer are set than asked for, and all of them hold.
func TestTimeLimitsOfConnections(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	all := bounded{l, newConnections("public", 10, 0, nil)}
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
			b, pass := crowdedAt(100, 2)
			n := 0
			for i := range 5 {
				if _, taken, _ := b.comes(tt.addr(i)); taken {
					n++
				}
			}
			if n != tt.taken {
				t.Errorf("%d of 5 taken, want %d", n, tt.taken)
			}
			pass(leastWait)
			if _, taken, closed := b.comes(tt.addr(0)); !taken || closed != 1 && tt.taken == 2 {
				t.Errorf("after a while: taken %t, closed %d", taken, closed)
			}
			for c := range b.all {
				b.forget(c)
				b.forget(c) // net/http may close twice
			}
			if len(b.all) != 0 || len(b.from) != 0 {
				t.Errorf("left behind: %d, %v", len(b.all), b.from)
			}
		})
	}
}

// TestAFullListenerClosesAtOnce whom it has no room for, and serves whom it has.
func TestAFullListenerClosesAtOnce(t *testing.T) {
	l, err := listen(t.Context(), "public", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := newConnections("public", 1, 0, nil)
	l.Listener = bounded{l.Listener, b}
	began, goOn := make(chan struct{}), make(chan struct{})
	failed := make(chan error, 1)
	l.serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(began)
		<-goOn
		_, _ = io.WriteString(w, "done")
	}), time.Minute, newLogger(io.Discard, checked{}), failed)
	got := make(chan reply)
	go func() { got <- request(t, "GET", "http://"+l.Addr().String(), "") }()
	<-began
	if err := readOf(l.Addr().String()); err == nil || os.IsTimeout(err) {
		t.Errorf("a second connection: %v, want that it is closed", err)
	}
	close(goOn)
	if r := <-got; r.body != "done" || testutil.ToFloat64(b.refused) != 1 {
		t.Errorf("%+v, %v refused", r, testutil.ToFloat64(b.refused))
	}
	if err := l.drain(t.Context()); err != nil {
		t.Error(err)
	}
	if n := testutil.ToFloat64(b.open); n != 0 {
		t.Errorf("%v are open at the end", n)
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
		l, err := listen(t.Context(), "any", "127.0.0.1:0")
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
	case <-time.After(5 * time.Second):
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

// TestGatewaysWaitForRoom: nginx takes a connection that is closed for a server that is gone, and then lets everybody
// go on into the shop.
func TestGatewaysWaitForRoom(t *testing.T) {
	var all []*listener
	for range 4 {
		l, err := listen(t.Context(), "any", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
		defer func() { _ = l.close() }()
	}
	if err := boundConnections(checked{}, prometheus.NewRegistry(), all[0], all[1], all[2], all[3]); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{false, false, true, true} {
		if l, ok := all[i].Listener.(bounded); !ok || l.by.patient != want {
			t.Errorf("listener %d: %+v, want patient %t", i, all[i].Listener, want)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		b := newConnections("site", 1, 0, nil)
		b.patient = true
		busy, _, _ := b.comes("203.0.113.1")
		stateChanged(busy, http.StateActive)
		var came atomic.Bool
		go func() { came.Store(b.hasRoom(&connection{of: b})) }()
		synctest.Wait()
		if came.Load() || len(b.all) != 1 {
			t.Errorf("there is room for one, and %d are open", len(b.all))
		}
		b.forget(busy)
		synctest.Wait()
		if !came.Load() {
			t.Error("there is room, and the one that waits was not taken")
		}
	})
}

// readOf opens a connection and reads of it, and returns what ends that.
func readOf(addr string) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err // closed before it was seen open
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 1))
	return err
}
