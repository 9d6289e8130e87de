package main

import (
	"errors"
	"math"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/openqueue/waitingroom/internal/limits/address"
)

const (
	// addressConnections is the most that one address may have open: a school, or a
	// provider's customers behind one. A browser has one to six.
	addressConnections = 1024
	// leastWait is how long a connection must have waited for a request before it is
	// closed for another: a visitor's first request is on its way for less.
	leastWait = time.Second
	// sampled is how many connections are looked at for the one that has waited
	// longest. Of 16, it is among the oldest eighth with a chance of 88 %.
	sampled = 16
	// filesReserved are kept from visitors: a quarter of what may be open, 4,096 at
	// most. Of that, operators have a quarter, gateways half, and the store's
	// connections and files the rest, ownFiles at least.
	filesReserved = 4096
	// ownFiles is what the store's connections (64 to a node of Redis) and this process's files may take.
	ownFiles = 100
)

// budget says how many connections the listeners may have open.
type budget struct {
	public, gateways, operators int
}

// readBudget makes one of how many files this process may have open.
func readBudget() budget {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		files.Cur = 1024 // what most systems give a process, if nobody asks for more
	}
	return budgetOf(int(min(files.Cur, math.MaxInt32)))
}

// budgetOf shares out so many files.
func budgetOf(most int) budget {
	reserved := min(most/4, filesReserved)
	own := min(max(reserved/4, ownFiles), most/2)
	// Gateways are few, and each keeps its connections busy.
	b := budget{gateways: max(1, reserved/2), operators: max(1, reserved/4)}
	b.public = max(1, most-own-b.gateways-b.operators)
	return b
}

// boundConnections bounds the connections of all listeners: so that visitors do not
// shut the operators out, nor one address the others.
func boundConnections(s checked, reg prometheus.Registerer, public, operators, limits, site *listener) error {
	may, perAddress := readBudget(), addressConnections
	if s.DoorLimits == guardOff { // a load test comes from one address
		perAddress = 0
	}
	share := may.gateways
	if limits != nil && site != nil {
		share = max(1, share/2)
	}
	var err error
	bound := func(l *listener, by *connections) {
		if l != nil {
			l.Listener = bounded{l.Listener, by}
			err = errors.Join(err, by.register(reg))
		}
	}
	bound(public, newConnections("public", may.public, min(perAddress, max(1, may.public/4)), s.proxies))
	bound(operators, newConnections("operators", may.operators, 0, nil))
	bound(limits, newConnections("limits", share, 0, nil).patiently())
	bound(site, newConnections("site", share, 0, nil).patiently())
	return err
}

// connections bounds what is open on the listeners that share it, in all and for each
// address. Where another one comes, one that waits for a request is closed for it, of
// those that have waited longest: nothing is lost with it. Where all are at work, the
// newcomer is closed at once, or waits for room if the bound is patient.
type connections struct {
	most, perAddress int
	// patient: gateways take a connection that is closed for a server that is gone, and some let everybody go on then.
	patient bool
	// left is told when there is room again.
	left chan struct{}
	// exempt are addresses behind which are many clients: trusted proxies'. This
	// machine's are so without being named.
	exempt []netip.Prefix
	now    func() time.Time
	began  time.Time

	mu  sync.Mutex
	all map[*connection]struct{}
	// from are those of an address, by its key; without the exempt.
	from map[string]map[*connection]struct{}

	open                  prometheus.Gauge
	refused, closedForNew prometheus.Counter
}

// newConnections returns a bound for the listeners of this name. perAddress 0 sets
// none for an address.
func newConnections(name string, most, perAddress int, exempt []netip.Prefix) *connections {
	labels := prometheus.Labels{"listener": name}
	return &connections{
		most: most, perAddress: perAddress, exempt: exempt, now: time.Now, began: time.Now(),
		left: make(chan struct{}, 1),
		all:  make(map[*connection]struct{}), from: make(map[string]map[*connection]struct{}),
		open: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "queue_connections_open", Help: "Connections that clients have open.", ConstLabels: labels,
		}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "queue_connections_refused_total", Help: "Connections closed at once, since as many as may be were at work.", ConstLabels: labels,
		}),
		closedForNew: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "queue_connections_replaced_total", Help: "Connections closed while they waited for a request, so that another could be opened.", ConstLabels: labels,
		}),
	}
}

// patiently makes the bound patient.
func (b *connections) patiently() *connections {
	b.patient = true
	return b
}

// register registers the figures.
func (b *connections) register(reg prometheus.Registerer) error {
	return errors.Join(reg.Register(b.open), reg.Register(b.refused), reg.Register(b.closedForNew))
}

// connection is one that counts.
type connection struct {
	*net.TCPConn
	of *connections
	// key is the address's; "" for one that is exempt.
	key string
	// waits is since when a request is waited for, in nanoseconds from of.began; 0
	// while one is answered.
	waits         atomic.Int64
	reads, writes timeLimit
}

// timeLimit is that of one direction of a connection. An http.Server sets and takes away eight of
// them a request, which costs more than routing it. Most make no difference: one that is later
// than the one before by less than a second, and one that is taken away before another is set.
type timeLimit struct {
	// mu is held while the connection is told: an http.Server reads ahead in one goroutine, and ends that in another.
	mu sync.Mutex
	// by is the one that is set. lapsed: it is to be taken away before the connection is used.
	by     time.Time
	lapsed bool
}

