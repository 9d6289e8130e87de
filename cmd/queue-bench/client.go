package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"
)

// client is one keep-alive connection of HTTP/1.1 that asks one thing at a
// time. It does the least that a client can, and allocates nothing: what it
// costs is missing from the ratios.
type client struct {
	conn net.Conn
	// request is what do sends.
	request []byte
	answer  [4096]byte
}

// errAnswer: the server's answer is not one that this client reads.
var errAnswer = errors.New("unreadable answer")

var (
	headerEnd     = []byte("\r\n\r\n")
	contentLength = []byte("\r\nContent-Length: ")
)

// do sends the request and returns the answer's status and body. The body is
// valid until the next call.
func (c *client) do() (status int, body []byte, err error) {
	if _, err := c.conn.Write(c.request); err != nil {
		return 0, nil, err
	}
	n, head, end := 0, 0, 0
	for {
		m, err := c.conn.Read(c.answer[n:])
		n += m
		if head == 0 {
			if status, head, end, err = parseHead(c.answer[:n], err); err != nil {
				return 0, nil, err
			}
		}
		switch {
		case head > 0 && n >= end:
			return status, c.answer[head:end], nil
		case err != nil:
			return 0, nil, err
		case n == len(c.answer):
			return 0, nil, fmt.Errorf("%w: longer than %d bytes", errAnswer, n)
		}
	}
}

// parseHead returns the status, where the body begins and where it ends; or 0
// where the header is not complete. readErr is returned when nothing is wrong.
func parseHead(b []byte, readErr error) (status, head, end int, err error) {
	i := bytes.Index(b, headerEnd)
	if i < 0 {
		return 0, 0, 0, readErr
	}
	head = i + len(headerEnd)
	const before, digits = len("HTTP/1.1 "), 3
	if status, err = strconv.Atoi(string(b[before : before+digits])); err != nil {
		return 0, 0, 0, fmt.Errorf("%w: %w", errAnswer, err)
	}
	if status == http.StatusNoContent {
		return status, head, head, readErr
	}
	at := bytes.Index(b[:head], contentLength)
	if at < 0 {
		return 0, 0, 0, fmt.Errorf("%w: no Content-Length", errAnswer)
	}
	length := 0
	for _, d := range b[at+len(contentLength) : head] {
		if d < '0' || d > '9' {
			break
		}
		length = length*10 + int(d-'0')
	}
	return status, head, head + length, readErr
}

// post writes a request.
func post(path, body string) []byte {
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		path, len(body), body)
}

// crew are the connections to one server.
type crew []*client

// dial opens n connections, each with a copy of the request.
func dial(ctx context.Context, addr string, n int, request []byte) (crew, error) {
	c := make(crew, n)
	for i := range c {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, errors.Join(err, c[:i].close())
		}
		c[i] = &client{conn: conn, request: bytes.Clone(request)}
	}
	return c, nil
}

// deadline has exchanges fail that are not done by then.
func (c crew) deadline(t time.Time) error {
	for _, one := range c {
		if err := one.conn.SetDeadline(t); err != nil {
			return err
		}
	}
	return nil
}

func (c crew) close() error {
	var errs []error
	for _, one := range c {
		errs = append(errs, one.conn.Close())
	}
	return errors.Join(errs...)
}
