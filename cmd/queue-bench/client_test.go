package main

import (
	"bufio"
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	started "github.com/openqueue/waitingroom/internal/check/process"
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
	return &client{conn: here, read: bufio.NewReader(here), request: post("/x", "{}")}
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
		{name: "too long", pieces: []string{"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n" + strings.Repeat("x", 9999)}, fails: "buffer full"},
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

// startBaseline starts the baseline in this process, and returns a load for it.
func startBaseline(t *testing.T) load {
	t.Helper()
	addr, err := started.FreeAddr(t.Context())
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
	if !started.Soon(t.Context(), started.StartTimeout, started.LookEvery, func() bool {
		_, err := get(t.Context(), addr, "/readyz", "")
		return err == nil
	}) {
		t.Fatal("the baseline did not start")
	}
	return load{addr: addr, conns: 4}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	l := startBaseline(t)
	run := func(l load) tally {
		sum, err := l.run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	var met crowd
	l.question, l.budget = joins(benchZone, &met), 100
	if done := run(l); done.done != 100 || done.sent != 100 || met.len() != 100 {
		t.Errorf("of 100 joins %d were sent, %d done, %d tokens kept", done.sent, done.done, met.len())
	}

	l.question, l.budget, l.warm, l.span = polls(benchZone, &met), 0, 20*time.Millisecond, 60*time.Millisecond
	if fast := run(l); fast.done == 0 || fast.done >= fast.sent || fast.refused != 0 || fast.entered != 0 || fast.took < l.span {
		t.Errorf("as fast as it goes: %+v", fast)
	}

	const rate = 500
	l.every = time.Duration(l.conns) * time.Second / rate
	paced := run(l)
	// One more or less a connection, as its first falls.
	if most := int64(rate*(l.warm+l.span).Seconds()) + int64(l.conns); paced.sent > most || len(paced.latencies) == 0 {
		t.Errorf("paced: %d sent in %v, at most %d wanted; %d latencies", paced.sent, paced.took, most, len(paced.latencies))
	}

	rest := met.cut(40)
	if met.len() != 40 || rest.len() != 60 {
		t.Errorf("cut into %d and %d", met.len(), rest.len())
	}
	// The baseline knows no such route: each is refused, none is lost.
	l.question, l.budget, l.every = inTurn("/traffic/leave", &rest), int64(rest.len()), 0
	if left := run(l); left.refused != 60 || left.done != 0 {
		t.Errorf("leave: %+v", left)
	}
	l.refusals = true
	if left := run(l); left.refused != 60 || left.done != 60 {
		t.Errorf("leave, where refusals count: %+v", left)
	}
}

// Each of a crowd is asked for in turn, and none twice before all were.
func TestInTurn(t *testing.T) {
	t.Parallel()
	met := crowd{[]byte(strings.Repeat("a", tokenSize) + strings.Repeat("b", tokenSize))}
	q := inTurn("/traffic/leave", &met)
	var asked []string
	for range 3 {
		q.next(q.request[q.at:])
		asked = append(asked, string(q.request[q.at-1:q.at+2]))
	}
	if want := []string{`"aa`, `"bb`, `"aa`}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
}

func TestLoadEnds(t *testing.T) {
	t.Parallel()
	l := startBaseline(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	l.question, l.span = joins(benchZone, &crowd{}), time.Minute
	if _, err := l.run(ctx); err == nil {
		t.Error("a load went on after its context had ended")
	}
	l.addr = "127.0.0.1:1"
	if _, err := l.run(t.Context()); err == nil {
		t.Error("nobody listened, and nobody noticed")
	}
}
