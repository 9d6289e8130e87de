package pass

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Parameter is the query parameter that the waiting page leads back with.
const Parameter = "waiting_room_pass"

// Option of a middleware.
type Option func(*guard)

// Room sends browsers that go to a page without a good pass to the waiting page of the
// room at this address, such as https://queue.example, with a way back. Without it they
// get the problem document, as all others do.
func Room(address string) Option {
	return func(g *guard) {
		address = strings.TrimRight(address, "/")
		g.page, g.join = address+"/wait/"+url.PathEscape(g.zone), address+"/traffic/wait"
	}
}

// Origin is how visitors reach this service, such as https://shop.example, for the way
// back from the waiting page. Without it, that is the request's Host, with https if TLS
// ends here: a proxy in front may change both. The zone's sites must allow it.
func Origin(address string) Option {
	return func(g *guard) { g.origin = strings.TrimRight(address, "/") }
}

// Header looks for the pass in this header, too: the gate's is X-Waiting-Room-Pass.
func Header(name string) Option {
	return func(g *guard) { g.headers = append(g.headers, name) }
}

// guard is what the options of a middleware set.
type guard struct {
	verifier   *Verifier
	zone       string
	page, join string
	origin     string
	headers    []string
}

// Middleware lets requests with a good pass of the zone through, and refuses all others, as
// the package describes.
func (v *Verifier) Middleware(zone string, options ...Option) func(http.Handler) http.Handler {
	g := &guard{verifier: v, zone: zone}
	for _, o := range options {
		o(g)
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p, wrong := g.find(r)
			if wrong != nil {
				g.refuse(w, r, wrong)
				return
			}
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), contextKey{}, p)))
		})
	}
}

type contextKey struct{}

// From returns the pass that a middleware has let the request of this context through with.
func From(ctx context.Context) (Pass, bool) {
	p, ok := ctx.Value(contextKey{}).(Pass)
	return p, ok
}

// WithoutPass is the path and query that a request came for, without the pass: where to
// send a browser whose pass has been taken, so that nobody finds it in an address.
func WithoutPass(r *http.Request) string {
	u, err := url.ParseRequestURI(r.RequestURI) // as the browser has it; r.URL may have lost a prefix
	if err != nil {
		u = r.URL
	}
	to := u.EscapedPath()
	if strings.HasPrefix(to, "//") { // that would be another site
		to = "/." + to
	}
	var kept []string
	for part := range strings.SplitSeq(u.RawQuery, "&") { // the rest stays as it was written
		name, _, _ := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(name); part != "" && (err != nil || plain != Parameter) {
			kept = append(kept, part)
		}
	}
	if len(kept) > 0 {
		to += "?" + strings.Join(kept, "&")
	}
	return to
}

// find returns the first good pass of a request, else what is wrong with those that it has.
func (g *guard) find(r *http.Request) (Pass, *refusal) {
	found := []string{parameter(r)}
	for _, name := range g.headers {
		found = append(found, r.Header.Get(name))
	}
	if scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") {
		found = append(found, strings.TrimSpace(token))
	}
	wrong := &refusal{}
	for i, pass := range found {
		p, err := g.verifier.Verify(r.Context(), g.zone, pass)
		if err == nil {
			return p, nil
		}
		wrong.err = errors.Join(wrong.err, err)
		wrong.inAddress = wrong.inAddress || i == 0 && pass != "" && !errors.Is(err, ErrExpired)
	}
	return Pass{}, wrong
}

// refusal is all that is wrong with the passes of a request.
type refusal struct {
	err error
	// inAddress: the waiting page may have sent one that is no good, and would send it again.
	inAddress bool
}

// parameter is the pass in the query: the last, which the waiting page has added.
func parameter(r *http.Request) string {
	if all := r.URL.Query()[Parameter]; len(all) > 0 {
		return all[len(all)-1]
	}
	return ""
}

