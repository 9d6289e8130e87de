package fault

import (
	"bufio"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// startEcho answers each line with the same, and counts what it was asked.
func startEcho(t *testing.T) (addr string, asked chan string) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", local(0))
	if err != nil {
		t.Fatal(err)
	}
	asked = make(chan string, 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				lines := bufio.NewScanner(c)
				for lines.Scan() {
					asked <- lines.Text()
					if _, err := io.WriteString(c, lines.Text()+"\n"); err != nil {
						return
					}
				}
			}()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return l.Addr().String(), asked
}

// A reply that is to come may take long on a busy machine; that none comes is
// seen within a moment.
const (
	patience = 20 * time.Second
	moment   = 300 * time.Millisecond
)

// say sends a line through the proxy on a connection of its own and returns
// what comes back.
func say(t *testing.T, p *proxy, text string, within time.Duration) (string, error) {
	t.Helper()
	c, err := net.Dial("tcp", p.listener.Addr().String())
	if err != nil {
		return "", err // a proxy that hangs up at once may do so before Dial is back
	}
	defer func() { _ = c.Close() }()
	if err := c.SetDeadline(time.Now().Add(within)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, text+"\n"); err != nil {
		return "", err
	}
	return bufio.NewReader(c).ReadString('\n')
}

func TestProxyLosesTheRepliesItIsTold(t *testing.T) {
	t.Parallel()
	addr, asked := startEcho(t)
	p := startProxy(t, addr)
	p.swallow(2, 2, "script", true)
	for i, tt := range []struct {
		text string
		lost bool
	}{{"other", false}, {"script", true}, {"script", false}, {"other", false}, {"script", true}, {"script", false}, {"script", false}} {
		got, err := say(t, p, tt.text, patience)
		if tt.lost != errors.Is(err, io.EOF) || !tt.lost && got != tt.text+"\n" {
			t.Errorf("%d: %q came back as %q, %v; lost: %t", i, tt.text, got, err, tt.lost)
		}
		if worked := <-asked; worked != tt.text {
			t.Errorf("%d: the server was asked %q", i, worked)
		}
	}
	if n := p.swallowed(); n != 2 {
		t.Errorf("%d lost, want 2", n)
	}
	p.swallow(1, 1, "script", false)
	if got, err := say(t, p, "script", moment); !isTimeout(err) {
		t.Errorf("a reply that never comes: %q, %v", got, err)
	}
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

func TestProxyRetargets(t *testing.T) {
	t.Parallel()
	first, _ := startEcho(t)
	p := startProxy(t, first)
	if _, err := say(t, p, "one", patience); err != nil {
		t.Fatal(err)
	}
	second, asked := startEcho(t)
	p.retarget(second)
	if _, err := say(t, p, "two", patience); err != nil {
		t.Fatal(err)
	}
	if got := <-asked; got != "two" {
		t.Errorf("the second was asked %q", got)
	}
	p.retarget(local(freePort(t)))
	if got, err := say(t, p, "three", patience); err == nil {
		t.Errorf("nobody listens there, and %q came back", got)
	}
}
