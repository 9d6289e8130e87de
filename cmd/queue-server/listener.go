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

	"github.com/openqueue/waitingroom/internal/limits/identity"
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
	// gatewayHeaderBytes is for the listeners of gateways, which hand the headers of their clients on: nginx takes up to 32 KiB of them, Envoy 60.
	gatewayHeaderBytes = 64 << 10
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

// listeners are the addresses of a server. Those that the operator has not set are nil.
type listeners struct{ public, operators, limits, site, sites *listener }

// openListeners opens the addresses that the settings have, and warns of settings that an operator may not have meant.
func openListeners(ctx context.Context, s checked, log *slog.Logger) (l listeners, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close())
		}
	}()
	for _, one := range []struct {
		to         **listener
		name, addr string
	}{
		{&l.public, "public", s.Addr}, {&l.operators, "operators'", s.AdminAddr}, {&l.limits, "limits'", s.LimitsAddr},
		{&l.site, "site's", s.SiteAddr}, {&l.sites, "sites'", s.SitesAddr},
	} {
		if one.addr == "" {
			continue
		}
		if *one.to, err = listen(ctx, one.name, one.addr, s.IdleTimeout); err != nil {
			return l, err
		}
	}
	if s.TLSCert != "" {
		shown, err := openCertificate(s.TLSCert, s.TLSKey, log)
		if err != nil {
			return l, err
		}
		l.public.tls = shown.config()
		if !isLoopback(l.operators.address()) {
			l.operators.tls = l.public.tls
		}
	}
	if err := checkPlaintext(s, l.operators); err != nil {
		return l, err
	}
	l.warn(s, log)
	for _, gateways := range []*listener{l.limits, l.site} {
		if gateways != nil { // what gateways ask is a header, or little more: one time limit is for all of it
			gateways.headerBytes, gateways.readTimeout = gatewayHeaderBytes, readHeaderTimeout
		}
	}
	if l.sites != nil { // bodies have limits of their own: see package gateway
		l.sites.headerBytes, l.sites.readTimeout, l.sites.tls = gatewayHeaderBytes, 0, l.public.tls
	}
	if l.site != nil || l.sites != nil {
		l.public.headerBytes = pageHeaderBytes
	}
	return l, nil
}

// warn tells who can reach the listeners, and whom they believe.
func (l listeners) warn(s checked, log *slog.Logger) {
	for _, one := range []struct {
		*listener
		mind string
	}{
		{l.operators, "see that the public cannot"}, {l.site, "see that the public cannot"}, {l.limits, "a program there can use up the quota of any client"},
	} {
		if addr := one.address(); !isLoopback(addr) {
			log.Warn("a listener can be reached from other machines", "listener", one.name, "addr", addr, "mind", one.mind)
		}
	}
	if (l.limits != nil || l.site != nil) && len(s.proxies) == 0 {
		log.Warn("no proxy is trusted: all clients and visitors behind a gateway have the gateway's address", "setting", "QUEUE_TRUSTED_PROXIES")
	}
	if l.limits != nil && s.LimitsAPIKeys == identity.AnyAPIKey {
		log.Warn("every X-API-Key is believed: unless a gateway checks the keys before, a client escapes its limit with invented keys")
	}
	for _, site := range s.sites {
		log.Info("in front of a site", "addr", l.sites.address(), "host", site.Host, "path", site.Path, "zone", site.Zone, "upstream", site.Upstream)
	}
}

func (l listeners) all() []*listener {
	return []*listener{l.public, l.operators, l.limits, l.site, l.sites}
}

// close gives all addresses back.
func (l listeners) close() error {
	var errs []error
	for _, one := range l.all() {
		errs = append(errs, one.close())
	}
	return errors.Join(errs...)
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
