package gateway

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/openqueue/waitingroom/internal/limits/address"
	"github.com/openqueue/waitingroom/internal/refusal"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/serve/background"
	"github.com/openqueue/waitingroom/internal/site"
)

// Meter counts the answers of sites.
type Meter interface {
	// SiteAnswer counts one by its outcome, one of Outcomes. first is how long the site took to begin the answer; 0 if it did not,
	// and for a connection that was upgraded.
	SiteAnswer(zoneID, outcome string, first time.Duration)
}

// Outcomes of a request that went on to the site.
const (
	outAnswered = "answered" // with a status below 500
	outFailed   = "failed"   // with a status of 500 or above
	outAway     = "away"     // the site could not be reached, or closed the connection: 502
	outSlow     = "slow"     // the site did not begin an answer in time: 504
	outCut      = "cut"      // the site ended the connection in the middle of its answer
	outLeft     = "left"     // the visitor was gone before, or did not send the body
)

// Outcomes are all outcomes of a request that went on.
var Outcomes = []string{outAnswered, outFailed, outAway, outSlow, outCut, outLeft}

// Refusals of a request that went on. The visitor's session goes along with them.
var (
	ErrAway = refusal.New("gateway: the site is away", refusal.Refusal{
		Status: http.StatusBadGateway, Code: "site_unavailable",
		Title:    "The site does not answer",
		Detail:   "The waiting room let the request go on, and the site behind it cannot be reached. Try again when Retry-After has passed.",
		RetryMin: 3, RetryMax: 6,
		Alert:   "the site behind the gateway in the box cannot be reached: see that it runs where `upstream` says, and that this server reaches it",
		Page:    refusal.Page{State: "siteAway", AgainSeconds: 5},
		Readers: refusal.Visitors,
		Doc:     "Only where this server stands in front of the site itself: the site cannot be reached. Visitors who are inside stay inside.",
	})
	ErrSlow = refusal.New("gateway: the site is slow", refusal.Refusal{
		Status: http.StatusGatewayTimeout, Code: "site_timeout",
		Title:    "The site takes too long",
		Detail:   "The waiting room let the request go on, and the site behind it did not answer in time. Try again when Retry-After has passed.",
		RetryMin: 5, RetryMax: 10,
		Alert:   "the site takes longer than `QUEUE_SITES_ANSWER_TIMEOUT` to begin an answer: lower `perMinute` or `maxInside`",
		Page:    refusal.Page{State: "siteAway", AgainSeconds: 10},
		Readers: refusal.Visitors,
		Doc:     "Only where this server stands in front of the site itself: the site did not begin an answer in time. Visitors who are inside stay inside.",
	})
)

// Options are what a Gateway is made of. All but Connections, MaxBody and Saw are required.
type Options struct {
	Sites []Site
	Gate  *site.Service
	// Keep reports whether a connection may stay open whose visitor has an admission to a zone, and counts the visitor as inside.
	Keep func(zoneID string, admission [16]byte) bool
	// Room answers what the room is asked on the sites themselves, such as /wait/.
	Room http.Handler
	// Refuse answers a request in a zone with an error. zoneID is "" for a request of no site.
	Refuse func(w http.ResponseWriter, r *http.Request, zoneID string, err error)
	// Proxies are the networks whose X-Forwarded-For, -Proto and -Host are believed.
	Proxies []netip.Prefix
	// AnswerTimeout is how long a site may take to begin an answer, once it has the whole request.
	AnswerTimeout time.Duration
	// StallTimeout is how long no byte of a body may move, to or from the visitor, or to the site.
	StallTimeout time.Duration
	// MaxBody is the most that a request's body may have, in bytes; 0 for no bound.
	MaxBody int64
	// Connections bounds those to each site; 0 for no bound.
	Connections int
	Meter       Meter
	// Saw takes in an answer by which the autopilot of a zone steers: to a session, after which time it began, 0 if it never did, and whether
	// it failed. May be nil.
	Saw    func(zoneID string, session [16]byte, first time.Duration, failed bool)
	Logger *slog.Logger
}

