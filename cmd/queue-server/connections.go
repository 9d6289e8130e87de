package main

import (
	"log/slog"
	"math"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/net/netutil"

	"github.com/openqueue/waitingroom/internal/limits/address"
)

const (
	// addressConnections is the most that one address may have open: a school, or a
	// provider's customers behind one. A browser has one to six.
	addressConnections = 1024
	// filesReserved are kept from visitors: a quarter of what may be open, 4,096 at
	// most. Of that, operators have a quarter, gateways half, and the store's
	// connections and files the rest, ownFiles at least.
	filesReserved = 4096
	// ownFiles is what the store's connections (64 to a node of Redis) and this process's files may take.
	ownFiles = 100
)

// budget says how many connections the listeners may have open.
type budget struct {
	// sites is for visitors of sites where there are any, and as many again for connections to the sites.
	public, gateways, operators, sites int
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
	b.sites = max(1, b.public*3/8)
	return b
}

// boundConnections bounds the connections of all listeners, so that visitors do not shut the operators out, nor one
// address the others. A connection for which a listener has no room waits in the kernel's queue.
func boundConnections(s checked, reg prometheus.Registerer, log *slog.Logger, open listeners) {
	may, perAddress := readBudget(), addressConnections
	if s.DoorLimits == guardOff { // a load test comes from one address
		perAddress = math.MaxInt
	}
	gateways := may.gateways
	if open.limits != nil && open.site != nil {
		gateways = max(1, gateways/2)
	}
	bound := func(l *listener, name string, most, perAddress int) {
		if l == nil {
			return
		}
		c := newCounted(reg, l.Listener, name, perAddress, s.proxies)
		if (l == open.public || l == open.sites) && len(s.balancers) > 0 {
			c.Listener = newProxied(l.Listener, s.balancers, log)
		}
		l.Listener = netutil.LimitListener(c, most)
	}
	if open.sites != nil {
		may.public = max(1, may.public-2*may.sites)
	}
	bound(open.public, "public", may.public, min(perAddress, max(1, may.public/4)))
	bound(open.sites, "sites", may.sites, min(perAddress, max(1, may.sites/4)))
	bound(open.operators, "operators", may.operators, math.MaxInt)
	bound(open.limits, "limits", gateways, math.MaxInt)
	bound(open.site, "site", gateways, math.MaxInt)
}

// counted is a listener that counts its connections, and closes those of an address that has as many as it may: the address that
// a balancer names by the PROXY protocol, if it does.
type counted struct {
	net.Listener
	perAddress int
	// exempt are the networks of trusted proxies, behind which are many clients. Loopback addresses are always exempt.
	exempt []netip.Prefix

	mu   sync.Mutex
	from map[string]int // by the address's key; without the exempt
	n    atomic.Int64   // of all addresses

	refused, crowded prometheus.Counter
}

// newCounted counts the connections of a listener under its name, and registers the figures with reg.
func newCounted(reg prometheus.Registerer, l net.Listener, name string, perAddress int, exempt []netip.Prefix) *counted {
	labels := prometheus.Labels{"listener": name}
	c := &counted{
		Listener: l, perAddress: perAddress, exempt: exempt, from: make(map[string]int),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "queue_connections_refused_total", Help: "Connections closed at once, since their address had as many as it may.", ConstLabels: labels,
		}),
		crowded: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "queue_accept_queue_crowded_total", ConstLabels: labels,
			Help: "Connections that were accepted while more than half as many as may were waiting in the kernel.",
		}),
	}
	gauge := func(name, help string, value func() float64) prometheus.GaugeFunc {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, value)
	}
	reg.MustRegister(c.refused, c.crowded,
		gauge("queue_connections_open", "Connections that clients have open.", func() float64 { return float64(c.n.Load()) }),
		gauge("queue_accept_queue_length", "Connections that wait in the kernel until this server accepts them.",
			func() float64 { n, _ := acceptQueue(l); return float64(n) }),
		gauge("queue_accept_queue_limit", "How many connections may wait in the kernel; the next ones are lost.",
			func() float64 { _, most := acceptQueue(l); return float64(most) }))
	return c
}

// Accept waits for a connection whose address may have one more, and closes the others.
func (l *counted) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if n, most := acceptQueue(l.Listener); n > most/2 {
			l.crowded.Inc()
		}
		key := l.key(conn.RemoteAddr())
		if l.count(key) {
			return &connection{Conn: conn, forget: sync.OnceFunc(func() { l.forget(key) })}, nil
		}
		l.refused.Inc()
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // the kernel keeps nothing of it either
		}
		_ = conn.Close()
	}
}

// key is what connections of an address are counted under; "" for one that is exempt.
func (l *counted) key(a net.Addr) string {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return address.Key("")
	}
	from := at.Addr().Unmap().WithZone("")
	if from.IsLoopback() || address.Within(l.exempt, from) {
		return ""
	}
	return address.Of(from)
}

// count counts one more, unless the address has as many as it may.
func (l *counted) count(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if key != "" {
		if l.from[key] >= l.perAddress {
			return false
		}
		l.from[key]++
	}
	l.n.Add(1)
	return true
}

func (l *counted) forget(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n.Add(-1)
	if l.from[key]--; l.from[key] <= 0 {
		delete(l.from, key)
	}
}

// connection is one that counts until it is closed.
type connection struct {
	net.Conn
	forget func()
}

// CloseWrite is that of a TCP connection: net/http calls it so that a client reads the answer to a bad request.
func (c *connection) CloseWrite() error { return closeWrite(c.Conn) }

// Close closes it, and counts it no more.
func (c *connection) Close() error {
	c.forget()
	return c.Conn.Close()
}
