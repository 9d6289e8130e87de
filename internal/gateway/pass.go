package gateway

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/site"
)

// Headers by which a site learns of its visitor.
const (
	forwardedFor   = "X-Forwarded-For"
	forwardedHost  = "X-Forwarded-Host"
	forwardedProto = "X-Forwarded-Proto"
	realIP         = "X-Real-Ip"
	// admissionHeader has the jti of the visitor's admission, by which the site can say that the visitor is done.
	admissionHeader = "X-Waiting-Room-Jti"
)

// clearsOthers is what a site may have a browser clear: its cookies are the visitor's session and place, too.
var clearsOthers = []string{`"cache", "storage"`}

// noHTTP2 keeps a transport at HTTP/1.1, whose connections carry one request at a time.
var noHTTP2 = map[string]func(string, *tls.Conn) http.RoundTripper{}

// onlyWebSocket removes an Upgrade other than websocket.
func onlyWebSocket(r *http.Request) {
	if to := r.Header["Upgrade"]; to != nil && (len(to) != 1 || !strings.EqualFold(to[0], "websocket") || r.Method != http.MethodGet || r.ContentLength != 0) {
		delete(r.Header, "Upgrade")
		delete(r.Header, "Http2-Settings")
	}
}

// passage is one request that goes on.
type passage struct {
	*Gateway
	v     *visitor
	t     *target
	d     *site.Decision
	began time.Time
	body  *body
	// ended: the server ended the answer, an event stream.
	ended atomic.Bool
	// counted: the outcome is told. endless: the answer is one that does not end, of an upgraded connection or server-sent events.
	counted, endless bool
}

// pass passes a request on, and the site's answer back.
func (g *Gateway) pass(w http.ResponseWriter, v *visitor, t *target, d *site.Decision) {
	p := &passage{Gateway: g, v: v, t: t, d: d, began: time.Now()}
	r := v.request
	out := &writer{ResponseWriter: w, control: http.NewResponseController(w), passage: p}
	out.disarm() // what a request before, on the same connection, left
	if r.ContentLength != 0 {
		in := r.Body
		if g.MaxBody > 0 {
			in = http.MaxBytesReader(w, in, g.MaxBody)
		}
		p.body = &body{ReadCloser: in, control: out.control, limit: g.StallTimeout, trailer: r.Trailer}
		r.Body = p.body
	}
	defer func() {
		if cause := recover(); cause != nil { // the answer was cut
			if r.Context().Err() == nil && !p.ended.Load() {
				p.count(outCut, 0)
			}
			panic(cause)
		}
		out.arm() // for what net/http still has to send
	}()
	proxy := g.proxy
	proxy.Rewrite, proxy.ModifyResponse, proxy.ErrorHandler, proxy.Transport = p.rewrite, p.answered, p.failed, t.transport
	proxy.ServeHTTP(out, r)
}

// rewrite makes the request that the site gets.
func (p *passage) rewrite(r *httputil.ProxyRequest) {
	out, h := r.Out, r.Out.Header
	out.URL.Scheme, out.URL.Host = p.t.url.Scheme, p.t.url.Host
	out.URL.RawQuery = r.In.URL.RawQuery // the gate was asked about that
	out.Host = r.In.Host
	out.Trailer = r.In.Trailer // the visitor's own, not a copy: it is filled in after the body
	for name := range h {
		if ours(name) {
			delete(h, name)
		}
	}
	stripCookies(h)
	from := p.v.peer
	if before := r.In.Header[forwardedFor]; p.v.trusted && len(before) > 0 {
		from = strings.Join(before, ", ") + ", " + from
	}
	h[forwardedFor], h[forwardedHost], h[forwardedProto] = []string{from}, []string{p.v.host()}, []string{p.v.scheme()}
	h[realIP] = []string{p.v.RealIP()}
	if p.d.Admission != [16]byte{} {
		h[admissionHeader] = []string{uuid.UUID(p.d.Admission).String()}
	}
}

// ours reports whether a header is one that only a gateway may write, or the room's. CGI reads _ as -.
func ours(name string) bool {
	if c := name[0] | 0x20; c != 'x' && c != 'f' && c != 'p' {
		return false
	}
	name = strings.ToLower(strings.ReplaceAll(name, "_", "-"))
	switch name {
	case "forwarded", "x-real-ip", "x-rewrite-url", "proxy": // Proxy is the variable http_proxy of a CGI program
		return true
	}
	return strings.HasPrefix(name, "x-forwarded-") || strings.HasPrefix(name, "x-original-") || strings.HasPrefix(name, "x-waiting-room-")
}

// stripCookies takes the room's cookies out.
func stripCookies(h http.Header) {
	lines := h["Cookie"]
	for i, line := range lines {
		if !strings.Contains(line, "waitingroom") {
			continue
		}
		var kept []string
		for pair := range strings.SplitSeq(line, ";") {
			if pair = strings.TrimSpace(pair); !site.OwnCookie(pair) {
				kept = append(kept, pair)
			}
		}
		lines[i] = strings.Join(kept, "; ")
	}
	if len(lines) == 1 && lines[0] == "" {
		delete(h, "Cookie")
	}
}

