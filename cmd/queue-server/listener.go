package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Limits of all listeners.
const (
	// readHeaderTimeout and readTimeout end connections whose clients send a byte a second.
	// A poll is 300 bytes; 10 s carry it over the worst of mobile networks.
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 10 * time.Second
	// writeTimeout bounds an answer, from the end of the request's header.
	writeTimeout = 30 * time.Second
	// profileTimeout is writeTimeout for operators, whose profiles and traces
	// last as long as they ask.
	profileTimeout = 5 * time.Minute
	// maxHeaderBytes is twice what a browser with many cookies sends. net/http takes
	// 4 KiB more. Until a header ends it is kept as it comes, twice over.
	maxHeaderBytes = 8 << 10
	// pageHeaderBytes is for the public listener where there is a gate: browsers send the waiting page all cookies of
	// the site, of which nginx takes up to 32 KiB.
	pageHeaderBytes = 32 << 10
)

// listener is an address on which this server answers. The methods of a nil listener, which the operator has not set, do nothing.
type listener struct {
	name string
	net.Listener
	headerBytes int
	readTimeout time.Duration
	// idleTimeout is above the 60 s after which load balancers close. If the server closed first, a balancer could send the next
	// request into a connection that is closing.
	idleTimeout time.Duration
	tls         *tls.Config // nil without TLS
	server      *http.Server
	running     sync.WaitGroup
}

// listen opens an address. Connections wait until serve.
func listen(ctx context.Context, name, addr string, idle time.Duration) (*listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%s listener: %w", name, err)
	}
	return &listener{name: name, Listener: l, headerBytes: maxHeaderBytes, readTimeout: readTimeout, idleTimeout: idle}, nil
}

// serve begins to answer with h, until drain or close. If it ends on its own,
// the reason is sent to failed.
func (l *listener) serve(h http.Handler, write time.Duration, log *slog.Logger, failed chan<- error) {
	if l == nil {
		return
	}
	l.server = &http.Server{
		Handler:           h,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       l.readTimeout,
		WriteTimeout:      write,
		IdleTimeout:       l.idleTimeout,
		MaxHeaderBytes:    l.headerBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ConnState:         readsNextHeader,
	}
	l.server.TLSConfig = l.tls.Clone() // net/http completes it, and listeners share it
	l.running.Go(func() {
		serve := func() error { return l.server.Serve(readable{l.Listener}) }
		if l.tls != nil {
			serve = func() error { return l.server.ServeTLS(l.Listener, "", "") }
		}
		if err := serve(); !errors.Is(err, http.ErrServerClosed) {
			failed <- fmt.Errorf("%s listener: %w", l.name, err)
		}
	})
}

// address is where it listens, for the log: "none" without it.
func (l *listener) address() string {
	if l == nil {
		return "none"
	}
	return l.Addr().String()
}

// drain takes no more connections and waits for the answers in the making,
// until ctx ends; then it cuts them off, and returns an error.
func (l *listener) drain(ctx context.Context) error {
	if l == nil {
		return nil
	}
	l.server.SetKeepAlivesEnabled(false)
	err := l.server.Shutdown(ctx)
	l.running.Wait()
	if err != nil {
		return fmt.Errorf("%s listener: some requests were cut off: %w", l.name, errors.Join(err, l.server.Close()))
	}
	return nil
}

// close gives the address back, if that has not happened yet.
func (l *listener) close() error {
	if l == nil {
		return nil
	}
	if err := l.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// readable is a listener whose connections have no control characters in headers. net/http answers 400 to a request with
// one, before any handler sees it, but gateways such as nginx hand them on: to a visitor whose browser or extension sends
// one in its User-Agent, the site would be gone.
type readable struct{ net.Listener }

// Accept returns the next connection.
func (l readable) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &readableConn{Conn: c, header: true}, nil
}

// readableConn writes _ over control characters in the headers that it reads. Bodies stay as they are. Only the goroutine
// that serves the connection reads from it, and one that it waits for.
type readableConn struct {
	net.Conn
	header bool // a header is being read
	ended  bool // the byte before was the end of a line
}

// Read reads from the connection.
func (c *readableConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	for i, b := range p[:n] {
		switch {
		case !c.header:
			return n, err
		case b == '\n':
			c.header, c.ended = !c.ended, true // an empty line ends the header
		case b == '\r':
		default:
			c.ended = false
			if b < ' ' && b != '\t' || b == 0x7f {
				p[i] = '_'
			}
		}
	}
	return n, err
}

// readsNextHeader tells a connection that what it reads next is a header.
func readsNextHeader(c net.Conn, state http.ConnState) {
	if r, ok := c.(*readableConn); ok && state == http.StateIdle {
		r.header, r.ended = true, false
	}
}
