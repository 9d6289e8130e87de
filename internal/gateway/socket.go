package gateway

import (
	"bufio"
	"io"
	"maps"
	"net"
	"net/http"
	"sync"
)

// streams are the upgraded connections and the event streams of visitors, which go on for as long as both sides want.
type streams struct {
	mu   sync.Mutex
	open map[*stream]struct{}
}

// stream is one of them, with the zone and the admission of its visitor's session.
type stream struct {
	zoneID    string
	admission [16]byte
	upgraded  bool
	end       func()
}

func (s *streams) add(one *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[*stream]struct{}{}
	}
	s.open[one] = struct{}{}
}

func (s *streams) remove(one *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, one)
}

// upgraded returns how many are upgraded connections.
func (s *streams) upgraded() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for one := range s.open {
		if one.upgraded {
			n++
		}
	}
	return n
}

// cut ends those for which over says so.
func (s *streams) cut(over func(one *stream) bool) {
	s.mu.Lock()
	all := maps.Clone(s.open)
	s.mu.Unlock()
	for one := range all {
		if over(one) {
			one.end()
		}
	}
}

// socket is an upgraded connection of a visitor.
type socket struct {
	net.Conn
	stream
	of *streams
}

// Close closes the connection, and forgets it.
func (c *socket) Close() error {
	c.of.remove(&c.stream)
	return c.Conn.Close()
}

// eventStream is the body of an answer that is one.
type eventStream struct {
	io.ReadCloser
	stream
	of *streams
}

// Close closes the body, and forgets it.
func (e *eventStream) Close() error {
	e.of.remove(&e.stream)
	return e.ReadCloser.Close()
}

// streamed has an answer be ended as an event stream is: who closes its body ends a Read of it.
func (p *passage) streamed(res *http.Response) {
	body := res.Body
	e := &eventStream{ReadCloser: body, of: &p.streams, stream: stream{p.t.Zone, p.d.Admission, false, func() {
		p.ended.Store(true)
		_ = body.Close() // the copy of it ends by that
	}}}
	p.streams.add(&e.stream)
	res.Body = e
}

// socketBytes is the buffer of each direction: most messages are small, and most connections idle.
const socketBytes = 4 << 10

// WriteTo copies what the visitor sends.
func (c *socket) WriteTo(w io.Writer) (int64, error) { return copied(w, c.Conn) }

// ReadFrom copies what the site sends.
func (c *socket) ReadFrom(r io.Reader) (int64, error) { return copied(c.Conn, r) }

// copied copies with a buffer of socketBytes, whatever else the two can do.
func copied(w io.Writer, r io.Reader) (int64, error) {
	return io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r}, make([]byte, socketBytes))
}

// Hijack takes the connection over, for ReverseProxy.
func (w *writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := w.control.Hijack()
	if err != nil {
		return nil, nil, err
	}
	c := &socket{Conn: conn, of: &w.streams, stream: stream{w.t.Zone, w.d.Admission, true, func() { _ = conn.Close() }}} // its goroutines end by that
	w.streams.add(&c.stream)
	return c, rw, nil
}