// answered completes the site's answer with what the gate gives the visitor.
func (p *passage) answered(res *http.Response) error {
	first := time.Since(p.began)
	outcome := outAnswered
	switch {
	case res.StatusCode >= http.StatusInternalServerError:
		outcome = outFailed
	case res.StatusCode == http.StatusSwitchingProtocols:
		first = 0
	}
	events := strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream")
	p.endless = first == 0 || events
	p.count(outcome, first)
	if p.d.Header["Cache-Control"] != nil { // no cache may go by what the site says: nginx and CDNs have headers of their own (RFC 9213)
		maps.DeleteFunc(res.Header, func(name string, _ []string) bool {
			return name == "Expires" || name == "X-Accel-Expires" || strings.HasSuffix(name, "Cache-Control")
		})
	}
	for name, values := range p.d.Header {
		if name == "Set-Cookie" {
			values = append(res.Header[name], values...)
		}
		res.Header[name] = values
	}
	if events {
		p.streamed(res)
	}
	if clears := strings.Join(res.Header["Clear-Site-Data"], ","); strings.Contains(clears, "cookies") || strings.Contains(clears, "*") {
		res.Header["Clear-Site-Data"] = clearsOthers
	}
	return nil
}

// failed answers if the site does not. What the gate gives the visitor goes along, so that no place is lost.
func (p *passage) failed(w http.ResponseWriter, r *http.Request, err error) {
	tooLarge, isTooLarge := errors.AsType[*http.MaxBytesError](err)
	timeout, isTimeout := errors.AsType[net.Error](err)
	switch {
	case isTooLarge:
		p.count(outLeft, 0)
		err = &tooLargeError{serve.ErrTooLarge, tooLarge.Limit}
	case r.Context().Err() != nil, p.body != nil && p.body.broken.Load():
		p.count(outLeft, 0)
		panic(http.ErrAbortHandler) // nobody reads an answer
	case isTimeout && timeout.Timeout():
		p.count(outSlow, 0)
		err = errors.Join(ErrSlow, err)
	default:
		p.count(outAway, 0)
		err = errors.Join(ErrAway, err)
	}
	p.Logger.Debug("a site did not answer", "zone", p.t.Zone, "upstream", p.t.url.Host, "error", err)
	bound(w)
	maps.Copy(w.Header(), p.d.Header)
	p.Refuse(w, p.v.request, p.t.Zone, err)
}

// tooLargeError says the bound of the setting.
type tooLargeError struct {
	error
	most int64
}

// Unwrap returns serve.ErrTooLarge.
func (e *tooLargeError) Unwrap() error { return e.error }

// Detail is for the client.
func (e *tooLargeError) Detail() string { return fmt.Sprintf("A body may have %d bytes.", e.most) }

// count tells the outcome, once; a cut comes after an answer.
func (p *passage) count(outcome string, first time.Duration) {
	if !p.counted || outcome == outCut {
		p.Meter.SiteAnswer(p.t.Zone, outcome, first)
		if p.Saw != nil && p.d.Steers && !p.endless && outcome != outLeft {
			if outcome == outSlow {
				first = time.Since(p.began)
			}
			p.Saw(p.t.Zone, p.d.Admission, first, outcome != outAnswered)
		}
		p.counted = true
	}
}

// body is a request's body, of which something must move within limit.
type body struct {
	io.ReadCloser
	control *http.ResponseController
	limit   time.Duration
	set     time.Time
	// trailer is filled in by the end of the body.
	trailer http.Header
	// broken: the visitor did not send the whole of it.
	broken atomic.Bool
}

// Read reads from the visitor.
func (b *body) Read(p []byte) (int, error) {
	if now := time.Now(); now.Sub(b.set) > time.Second {
		b.set = now
		_ = b.control.SetReadDeadline(now.Add(b.limit)) // a connection without deadlines has no limit
	}
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		maps.DeleteFunc(b.trailer, func(name string, _ []string) bool { return ours(name) }) // a site may take it for a header
		b.broken.Store(!errors.Is(err, io.EOF))
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// writer is where an answer goes, of which something must move within Options.StallTimeout.
type writer struct {
	http.ResponseWriter
	control *http.ResponseController
	*passage
}

// Unwrap is for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// arm sets the limit. Without disarm it would end a stream that is silent: HTTP/2 ends one whose limit is over though nothing is sent.
func (w *writer) arm() { _ = w.control.SetWriteDeadline(time.Now().Add(w.StallTimeout)) }

func (w *writer) disarm() { _ = w.control.SetWriteDeadline(time.Time{}) }

// Write sends to the visitor.
func (w *writer) Write(p []byte) (int, error) {
	w.arm()
	defer w.disarm()
	return w.ResponseWriter.Write(p)
}

// FlushError sends what is written.
func (w *writer) FlushError() error {
	w.arm()
	defer w.disarm()
	return w.control.Flush()
}