// problem is a document of RFC 9457.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Code   string `json:"code"`
	ZoneID string `json:"zoneId"`
	// Join is where an app joins, and Page the waiting page, if Room has said so.
	Join string `json:"join,omitempty"`
	Page string `json:"page,omitempty"`
}

// problems says what a client is told: the first whose error is among those of its passes.
var problems = []struct {
	err error
	problem
}{
	{ErrUnverified, problem{
		Status: http.StatusServiceUnavailable, Code: "pass_unverified", Title: "The pass cannot be verified now",
		Detail: "The waiting room's keys are not to be had. Send the same request again after Retry-After.",
	}},
	{ErrUsed, problem{
		Status: http.StatusUnauthorized, Code: "pass_used", Title: "The pass has been used",
		Detail: "Each admission is taken once. Join the line again.",
	}},
	{ErrExpired, problem{
		Status: http.StatusUnauthorized, Code: "pass_expired", Title: "The pass has expired",
		Detail: "Its time was over before it was shown. Join the line again.",
	}},
	{ErrInvalid, problem{
		Status: http.StatusUnauthorized, Code: "pass_invalid", Title: "The pass is not valid here",
		Detail: "It is not signed by this waiting room, or is another zone's. Join the line.",
	}},
	{ErrMissing, problem{
		Status: http.StatusUnauthorized, Code: "pass_required", Title: "A pass is required",
		Detail: "Whoever comes here has to stand in line first. Join the line, and send the pass that it ends with.",
	}},
}

// typeBase and a code make the address of the problem's description.
const typeBase = "https://github.com/openqueue/waitingroom/blob/main/docs/integrate/pass.md#"

// retryAfter is when a pass that could not be verified may be tried again, in seconds.
const retryAfter = "5"

// again asks the waiting page for a new place, instead of the one that ended with the pass.
const again = "&again=1"

// backPage is for a browser whose pass is no good, and which the waiting page may have sent.
const backPage = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Waiting room</title><p>%s. <a href="%s">Go to the waiting room</a>
`

// refuse answers whoever has no good pass.
func (g *guard) refuse(w http.ResponseWriter, r *http.Request, wrong *refusal) {
	i := 0
	for i < len(problems)-1 && !errors.Is(wrong.err, problems[i].err) {
		i++
	}
	p, h := problems[i].problem, w.Header()
	p.Type, p.ZoneID, p.Join, p.Page = typeBase+p.Code, g.zone, g.join, g.page
	h.Set("Cache-Control", "no-store")
	unverified := p.Status != http.StatusUnauthorized
	if g.page != "" && !unverified && isNavigation(r) {
		to := g.page + "?to=" + url.QueryEscape(g.target(r))
		if !wrong.inAddress {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		h.Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(p.Status)
		fmt.Fprintf(w, backPage, p.Title, html.EscapeString(to+again))
		return
	}
	body, err := json.Marshal(p)
	if err != nil {
		http.Error(w, http.StatusText(p.Status), p.Status)
		return
	}
	if unverified {
		h.Set("Retry-After", retryAfter)
	} else {
		h.Set("WWW-Authenticate", "Bearer realm="+strconv.Quote(g.zone))
	}
	h.Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_, _ = w.Write(body) // to one who may have hung up
}

// maxTarget bounds where the waiting page is told to lead, in bytes: proxies take addresses
// of a few kilobytes.
const maxTarget = 2048

// target is where the visitor is to go after the wait.
func (g *guard) target(r *http.Request) string {
	origin, to := g.origin, WithoutPass(r)
	if origin == "" && r.TLS != nil {
		origin = "https://" + r.Host
	} else if origin == "" {
		origin = "http://" + r.Host
	}
	if len(to) > maxTarget {
		to, _, _ = strings.Cut(to, "?")
	}
	if len(to) > maxTarget {
		to = "/"
	}
	return origin + to
}

// isNavigation reports whether a browser asks for a page to show. Older ones do not say, but
// ask for HTML.
func isNavigation(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	if mode := r.Header.Get("Sec-Fetch-Mode"); mode != "" {
		return mode == "navigate"
	}
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}
