package main

import (
	"errors"
	"net"
	"sync"
	"time"
)

// frugal is a connection whose deadlines are set only where they make a difference: an http.Server sets and takes away
// eight of them a request, which costs more than routing it.
type frugal struct {
	net.Conn
	reads, writes timeLimit
}

// timeLimit is the deadline of one direction of a connection. Most changes of it make no difference: a deadline that is less than
// a second later than the one before, and the removal of a deadline before the next is set.
type timeLimit struct {
	// mu is held while the connection is told: an http.Server reads ahead in one goroutine, and ends that in another.
	mu sync.Mutex
	// by is the deadline that is set. lapsed: it is to be removed before the connection is used.
	by     time.Time
	lapsed bool
	// waits: somebody reads, or writes, so that a deadline which is taken away is taken away at once.
	waits bool
}

// change sets the deadline, if that makes a difference.
func (l *timeLimit) change(to time.Time, set func(time.Time) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lapsed = to.IsZero() && !l.waits; l.lapsed || to.IsZero() && l.by.IsZero() {
		return nil
	}
	if to.IsZero() {
		l.by = to
		return set(to)
	}
	if later := to.Sub(l.by); later >= 0 && later < time.Second {
		return nil
	}
	l.by = to
	return set(to)
}

// lapses removes a deadline that has lapsed, before the connection is used until used is called.
func (l *timeLimit) lapses(set func(time.Time) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waits = true
	if !l.lapsed {
		return nil
	}
	l.lapsed = false
	l.by = time.Time{}
	return set(time.Time{})
}

func (l *timeLimit) used() {
	l.mu.Lock()
	l.waits = false
	l.mu.Unlock()
}

// SetWriteDeadline is that of a net.Conn, for the next write on.
func (c *frugal) SetWriteDeadline(t time.Time) error {
	return c.writes.change(t, c.Conn.SetWriteDeadline)
}

// SetReadDeadline is that of a net.Conn.
func (c *frugal) SetReadDeadline(t time.Time) error {
	return c.reads.change(t, c.Conn.SetReadDeadline)
}

// SetDeadline is both.
func (c *frugal) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// Read reads.
func (c *frugal) Read(p []byte) (int, error) {
	defer c.reads.used()
	if err := c.reads.lapses(c.Conn.SetReadDeadline); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// CloseWrite is that of a TCP connection: net/http calls it so that a client reads the answer to a bad request.
func (c *frugal) CloseWrite() error { return closeWrite(c.Conn) }

// Write writes.
func (c *frugal) Write(p []byte) (int, error) {
	defer c.writes.used()
	if err := c.writes.lapses(c.Conn.SetWriteDeadline); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
