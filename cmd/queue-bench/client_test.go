package main

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/openqueue/waitingroom/internal/check/baseline"
)

// answering returns a client whose server gives these pieces as its answer.
func answering(t *testing.T, pieces ...string) *client {
	t.Helper()
	here, there := net.Pipe()
	go func() {
		defer func() { _ = there.Close() }()
		if _, err := there.Read(make([]byte, 1024)); err != nil {
			return
		}
		for _, p := range pieces {
			if _, err := there.Write([]byte(p)); err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { _ = here.Close() })
	return &client{conn: here, request: post("/x", "{}")}
}

func TestClient(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		pieces []string
		status int
		body   string
		fails  string
	}{
		{name: "at once", pieces: []string{"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd"}, status: 200, body: "abcd"},
		{name: "in pieces", pieces: []string{"HTTP/1.1 20", "0 OK\r\nContent-Le", "ngth: 4\r", "\n\r\nab", "cd"}, status: 200, body: "abcd"},
		{name: "refused", pieces: []string{"HTTP/1.1 503 No\r\nX: y\r\nContent-Length: 2\r\nZ: 1\r\n\r\n{}"}, status: 503, body: "{}"},
		{name: "no content", pieces: []string{"HTTP/1.1 204 No Content\r\nDate: now\r\n\r\n"}, status: 204},
		{name: "no length", pieces: []string{"HTTP/1.1 200 OK\r\n\r\n"}, fails: "no Content-Length"},
		{name: "no status", pieces: []string{"HTTP/1.1 abc OK\r\nContent-Length: 0\r\n\r\n"}, fails: "unreadable"},
		{name: "closed in the header", pieces: []string{"HTTP/1.1 200 OK\r\nCont"}, fails: "EOF"},
		{name: "closed in the body", pieces: []string{"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab"}, fails: "EOF"},
		{name: "too long", pieces: []string{"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n" + strings.Repeat("x", 9999)}, fails: "longer than"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			status, body, err := answering(t, tt.pieces...).do()
			switch {
			case tt.fails != "":
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("error %v, want one with %q", err, tt.fails)
				}
			case err != nil:
				t.Error(err)
			case status != tt.status || string(body) != tt.body:
				t.Errorf("%d %q, want %d %q", status, body, tt.status, tt.body)
			}
		})
	}
}

// yard starts the baseline in this process.
func yard(t *testing.T) *contender {
	t.Helper()
	addr, err := baseline.FreeAddr(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- serveBare(ctx, addr) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	p := &process{name: bareEcho, addr: addr, exited: make(chan struct{})}
	if err := p.await(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &contender{process: p, conns: 4}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	c := yard(t)
	ctx := t.Context()

	j := newJoins(benchZone, c.conns)
	done, err := c.finish(ctx, j, 100)
	if err != nil {
		t.Fatal(err)
	}
	c.crowd.add(j)
	if done.done != 100 || done.sent != 100 || c.crowd.len() != 100 {
		t.Errorf("of 100 joins %d were sent, %d done, %d tokens kept", done.sent, done.done, c.crowd.len())
	}

	const warm, span = 20 * time.Millisecond, 60 * time.Millisecond
	fast, err := c.saturate(ctx, newPolls(benchZone, &c.crowd), warm, span)
	if err != nil {
		t.Fatal(err)
	}
	if fast.done == 0 || fast.done >= fast.sent || fast.refused != 0 || fast.entered != 0 || fast.took < span {
		t.Errorf("saturate: %+v", fast)
	}

	const rate = 500
	paced, err := c.pace(ctx, newPolls(benchZone, &c.crowd), rate, warm, span)
	if err != nil {
		t.Fatal(err)
	}
	// One more or less a connection, as its first falls.
	if most := int64(rate*(warm+span).Seconds()) + int64(c.conns); paced.sent > most || len(paced.latencies) == 0 {
		t.Errorf("pace: %d sent in %v, at most %d wanted; %d latencies", paced.sent, paced.took, most, len(paced.latencies))
	}

	rest := c.crowd.cut(40)
	if c.crowd.len() != 40 || rest.len() != 60 {
		t.Errorf("cut into %d and %d", c.crowd.len(), rest.len())
	}
	// The baseline knows no such route: each is refused, none is lost.
	left, err := c.finish(ctx, newLeaves(benchZone, &rest), rest.len())
	if err != nil || left.refused != 60 || left.done != 0 {
		t.Errorf("leave: %+v, %v", left, err)
	}
}

func TestLoadEnds(t *testing.T) {
	t.Parallel()
	c := yard(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, err := c.saturate(ctx, newJoins(benchZone, c.conns), 0, time.Minute); err == nil {
		t.Error("a load went on after its context had ended")
	}
	if _, err := (&contender{process: &process{addr: "127.0.0.1:1"}, conns: 1}).
		finish(t.Context(), newJoins(benchZone, 1), 1); err == nil {
		t.Error("nobody listened, and nobody noticed")
	}
}
