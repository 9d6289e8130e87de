package fault

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/Shopify/toxiproxy/v2/toxics"
	"github.com/rs/zerolog"

	"github.com/openqueue/waitingroom/e2e/room"
)

// proxy stands between a server and Redis. At first it passes everything on.
type proxy struct {
	t testing.TB
	*toxiproxy.Proxy
}

// startProxy starts a proxy before the address; the test ends it.
func startProxy(t testing.TB, target string) *proxy {
	t.Helper()
	listen := room.FreeAddr(t) // no connection gets that port while cut listens there again
	p := &proxy{t, toxiproxy.NewProxy(toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()), "redis", listen, target)}
	p.begin()
	t.Cleanup(p.Stop)
	return p
}

// begin listens. A program that another test just starts has a copy of the listener that was closed, until it is executed.
func (p *proxy) begin() {
	p.t.Helper()
	room.Await(p.t, "the proxy listens on "+p.Listen, func() bool { return p.Start() == nil })
}

// url is the proxy's address as queue-server takes it.
func (p *proxy) url() string { return "redis://" + p.Listen }

// slow has every reply wait for as long.
func (p *proxy) slow(d time.Duration) {
	p.add("latency", fmt.Sprintf(`"latency": %d`, d.Milliseconds()))
}

// cut breaks all connections off.
func (p *proxy) cut() { p.retarget(p.Upstream) }

// retarget cuts all connections and has new ones go to another address, as a
// name service does after a fail-over.
func (p *proxy) retarget(target string) {
	p.t.Helper()
	p.Stop()
	p.Upstream = target
	p.begin()
}

// swallow loses so many replies, each tenth that Redis sends: the connection closes in place of the reply, or the
// server waits in vain. It returns what counts those that were lost so far.
func (p *proxy) swallow(replies int, cut bool) (lost func() int64) {
	p.t.Helper()
	added := p.add("swallow", fmt.Sprintf(`"replies": %d, "cut": %t`, replies, cut))
	s, ok := added.Toxic.(*swallower)
	if !ok {
		p.t.Fatalf("it is a %T", added.Toxic)
	}
	return func() int64 { return min(s.lost.Load(), s.Replies) }
}

func (p *proxy) add(kind, attributes string) *toxics.ToxicWrapper {
	p.t.Helper()
	added, err := p.Toxics.AddToxicJson(strings.NewReader(fmt.Sprintf(`{"type": %q, "attributes": {%s}}`, kind, attributes)))
	if err != nil {
		p.t.Fatal(err)
	}
	return added
}

// heal ends what slow began.
func (p *proxy) heal() { p.Toxics.ResetToxics(p.t.Context()) }

// swallower is a toxic that loses replies.
type swallower struct {
	Replies int64 `json:"replies"`
	// Cut: the connection closes, rather than leave the caller waiting.
	Cut bool `json:"cut"`

	seen, lost atomic.Int64
}

// Pipe implements toxics.Toxic. go-redis sends one request at a time on a connection, so that what comes at once
// is one reply.
func (s *swallower) Pipe(stub *toxics.ToxicStub) {
	mute := false
	for {
		select {
		case <-stub.Interrupt:
			return
		case reply := <-stub.Input:
			if reply == nil {
				stub.Close()
				return
			}
			if s.seen.Add(1)%10 == 0 && s.lost.Add(1) <= s.Replies {
				if s.Cut {
					stub.Close()
					return
				}
				mute = true
			}
			if !mute {
				stub.Output <- reply
			}
		}
	}
}
