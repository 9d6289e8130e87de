package process

import (
	"context"
	"net"
	"sync"
)

// Pipes is a network of one listener whose connections never leave the process. So the clock of testing/synctest goes on
// while they are waited for.
type Pipes struct {
	next   chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// NewPipes returns a listener that is open.
func NewPipes() *Pipes { return &Pipes{next: make(chan net.Conn), closed: make(chan struct{})} }

// Dial connects to the listener, as http.Transport.DialContext. It returns net.ErrClosed after Close.
func (p *Pipes) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.next <- there:
		return here, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (p *Pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.next:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *Pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr implements net.Listener.
func (p *Pipes) Addr() net.Addr { return &net.TCPAddr{} }
