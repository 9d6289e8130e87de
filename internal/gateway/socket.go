package gateway

import (
	"bufio"
	"io"
	"maps"
	"net"
	"sync"
)

// sockets are the connections that were upgraded, each with the zone and the admission of its visitor's session.
type sockets struct {
	mu   sync.Mutex
	open map[*socket]struct{}
}

// socket is an upgraded connection of a visitor.
type socket struct {
	net.Conn
	of        *sockets
	zoneID    string
	admission [16]byte
}

func (s *sockets) add(c *socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[*socket]struct{}{}
	}
	s.open[c] = struct{}{}
}

func (s *sockets) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

// cut closes those for which over says so.
func (s *sockets) cut(over func(zoneID string, admission [16]byte) bool) {
	s.mu.Lock()
	all := maps.Clone(s.open)
	s.mu.Unlock()
	for c := range all {
		if over(c.zoneID, c.admission) {
			_ = c.Conn.Close() // its goroutines end by that
		}
	}
}

// Close closes the connection, and forgets it.
func (c *socket) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
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
	c := &socket{Conn: conn, of: &w.sockets, zoneID: w.t.Zone, admission: w.d.Admission}
	w.sockets.add(c)
	return c, rw, nil
}
