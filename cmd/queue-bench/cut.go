package main

import (
	"context"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// cutter is a proxy that stands before a server and breaks a share of the POSTs
// off: a connection that closes, which is what a visitor sees of a lost network.
// Of ten that it cuts, four never reach the server; of four the server has answered
// and the reply is lost; of two the reply ends in its middle.
type cutter struct {
	target string
	share  float64
	server *http.Server
	ended  chan struct{}
	client *http.Transport

	before, after, middle, passed atomic.Int64
}

// Of those that are cut, so many before the server, and so many more after it.
const (
	cutBefore = 0.4
	cutAfter  = 0.4
)

// headerTimeout is far above what a header takes on loopback.
const headerTimeout = 10 * time.Second

// startCutter starts one before target, host:port, on an address of its own.
func startCutter(ctx context.Context, target string, share float64) (*cutter, string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	c := &cutter{
		target: target, share: share, ended: make(chan struct{}),
		// As many connections as visitors have, so that the proxy adds no wait.
		client: &http.Transport{MaxIdleConnsPerHost: 10_000, DisableCompression: true},
	}
	c.server = &http.Server{Handler: c, ReadHeaderTimeout: headerTimeout}
	go func() {
		defer close(c.ended)
		_ = c.server.Serve(l) // ends with stop
	}()
	return c, l.Addr().String(), nil
}

// stop ends the proxy and waits for it.
func (c *cutter) stop() error {
	err := c.server.Close()
	<-c.ended
	c.client.CloseIdleConnections()
	return err
}

// ServeHTTP passes a request on, or cuts it. It panics with http.ErrAbortHandler,
// which is how net/http closes a connection without an answer.
func (c *cutter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	cut, kind := r.Method == http.MethodPost && rand.Float64() < c.share, rand.Float64()
	if cut && kind < cutBefore {
		c.before.Add(1)
		panic(http.ErrAbortHandler)
	}
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host, out.RequestURI = "http", c.target, ""
	res, err := c.client.RoundTrip(out)
	if err != nil {
		// What the server itself breaks off is broken off here, too.
		panic(http.ErrAbortHandler)
	}
	body, err := io.ReadAll(res.Body)
	if err = errors.Join(err, res.Body.Close()); err != nil || cut && kind < cutBefore+cutAfter {
		c.after.Add(1)
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), res.Header)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(res.StatusCode)
	if cut {
		c.middle.Add(1)
		_, err = w.Write(body[:len(body)/2])
		if err = errors.Join(err, http.NewResponseController(w).Flush()); err != nil {
			return // the visitor was faster
		}
		panic(http.ErrAbortHandler)
	}
	c.passed.Add(1)
	if _, err := w.Write(body); err != nil {
		return // the visitor has gone
	}
}
