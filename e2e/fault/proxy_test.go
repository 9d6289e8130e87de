package fault

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// proxy stands between a server and Redis. At first it passes everything on.
type proxy struct {
	listener net.Listener
	running  sync.WaitGroup

	mu     sync.Mutex
	target string
	closed bool
	pairs  map[*pairing]struct{}
	late   time.Duration
	losing swallowing
	lost   int
	held   int
}

// swallowing says which replies are lost.
type swallowing struct {
	left  int    // how many yet
	every int    // each how-many-th
	seen  int    // of the requests that match
	match []byte // what the request must hold
	cut   bool   // close the connection, rather than leave the caller waiting
}

// pairing is one connection through the proxy.
type pairing struct {
	server, redis net.Conn
	// mute: a reply was lost, and so is all that comes after it.
	mute bool
	// script: the request under way runs a script. Guarded by proxy.mu.
	script bool
}

// startProxy starts a proxy before the address; the test ends it.
func startProxy(t testing.TB, target string) *proxy {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", local(0))
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, target: target, pairs: make(map[*pairing]struct{})}
	p.running.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// url is the proxy's address as queue-server takes it.
func (p *proxy) url() string { return "redis://" + p.listener.Addr().String() }

// slow has every reply wait for as long.
func (p *proxy) slow(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.late = d
}

// holds is how many replies of scripts wait here: the script ran, and the server
// does not know yet.
func (p *proxy) holds() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held
}

// retarget cuts all connections and has new ones go to another address, as a
// name service does after a fail-over.
func (p *proxy) retarget(target string) {
	p.mu.Lock()
	p.target = target
	p.mu.Unlock()
	p.cut()
}

// cut breaks all connections off.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for pair := range p.pairs {
		pair.closeBoth()
	}
}

// swallow loses n replies: of the requests that hold the bytes of match, each
// how-many-th, from the first on. Redis has worked on those requests. If cut,
// the connection closes in place of the reply; else the server waits in vain.
func (p *proxy) swallow(n, every int, match string, cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.losing = swallowing{left: n, every: every, match: []byte(match), cut: cut}
}

// swallowed is how many replies were lost so far.
func (p *proxy) swallowed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

func (p *proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		p.running.Go(func() { p.serve(c) })
	}
}

func (p *proxy) serve(server net.Conn) {
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	redis, err := new(net.Dialer).DialContext(context.Background(), "tcp", target)
	if err != nil {
		reset(server)
		return
	}
	pair := &pairing{server: server, redis: redis}
	defer pair.closeBoth()
	p.mu.Lock()
	p.pairs[pair] = struct{}{}
	closed := p.closed
	p.mu.Unlock()
	if closed {
		return
	}
	lost := make(chan struct{}, 1)
	var both sync.WaitGroup
	both.Go(func() {
		defer pair.closeBoth()
		p.requests(pair, lost)
	})
	p.replies(pair, lost)
	pair.closeBoth()
	both.Wait()
	p.mu.Lock()
	delete(p.pairs, pair)
	p.mu.Unlock()
}

// requests passes requests on. go-redis sends one at a time on a connection,
// and the next after the reply, so that a request is what comes between replies.
func (p *proxy) requests(pair *pairing, lost chan<- struct{}) {
	buf := make([]byte, 64<<10)
	for {
		n, err := pair.server.Read(buf)
		if n > 0 {
			if p.loses(pair, buf[:n]) {
				select {
				case lost <- struct{}{}:
				default:
				}
			}
			if _, err := pair.redis.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// loses reports whether the reply to this request is to be lost.
func (p *proxy) loses(pair *pairing, request []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	pair.script = pair.script || bytes.Contains(request, []byte("evalsha"))
	s := &p.losing
	if s.left == 0 || !bytes.Contains(request, s.match) {
		return false
	}
	s.seen++
	if (s.seen-1)%s.every != 0 {
		return false
	}
	s.left--
	p.lost++
	return true
}

// replies passes replies on, but for those that are to be lost.
func (p *proxy) replies(pair *pairing, lost <-chan struct{}) {
	buf := make([]byte, 64<<10)
	for {
		n, err := pair.redis.Read(buf)
		if err != nil {
			if errors.Is(err, io.EOF) {
				return
			}
			reset(pair.server)
			return
		}
		select {
		case <-lost:
			pair.mute = true
		default:
		}
		if p.delay(pair) && pair.mute {
			return
		}
		if pair.mute {
			continue
		}
		if _, err := pair.server.Write(buf[:n]); err != nil {
			return
		}
	}
}

// delay has a reply wait as slow says, and reports whether a lost one is a cut.
func (p *proxy) delay(pair *pairing) (cut bool) {
	p.mu.Lock()
	late, script := p.late, boolInt(pair.script)
	pair.script = false
	p.held += script
	p.mu.Unlock()
	if late > 0 {
		<-time.After(late)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held -= script
	return p.losing.cut
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (pair *pairing) closeBoth() {
	// Closed twice: by whichever side ends first, and after.
	_ = pair.server.Close()
	_ = pair.redis.Close()
}

// reset closes a connection as the system does for a process that died.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

func (p *proxy) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	_ = p.listener.Close()
	p.cut()
	p.running.Wait()
}
