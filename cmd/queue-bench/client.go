package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
)

// client is one keep-alive connection of HTTP/1.1 that asks one thing at a time. It does the least that a client can, and
// allocates nothing: what it costs is missing from the ratios.
type client struct {
	conn net.Conn
	read *bufio.Reader
	// request is what do sends.
	request []byte
}

// errAnswer: the server's answer is not one that this client reads.
var errAnswer = errors.New("unreadable answer")

var contentLength = []byte("Content-Length: ")

// do sends the request and returns the answer's status and body. The body is valid until the next call.
func (c *client) do() (status int, body []byte, err error) {
	if _, err := c.conn.Write(c.request); err != nil {
		return 0, nil, err
	}
	line, err := c.read.ReadSlice('\n')
	if err != nil {
		return 0, nil, err
	}
	const before, digits = len("HTTP/1.1 "), 3
	if status, err = strconv.Atoi(string(line[min(before, len(line)):min(before+digits, len(line))])); err != nil {
		return 0, nil, fmt.Errorf("%w: %w", errAnswer, err)
	}
	length := -1
	for {
		if line, err = c.read.ReadSlice('\n'); err != nil {
			return 0, nil, err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			break
		}
		if value, is := bytes.CutPrefix(line, contentLength); is {
			if length, err = strconv.Atoi(string(value)); err != nil {
				return 0, nil, fmt.Errorf("%w: %w", errAnswer, err)
			}
		}
	}
	if status == http.StatusNoContent {
		return status, nil, nil
	}
	if length < 0 {
		return 0, nil, fmt.Errorf("%w: no Content-Length", errAnswer)
	}
	if body, err = c.read.Peek(length); err == nil {
		_, err = c.read.Discard(length)
	}
	return status, body, err
}

// post writes a request.
func post(path, body string) []byte {
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		path, len(body), body)
}
