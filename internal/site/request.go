package site

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/openqueue/waitingroom/internal/page"
	"github.com/openqueue/waitingroom/internal/serve"
)

// prefix begins the paths of the listener; the zone follows.
const prefix = "/site/"

// request is the visitor's request, as the gateway describes it.
type request struct {
	// nginx says that auth_request must understand the answer.
	nginx bool
	// ingress says that the gateway is ingress-nginx, which leads to the waiting page itself, whatever the answer's Location is.
	ingress bool
	// below says that the visitor's path follows the zone in the path, as Envoy has it.
	below bool
	// method, uri and host are the visitor's; uri is path and query as they were written.
	method, uri, host string
	// secure says that the visitor came by TLS.
	secure bool
	header http.Header
	// visitor has the visitor's address.
	visitor Origin
}

// Origin is where a visitor comes from. A request that goes on by its session is spared to find that.
type Origin interface {
	// RealIP returns the address.
	RealIP() string
	// Told returns the address if it is surely the visitor's, and no gateway's.
	Told() (netip.Addr, bool)
}

// field is Header.Get for a name that is in its canonical form already, which saves the conversion.
func field(h http.Header, name string) string {
	if values := h[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// readRequest reads what the visitor asks for. It returns a *serve.FieldError if the gateway does not say that.
func readRequest(r *http.Request) (request, error) {
	h := r.Header
	q := request{method: r.Method, host: r.Host, header: h}
	original, whole, forwarded := field(h, "X-Original-Uri"), field(h, "X-Original-Url"), field(h, "X-Forwarded-Uri")
	scheme := field(h, "X-Forwarded-Proto")
	rest := strings.TrimPrefix(r.RequestURI, prefix)
	i := strings.IndexAny(rest, "/?")
	switch {
	case i >= 0 && rest[i] == '/':
		q.below, q.uri = true, rest[i:]
	case forwarded != "" && original+whole != "", whole != "" && !strings.HasSuffix(whole, original):
		return q, &serve.FieldError{Field: "X-Original-URI, X-Original-URL and X-Forwarded-Uri", Reason: "are sent together: the gateway must remove the headers that it does not set itself"}
	case whole != "": // beside which ingress-nginx may say X-Original-URI, too; the parts are taken as they are written
		q.nginx, q.ingress = true, true
		var rest string
		scheme, rest, _ = strings.Cut(whole, "://")
		i := strings.IndexAny(rest+"/", "/?")
		q.host, q.uri = rest[:i], rest[i:]
		q.take(field(h, "X-Original-Method"), "")
	case original != "":
		// Where nginx does not say which, r.Host is what it calls us.
		q.nginx, q.uri, q.host, scheme = true, original, "", field(h, "X-Original-Proto")
		q.take(field(h, "X-Original-Method"), field(h, "X-Original-Host"))
	case forwarded != "":
		q.uri = forwarded
		q.take(field(h, "X-Forwarded-Method"), field(h, "X-Forwarded-Host"))
	default:
		return q, &serve.FieldError{Field: "X-Original-URI, X-Original-URL or X-Forwarded-Uri", Reason: "is missing: the gateway must say what the visitor asks for"}
	}
	// Traefik says wss for a WebSocket.
	q.secure = scheme == "https" || scheme == "wss"
	if !strings.HasPrefix(q.uri, "/") {
		q.uri = "/"
	}
	return q, nil
}

// take sets the visitor's method and host, if the gateway says them.
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

// navigates reports whether a browser opens a page. Sec-Fetch-Mode decides. Browsers that are older or came without TLS
// do not send it: for them it is the header Accept. HEAD opens no page.
func (q *request) navigates() bool {
	mode := q.header.Get("Sec-Fetch-Mode")
	switch {
	case q.method == http.MethodHead:
		return false
	case mode != "":
		return mode == "navigate" && !q.framed()
	default:
		return (q.method == http.MethodGet || q.method == http.MethodPost && q.own()) && q.wantsHTML()
	}
}

// wantsHTML reports whether a page is what is asked for first. Feed readers take a page, too, but after a feed.
func (q *request) wantsHTML() bool {
	accept := q.header.Get("Accept")
	first, _, _ := strings.Cut(accept, ",")
	first, _, _ = strings.Cut(first, ";")
	switch strings.ToLower(strings.TrimSpace(first)) {
	case "text/html", "application/xhtml+xml":
		return true
	case "application/xml", "text/xml": // browsers of before 2011
		return strings.Contains(accept, "application/xhtml+xml")
	}
	return false
}

// ends reports whether the request may end a visit: an app's, or a browser that opens a page from the site itself. No link, image or
// frame of another site can end somebody's visit, and neither can what a browser loads in advance.
func (q *request) ends() bool {
	if q.method != http.MethodGet && q.method != http.MethodPost || page.InAdvance(q.header) {
		return false
	}
	switch site := q.header.Get("Sec-Fetch-Site"); site {
	case "same-origin", "same-site":
		return q.navigates()
	case "":
		return q.own() && q.navigates() || q.header.Get(SessionHeader) != ""
	default:
		return false
	}
}

// from returns the page of the same site that sent the request, by Referer. ok is false if there is none, as for a webhook.
func (q *request) from() (page *url.URL, ok bool) {
	page, err := url.Parse(q.header.Get("Referer"))
	return page, err == nil && page.Host == q.host && page.Path != ""
}

// own reports whether a page of the same site sent the request, by Referer or Origin.
func (q *request) own() bool {
	_, ok := q.from()
	_, host, _ := strings.Cut(q.header.Get("Origin"), "://")
	return ok || host != "" && strings.EqualFold(host, q.host)
}

// framed reports whether a page loads this one in a frame. Nobody can wait there. The destination "empty" is no frame: with
// it the site's service worker fetches the page for a visitor who opens it.
func (q *request) framed() bool {
	dest := q.header.Get("Sec-Fetch-Dest")
	return dest != "" && dest != "document" && dest != "empty"
}

// crawls reports whether a crawler or a preview of a link asks.
func (q *request) crawls() bool { return page.Crawls(field(q.header, "User-Agent")) }

// keeps reports whether a browser sends the request that keeps a session and shows it: for a page of the site or of one of the
// origins, in a frame of such a page, or with a form that wants a page. A page of another site that has this one in a frame does not
// count: no cookie of ours is kept there.
func (q *request) keeps(origins []string) bool {
	switch site := q.header.Get("Sec-Fetch-Site"); {
	case q.crawls():
		return false
	case site == "":
		return q.method == http.MethodPost && q.wantsHTML()
	default:
		return site == "same-origin" || site == "same-site" && q.header.Get("Sec-Fetch-Mode") == "navigate" || slices.Contains(origins, q.header.Get("Origin"))
	}
}

// preflight reports whether the request is a CORS preflight, which never has a cookie.
func (q *request) preflight() bool {
	return q.method == http.MethodOptions && q.header.Get("Access-Control-Request-Method") != ""
}

// takeOut takes a parameter out of the query, and returns its value as it is written; "" if it is not there.
func (q *request) takeOut(parameter string) (taken string) {
	q.uri, taken = page.TakeOut(q.uri, parameter)
	return taken
}

// here returns the path and query of the visitor's request. They never lead to another site, as
// //host would.
func (q *request) here() string { return local(q.uri) }

func local(uri string) string {
	if strings.HasPrefix(uri, "//") || strings.HasPrefix(uri, `/\`) {
		return "/." + uri
	}
	return uri
}

// maxTarget bounds the address to which the waiting page leads, in bytes: gateways accept answers
// whose header has a few kilobytes.
const maxTarget = 2048

// target returns where the visitor goes after the wait: a whole address if elsewhere, which says that the
// waiting page is on a site of its own, else a path. A form cannot be sent again after a wait, so its
// visitor goes back to the page with the form. The page leads a path to the first of the zone's sites: it is for hosts that
// are none of them, such as that of a service which a gateway asks for.
func (q *request) target(elsewhere bool, sites []string) string {
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
	// If the page refused to lead there, the visitor would not get what the wait was for.
	if len(uri) > maxTarget || !page.Leads(uri) {
		uri = "/"
	}
	scheme := "http://"
	if q.secure {
		scheme = "https://"
	}
	// A host that is longer than any site's would make an answer that gateways cannot read, and some gateways then let
	// everybody go on.
	const maxHost = 260
	if !elsewhere || q.host == "" || len(q.host) > maxHost || len(sites) > 0 && !page.Allows(scheme+q.host, sites) {
		return uri
	}
	return scheme + q.host + uri
}