// change gives the connection this one, if it makes a difference.
func (l *timeLimit) change(to time.Time, set func(time.Time) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lapsed = to.IsZero(); l.lapsed {
		return nil
	}
	if later := to.Sub(l.by); later >= 0 && later < time.Second {
		return nil
	}
	l.by = to
	return set(to)
}

// lapses takes one away that has lapsed.
func (l *timeLimit) lapses(set func(time.Time) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.lapsed {
		return nil
	}
	l.lapsed = false
	l.by = time.Time{}
	return set(time.Time{})
}

// SetWriteDeadline is that of a net.Conn, for the next write on.
func (c *connection) SetWriteDeadline(t time.Time) error {
	return c.writes.change(t, c.TCPConn.SetWriteDeadline)
}

// SetReadDeadline is that of a net.Conn, but that a read which is under way keeps its limit when
// it is taken away: each request has one.
func (c *connection) SetReadDeadline(t time.Time) error {
	return c.reads.change(t, c.TCPConn.SetReadDeadline)
}

// SetDeadline is both.
func (c *connection) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// Read reads.
func (c *connection) Read(p []byte) (int, error) {
	if err := c.reads.lapses(c.TCPConn.SetReadDeadline); err != nil {
		return 0, err
	}
	return c.TCPConn.Read(p)
}

// Write writes.
func (c *connection) Write(p []byte) (int, error) {
	if err := c.writes.lapses(c.TCPConn.SetWriteDeadline); err != nil {
		return 0, err
	}
	return c.TCPConn.Write(p)
}

// Close closes it, and counts it no more.
func (c *connection) Close() error {
	c.of.forget(c)
	return c.TCPConn.Close()
}

// stateChanged is an http.Server's ConnState.
func stateChanged(conn net.Conn, state http.ConnState) {
	c, ok := conn.(*connection)
	switch {
	case !ok:
	case state == http.StateIdle:
		c.waits.Store(c.of.time())
	case state == http.StateActive:
		c.waits.Store(0)
	}
}

// time is never 0.
func (b *connections) time() int64 { return int64(b.now().Sub(b.began)) + 1 }

// hasRoom counts a connection; false if there is no room for it, for which a patient bound waits.
func (b *connections) hasRoom(c *connection) bool {
	taken := b.makeRoom(c)
	for ; !taken && b.patient; taken = b.makeRoom(c) {
		select {
		case <-b.left:
		case <-time.After(leastWait / 10): // one may have waited for a request for long enough by now
		}
	}
	return taken
}

// makeRoom counts a connection, and closes those that have to go for it; false if there is no room.
func (b *connections) makeRoom(c *connection) bool {
	c.waits.Store(b.time())
	b.mu.Lock()
	taken, closed := b.add(c)
	b.mu.Unlock()
	for _, other := range closed {
		b.closedForNew.Inc()
		_ = other.TCPConn.Close() // nobody waits for it
	}
	return taken
}

// add counts a connection, unless there is no room, and returns those that were taken
// out for it. The caller holds mu.
func (b *connections) add(c *connection) (taken bool, closed []*connection) {
	if c.key != "" && b.perAddress > 0 && len(b.from[c.key]) >= b.perAddress {
		other := b.longest(b.from[c.key])
		if other == nil {
			return false, nil
		}
		b.remove(other)
		closed = append(closed, other)
	}
	if len(b.all) >= b.most {
		other := b.longest(b.all)
		if other == nil {
			return false, closed
		}
		b.remove(other)
		closed = append(closed, other)
	}
	b.all[c] = struct{}{}
	if c.key != "" {
		if b.from[c.key] == nil {
			b.from[c.key] = make(map[*connection]struct{})
		}
		b.from[c.key][c] = struct{}{}
	}
	b.open.Set(float64(len(b.all)))
	return true, closed
}

// longest is the one of some that has waited longest for a request; nil if none of
// them has for leastWait. The caller holds mu.
func (b *connections) longest(of map[*connection]struct{}) (found *connection) {
	latest, n := b.time()-int64(leastWait), 0
	for c := range of { // begins anywhere
		if at := c.waits.Load(); at > 0 && at <= latest {
			found, latest = c, at
		}
		if n++; n == sampled {
			break
		}
	}
	return found
}

func (b *connections) forget(c *connection) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.remove(c)
}

// remove counts one no more. The caller holds mu.
func (b *connections) remove(c *connection) {
	delete(b.all, c)
	delete(b.from[c.key], c)
	if len(b.from[c.key]) == 0 {
		delete(b.from, c.key)
	}
	b.open.Set(float64(len(b.all)))
	select {
	case b.left <- struct{}{}:
	default: // it was told before, and has not looked yet
	}
}

// keyOf is what connections of an address are counted under; "" for one that is exempt.
func (b *connections) keyOf(a net.Addr) string {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return address.Key("")
	}
	from := at.Addr().Unmap().WithZone("")
	if from.IsLoopback() || address.Within(b.exempt, from) {
		return ""
	}
	return address.Key(from.String())
}

// bounded is a listener whose connections are bounded.
type bounded struct {
	net.Listener
	by *connections
}

// Accept waits for a connection for which there is room, and closes the others.
func (l bounded) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		tcp, ok := conn.(*net.TCPConn)
		if !ok { // listen opens no others
			return conn, nil
		}
		c := &connection{TCPConn: tcp, of: l.by, key: l.by.keyOf(tcp.RemoteAddr())}
		if l.by.hasRoom(c) {
			return c, nil
		}
		l.by.refused.Inc()
		_ = tcp.SetLinger(0) // nothing of it is to stay, in the kernel neither
		_ = tcp.Close()
	}
}
