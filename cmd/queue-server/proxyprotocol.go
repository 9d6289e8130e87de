package main

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pires/go-proxyproto"

	"github.com/openqueue/waitingroom/internal/limits/address"
)

const (
	// proxyHeaderWithin is how long a balancer may take to send the header of the PROXY protocol.
	proxyHeaderWithin = 2 * time.Second
	// proxyHeaderBytes is the most that is read ahead of what the visitor sends.
	proxyHeaderBytes = 1 << 10
	// proxyWarnEvery is the least time between two warnings of connections without the header.
	proxyWarnEvery = 10 * time.Minute
)

// proxied is a listener that takes the visitor's address from the header of the PROXY protocol (versions 1 and 2), which each connection
// from a network of balancers must begin with. A connection from another address that has one is refused by whatever reads it,
// since it is neither TLS nor HTTP.
type proxied struct {
	net.Listener
	from []netip.Prefix
	log  *slog.Logger

	named   chan net.Conn
	failed  chan error
	closed  chan struct{}
	end     func()
	running sync.WaitGroup
	warned  atomic.Int64 // Unix seconds
}

// newProxied begins to accept connections of l.
func newProxied(l net.Listener, from []netip.Prefix, log *slog.Logger) *proxied {
	p := &proxied{Listener: l, from: from, log: log, named: make(chan net.Conn), failed: make(chan error), closed: make(chan struct{})}
	p.end = sync.OnceFunc(func() { close(p.closed) })
	p.running.Go(p.run)
	return p
}

func (p *proxied) run() {
	for {
		conn, err := p.Listener.Accept()
		if err != nil {
			select {
			case p.failed <- err:
				continue
			case <-p.closed:
				return
			}
		}
		at, err := netip.ParseAddrPort(conn.RemoteAddr().String())
		if err != nil || !address.Within(p.from, at.Addr()) {
			p.hand(conn)
			continue
		}
		p.running.Go(func() { // the others do not wait for its header
			if named := p.read(conn); named != nil {
				p.hand(named)
			}
		})
	}
}

// hand gives a connection to Accept.
func (p *proxied) hand(conn net.Conn) {
	select {
	case p.named <- conn:
	case <-p.closed:
		_ = conn.Close()
	}
}

// read returns the connection with the address that its header names; nil if it has none.
func (p *proxied) read(conn net.Conn) net.Conn {
	rest := bufio.NewReaderSize(conn, proxyHeaderBytes)
	_ = conn.SetReadDeadline(time.Now().Add(proxyHeaderWithin))
	header, err := proxyproto.Read(rest)
	_ = conn.SetReadDeadline(time.Time{})
	if err != nil {
		_ = conn.Close()
		last, now := p.warned.Load(), time.Now().Unix()
		// A balancer that looks whether the port is open sends nothing.
		if _, silent := rest.Peek(1); !errors.Is(silent, io.EOF) && now-last >= int64(proxyWarnEvery/time.Second) && p.warned.CompareAndSwap(last, now) {
			p.log.Warn("a connection was closed: it comes from a network of QUEUE_PROXY_PROTOCOL_FROM and does not begin with a header of the PROXY protocol",
				"from", conn.RemoteAddr().String(), "listener", p.Addr().String(), "error", err)
		}
		return nil
	}
	named := &namedConn{Conn: conn, rest: rest, from: conn.RemoteAddr()}
	if from, _, ok := header.TCPAddrs(); ok && !header.Command.IsLocal() { // a balancer that looks by itself says LOCAL
		named.from = from
	}
	return named
}

// Accept waits for a connection whose address is known.
func (p *proxied) Accept() (net.Conn, error) {
	select {
	case conn := <-p.named:
		return conn, nil
	case err := <-p.failed:
		return nil, err
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close gives the address back, and waits for connections whose header is not read yet.
func (p *proxied) Close() error {
	err := p.Listener.Close()
	p.end()
	p.running.Wait()
	return err
}

// namedConn is a connection with the address of a visitor. rest has what was read ahead; nil when that is read.
type namedConn struct {
	net.Conn
	rest *bufio.Reader
	from net.Addr
}

// RemoteAddr returns the visitor's address.
func (c *namedConn) RemoteAddr() net.Addr { return c.from }

// Read reads what the visitor sends.
func (c *namedConn) Read(p []byte) (int, error) {
	if c.rest == nil {
		return c.Conn.Read(p)
	}
	if c.rest.Buffered() == 0 {
		c.rest = nil
		return c.Conn.Read(p)
	}
	return c.rest.Read(p[:min(len(p), c.rest.Buffered())])
}

// CloseWrite ends what is sent, so that the other side reads an answer before it sees the end.
func (c *namedConn) CloseWrite() error { return closeWrite(c.Conn) }

// closeWrite is that of a TCP connection.
func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
