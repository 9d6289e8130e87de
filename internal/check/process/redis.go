package process

import (
	"context"
	"io"
	"net"
	"strconv"
	"time"
)

// Redis is a redis-server on a port of its own, without persistence.
type Redis struct {
	*Process
	Port int
}

// NewRedis prepares one that keeps its files in dir. More arguments are given as on its
// command line: "--appendonly", "yes".
func NewRedis(ctx context.Context, program, dir string, args ...string) (*Redis, error) {
	port, err := FreePort(ctx)
	if err != nil {
		return nil, err
	}
	own := []string{"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"}
	return &Redis{&Process{Name: program, Args: append(own, args...), Dir: dir}, port}, nil
}

// Start starts it, or starts it anew, and waits until it answers.
func (r *Redis) Start(ctx context.Context) error {
	return r.StartUntil(ctx, func() bool { return r.Answers(ctx) })
}

// Answers reports whether it answers PING, or asks for a password.
func (r *Redis) Answers(ctx context.Context) bool {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", r.Addr())
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	answer := make([]byte, len("+PONG"))
	_, err = io.WriteString(conn, "PING\r\n")
	if err == nil {
		_, err = io.ReadFull(conn, answer)
	}
	return err == nil && (string(answer) == "+PONG" || string(answer) == "-NOAUTH"[:len(answer)])
}

// Addr is host:port.
func (r *Redis) Addr() string { return Local(r.Port) }

// URL is the address as lua.Options takes it.
func (r *Redis) URL() string { return "redis://" + r.Addr() }
