package site

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/openqueue/waitingroom/internal/page"
	"github.com/openqueue/waitingroom/internal/serve"
)

// prefix is what the paths of the listener begin with, before the zone.
const prefix = "/site/"

// request is a visitor's, as the gateway tells of it.
type request struct {
	// nginx: the answer is to be such that auth_request understands it.
	nginx bool
	// below: the visitor's path stands behind the zone, as Envoy asks.
	below bool
	// method, uri and host are the visitor's; uri is path and query as they were written.
	method, uri, host string
	// secure: the visitor came by TLS.
	secure bool
	header http.Header
}

// field is Header.Get for a name in its canonical form, which then is not looked for one.
func field(h http.Header, name string) string {
	if values := h[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// readRequest returns a *serve.FieldError where it cannot tell what the visitor asked for.
func readRequest(r *http.Request) (request, error) {
	h := r.Header
	q := request{method: r.Method, host: r.Host, header: h}
	original, forwarded := field(h, "X-Original-Uri"), field(h, "X-Forwarded-Uri")
	proto := "X-Forwarded-Proto"
	rest := strings.TrimPrefix(r.RequestURI, prefix)
	i := strings.IndexAny(rest, "/?")
	switch {
	case i >= 0 && rest[i] == '/':
		q.below, q.uri = true, rest[i:]
	case original != "" && forwarded != "":
		return q, &serve.FieldError{Field: "X-Original-URI and X-Forwarded-Uri", Reason: "are both there: the gateway must remove the one that it does not set"}
	case original != "":
		q.nginx, q.uri, proto = true, original, "X-Original-Proto"
		q.take(field(h, "X-Original-Method"), field(h, "X-Original-Host"))
	case forwarded != "":
		q.uri = forwarded
		q.take(field(h, "X-Forwarded-Method"), field(h, "X-Forwarded-Host"))
	default:
		return q, &serve.FieldError{Field: "X-Original-URI or X-Forwarded-Uri", Reason: "is missing: the gateway must say what the visitor asks for"}
	}
	// Of a WebSocket, Traefik says wss.
	scheme := field(h, proto)
	q.secure = scheme == "https" || scheme == "wss"
	if !strings.HasPrefix(q.uri, "/") {
		q.uri = "/"
	}
	return q, nil
}

// take sets what a gateway tells of.
func (q *request) take(method, host string) {
	if method != "" {
		q.method = method
	}
	if host != "" {
		q.host = host
	}
}

// reads reports whether the visitor's method only reads.
func (q *request) reads() bool { return q.method == http.MethodGet || q.method == http.MethodHead }

// navigates reports whether a browser opens a page: by what browsers say of themselves, else, as those do that are
// older or have no TLS, by what is accepted.
func (q *request) navigates() bool {
	if mode := q.header.Get("Sec-Fetch-Mode"); mode != "" {
		return mode == "navigate" && !q.framed()
	}
	_, own := q.from()
	return (q.reads() || q.method == http.MethodPost && own) && strings.Contains(q.header.Get("Accept"), "text/html")
}

// from returns the page of the site that the request was sent from, if the browser says so: a webhook has none.
func (q *request) from() (page *url.URL, ok bool) {
	page, err := url.Parse(q.header.Get("Referer"))
	return page, err == nil && page.Host == q.host && page.Path != ""
}

// framed reports whether a page of another site has it in a frame, where no cookie of ours is
// kept: each reader of that page would be one more in line. What the site's service worker fetches
// for one who follows a link of another site is empty.
func (q *request) framed() bool {
	dest := q.header.Get("Sec-Fetch-Dest")
	return dest != "" && dest != "document" && dest != "empty" && q.header.Get("Sec-Fetch-Site") == "cross-site"
}

// prefetches reports whether a browser only fetches in advance what its visitor may open.
func (q *request) prefetches() bool {
	return strings.Contains(q.header.Get("Sec-Purpose"), "prefetch")
}

// preflight reports whether a browser asks, for a page of another site, whether it may ask:
// such a request never has a cookie.
func (q *request) preflight() bool {
	return q.method == http.MethodOptions && q.header.Get("Access-Control-Request-Method") != ""
}

// takeOut takes a parameter out of the query, and returns it; what else stands there stays as
// it was written. Without it, it returns "".
func (q *request) takeOut(parameter string) (taken string) {
	path, query, ok := strings.Cut(q.uri, "?")
	if !ok || !strings.Contains(query, parameter) {
		return ""
	}
	kept := make([]string, 0, strings.Count(query, "&")+1)
	for part := range strings.SplitSeq(query, "&") {
		if value, ok := strings.CutPrefix(part, parameter+"="); ok {
			taken = value
		} else {
			kept = append(kept, part)
		}
	}
	if taken == "" {
		return ""
	}
	q.uri = path
	if len(kept) > 0 {
		q.uri += "?" + strings.Join(kept, "&")
	}
	return taken
}

// here is the address of the visitor's request on its own site. It is never that of another
// site, as //host would be.
func (q *request) here() string { return local(q.uri) }

func local(uri string) string {
	if strings.HasPrefix(uri, "//") || strings.HasPrefix(uri, `/\`) {
		return "/." + uri
	}
	return uri
}

// maxTarget bounds where the waiting page is told to lead, in bytes: gateways take answers
// whose header has a few kilobytes.
const maxTarget = 2048

// target is where the visitor is to go after the wait: an address if the page is on a site
// of its own, else a path. What a form has sent cannot be sent again after a wait: its
// visitor goes back to the page with the form.
func (q *request) target(elsewhere bool) string {
	uri := q.uri
	if !q.reads() {
		uri = "/"
		if from, ok := q.from(); ok {
			uri = from.RequestURI()
		}
	}
	uri = local(uri)
	if len(uri) > maxTarget {
		uri, _, _ = strings.Cut(uri, "?")
	}
	// Where the page does not lead, its visitor would wait for nothing.
	if len(uri) > maxTarget || !page.Leads(uri) {
		uri = "/"
	}
	// A name that no site can have leads to the zone's first site. A longer one would make an
	// answer that gateways cannot read, and some let everybody go on then.
	const maxHost = 260
	if !elsewhere || len(q.host) > maxHost {
		return uri
	}
	if q.secure {
		return "https://" + q.host + uri
	}
	return "http://" + q.host + uri
}