// Gateway passes requests on to sites, as far as the gate lets them. It is safe for concurrent use. A nil Gateway has no sites, and may be
// started and stopped.
type Gateway struct {
	Options
	hosts   map[string]*host
	address func(*http.Request) string
	// proxy has what all requests have in common.
	proxy   httputil.ReverseProxy
	streams streams
	group   background.Group
}

const (
	// dialTimeout is for a site on the same network.
	dialTimeout = 5 * time.Second
	// keepIdle is how long an idle connection to a site is kept: less than the 5 s of Node.js and Apache, so that no request is sent into a
	// connection which the site is about to close. A POST is not sent again after that.
	keepIdle = 4 * time.Second
	// mostIdle is how many are kept to each site.
	mostIdle = 512
	// continueWithin is how long a site may take to say that it wants a body (Expect: 100-continue). Then the body is sent.
	continueWithin = time.Second
	// answerHeaderBytes is the most that an answer's header may have.
	answerHeaderBytes = 256 << 10
	// revokedEvery is how often upgraded connections and event streams are looked at, whether their session was revoked or has ended.
	revokedEvery = time.Second
	// roomReads and roomWrites bound what does not go on to a site, as on the public listener.
	roomReads, roomWrites = 10 * time.Second, 30 * time.Second
)

// New returns a gateway to sites that Check has seen.
func New(o Options) (*Gateway, error) {
	o.Proxies = append([]netip.Prefix{}, o.Proxies...)
	g := &Gateway{
		Options: o, hosts: map[string]*host{}, address: address.Finder(o.Proxies),
		proxy: httputil.ReverseProxy{BufferPool: &buffers{}, ErrorLog: slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug)},
	}
	transports := map[string]*http.Transport{}
	for i := range o.Sites {
		s := &o.Sites[i]
		u, err := s.upstream()
		if err != nil {
			return nil, err
		}
		if transports[u.Host] == nil {
			transports[u.Host] = g.transport()
		}
		name := strings.ToLower(s.Host)
		g.hosts[name] = cmp.Or(g.hosts[name], &host{})
		g.hosts[name].add(&target{Site: *s, url: u, transport: transports[u.Host]})
	}
	return g, nil
}

// transport returns one for a site: HTTP/1.1, no proxy, and nothing is changed in bodies.
func (g *Gateway) transport() *http.Transport {
	return &http.Transport{
		DialContext: g.dial, TLSHandshakeTimeout: dialTimeout,
		MaxIdleConnsPerHost: mostIdle, MaxConnsPerHost: g.Connections, IdleConnTimeout: keepIdle,
		ResponseHeaderTimeout: g.AnswerTimeout, ExpectContinueTimeout: continueWithin, MaxResponseHeaderBytes: answerHeaderBytes,
		DisableCompression: true, TLSNextProto: noHTTP2,
	}
}

// dial connects to a site.
func (g *Gateway) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &siteConn{c, g.StallTimeout}, nil
}

// siteConn is a connection to a site, which must take what is written within limit.
type siteConn struct {
	net.Conn
	limit time.Duration
}

// Write writes to the site.
func (c *siteConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.limit)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// Start begins to look at upgraded connections and event streams. Stop ends that, and ends them.
func (g *Gateway) Start(ctx context.Context) {
	if g == nil {
		return
	}
	g.group.Start(ctx, background.Every(revokedEvery, func(context.Context) {
		g.streams.cut(func(s *stream) bool { return s.admission != [16]byte{} && !g.Keep(s.zoneID, s.admission) })
	}))
}

// Stop ends upgraded connections and event streams, and closes the connections to sites.
func (g *Gateway) Stop() {
	if g == nil {
		return
	}
	g.group.Stop()
	g.streams.cut(func(*stream) bool { return true })
	for _, h := range g.hosts {
		for _, t := range h.targets {
			t.transport.CloseIdleConnections()
		}
	}
}

// EndEventStreams ends what a drain would wait for in vain. A browser asks another server for the stream then.
func (g *Gateway) EndEventStreams() { g.streams.cut(func(s *stream) bool { return !s.upgraded }) }

// Upgraded returns how many connections are upgraded now.
func (g *Gateway) Upgraded() int {
	if g == nil {
		return 0
	}
	return g.streams.upgraded()
}

