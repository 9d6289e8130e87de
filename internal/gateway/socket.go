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

// stream is one of them, with the zone and the admission of its visitor's session. Its Closer is the connection, or the answer's body: it is
// forgotten when that is closed.
type stream struct {
	io.Closer
	of        *streams
	zoneID    string
	admission [16]byte
	upgraded  bool
	end       func()
}

func (p *passage) stream(c io.Closer, upgraded bool, end func()) *stream {
	one := &stream{c, &p.streams, p.t.Zone, p.d.Admission, upgraded, end}
	one.of.mu.Lock()
	defer one.of.mu.Unlock()
	if one.of.open == nil {
		one.of.open = map[*stream]struct{}{}
	}
	one.of.open[one] = struct{}{}
	return one
}

// Close closes what it is, and forgets it.
func (s *stream) Close() error {
	s.of.mu.Lock()
	delete(s.of.open, s)
	s.of.mu.Unlock()
	return s.Closer.Close()
}

// all returns those that are open.
func (s *streams) all() map[*stream]struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.open)
}

// upgraded returns how many are upgraded connections.
func (s *streams) upgraded() (n int) {
	for one := range s.all() {
		if one.upgraded {
			n++
		}
	}
	return n
}

// cut ends those for which over says so.
func (s *streams) cut(over func(one *stream) bool) {
	for one := range s.all() {
		if over(one) {
			one.end()
		}
	}
}

// streamed has an answer be ended as an event stream is: who closes its body ends a Read of it.
func (p *passage) streamed(res *http.Response) {
	body := res.Body
	res.Body = struct {
		io.Reader
		io.Closer
	}{body, p.stream(body, false, func() {
		p.ended.Store(true)
		_ = body.Close() // the copy of it ends by that
	})}
}

// socketBytes is the buffer of each direction: most messages are small, and most connections idle.
const socketBytes = 4 << 10

// socket is an upgraded connection of a visitor.
type socket struct {
	net.Conn
	*stream
}

// Close closes the connection, and forgets it.
func (c *socket) Close() error { return c.stream.Close() }

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
	return &socket{conn, w.stream(conn, true, func() { _ = conn.Close() })}, rw, nil // its goroutines end by that
}