// ofRoom reports whether a path is the room's.
func ofRoom(path string) bool {
	return strings.HasPrefix(path, "/wait/") || strings.HasPrefix(path, "/traffic/") || path == "/.well-known/jwks.json"
}

// ServeHTTP answers a visitor.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if ofRoom(r.URL.Path) {
		bound(w)
		g.Room.ServeHTTP(w, r)
		return
	}
	v := visitor{request: r, gateway: g}
	v.peer, v.trusted = g.peer(r)
	// By the host that is sent on, whatever a proxy says that the browser asked for: many hand on what the browser says of that.
	t, err := g.find(r.Host, r.URL.Path, r.URL.EscapedPath())
	if err == nil && (!strings.HasPrefix(r.URL.EscapedPath(), "/") || r.URL.Opaque != "" || r.Method == http.MethodConnect) {
		err = &serve.FieldError{Field: "the path", Reason: "is none that a site has"}
	}
	if err != nil {
		bound(w)
		g.Refuse(w, r, "", err)
		return
	}
	onlyWebSocket(r)
	d := g.Gate.Decide(r.Context(), t.Zone, &site.Visit{
		Method: r.Method, URI: r.URL.RequestURI(), Host: v.host(), Secure: v.scheme() == "https", Header: r.Header, From: &v,
	})
	if d.Status == http.StatusOK {
		g.pass(w, &v, t, &d)
		return
	}
	bound(w)
	maps.Copy(w.Header(), d.Header)
	if d.Err != nil {
		g.Refuse(w, r, t.Zone, d.Err)
		return
	}
	w.WriteHeader(d.Status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(d.Document) // the visitor may be gone
	}
}

// bound bounds an answer of this server's own, and what net/http still reads of the request before it. The connection may have limits of
// the request before it, or none.
func bound(w http.ResponseWriter) {
	control, now := http.NewResponseController(w), time.Now()
	_ = errors.Join(control.SetReadDeadline(now.Add(roomReads)), control.SetWriteDeadline(now.Add(roomWrites)))
}

// visitor is who sends a request, and site.Origin.
type visitor struct {
	request *http.Request
	gateway *Gateway
	// peer is the address of the connection; trusted: it is a trusted proxy's.
	peer    string
	trusted bool
}

func (g *Gateway) peer(r *http.Request) (peer string, trusted bool) {
	peer = r.RemoteAddr
	if name, _, err := net.SplitHostPort(peer); err == nil {
		peer = name
	}
	if len(g.Proxies) == 0 {
		return peer, false
	}
	at, err := netip.ParseAddr(peer)
	return peer, err == nil && address.Within(g.Proxies, at)
}

// RealIP returns the visitor's address.
func (v *visitor) RealIP() string { return v.gateway.address(v.request) }

// Told returns the visitor's address, unless a proxy that is not trusted may have it.
func (v *visitor) Told() (netip.Addr, bool) {
	if v.trusted {
		return address.Told(v.request, v.gateway.Proxies)
	}
	at, err := netip.ParseAddr(v.peer)
	return at, err == nil && v.request.Header[forwardedFor] == nil
}

// told is what a trusted proxy says, or what this server sees.
func (v *visitor) told(header, sees string) string {
	if v.trusted {
		return cmp.Or(v.request.Header.Get(header), sees)
	}
	return sees
}

// host is the name of the site, as the visitor's browser knows it.
func (v *visitor) host() string { return v.told(forwardedHost, v.request.Host) }

// scheme is http or https.
func (v *visitor) scheme() string {
	if v.request.TLS != nil {
		return v.told(forwardedProto, "https")
	}
	return v.told(forwardedProto, "http")
}

// buffers are those that bodies are copied with.
type buffers struct{ sync.Pool }

const bufferBytes = 32 << 10

// Get returns one.
func (b *buffers) Get() []byte {
	if p, ok := b.Pool.Get().(*[bufferBytes]byte); ok {
		return p[:]
	}
	return make([]byte, bufferBytes)
}

// Put takes one back.
func (b *buffers) Put(p []byte) { b.Pool.Put((*[bufferBytes]byte)(p)) }
