// Package cors lets pages of other sites join and poll from the browser, if the operator
// names those sites (CORS, https://fetch.spec.whatwg.org/#http-cors-protocol).
//
// For any other site, a browser keeps the answers from the page, and Check refuses what the
// page sends. Else any site could make its readers' browsers take places, each from an
// address of its own. Programs can send any header, so this package proves nothing of them.
// Credentials are not allowed, and none are needed: a token is in the body.
//
// rs/cors tells browsers what is allowed. CrossOriginProtection of net/http refuses the
// rest. This package reads the setting for both.
package cors

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rs/cors"

	"github.com/openqueue/waitingroom/internal/refusal"
)

// ErrInvalid is wrapped by every error of New.
var ErrInvalid = errors.New("cors: invalid")

// ErrCrossOrigin says that a browser sent the request for a page of a site that is not allowed.
var ErrCrossOrigin = refusal.New("cors: cross-origin request", refusal.Refusal{
	Status: http.StatusForbidden, Code: "cross_origin",
	Title:  "The request comes from another site",
	Detail: "A browser may send this for pages of this server's own site, or of one that the operator allows.",
	Alert: "a page of a site that is not in `QUEUE_ALLOWED_ORIGINS` has its readers' browsers join, or a proxy does not " +
		"pass `Host` on",
	Readers: refusal.Visitors,
	Doc: "A browser sent it for a page of another site: join, poll and leave work for pages of the server's own site, and " +
		"of those in `QUEUE_ALLOWED_ORIGINS`; changes by operators for the server's own pages alone. If the page is of " +
		"the same site, a proxy in between does not pass `Host` on, and the browser is too old to send `Sec-Fetch-Site`.",
})

// anySite is the setting that allows all sites.
const anySite = "*"

// maxAgeSeconds is how long a browser remembers the answer to a preflight: two hours, the
// most that any browser does. A change of the setting may take as long to reach it.
const maxAgeSeconds = 7200

// Policy says which sites' pages may send requests. It may be used by many goroutines.
type Policy struct {
	// origins are the allowed origins, sorted, each once; "*" alone for all.
	origins []string
	// browsers tells which site's page sent a request, by headers that browsers add.
	browsers *http.CrossOriginProtection
}

// New returns the policy that allows pages of these origins. An origin is a scheme and a
// host, such as https://shop.example or capacitor://localhost, with the port if that is
// not the scheme's usual one. "*" alone allows all, an empty list no other site. The
// error wraps ErrInvalid.
func New(origins []string) (*Policy, error) {
	p := &Policy{browsers: http.NewCrossOriginProtection()}
	for _, o := range origins {
		o = strings.TrimSpace(o)
		p.origins = append(p.origins, o)
		if o == anySite {
			continue
		}
		if err := check(o); err != nil {
			return nil, err
		}
		if err := p.browsers.AddTrustedOrigin(o); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}
	slices.Sort(p.origins)
	p.origins = slices.Compact(p.origins)
	if len(p.origins) > 1 && p.all() {
		return nil, fmt.Errorf("%w: * allows all sites; leave the others out, or leave it out", ErrInvalid)
	}
	return p, nil
}

func (p *Policy) all() bool { return slices.Contains(p.origins, anySite) }

// check returns an error for a text that no browser sends as an origin.
func check(o string) error {
	u, err := url.Parse(o)
	if err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != o || strings.ToLower(o) != o || strings.Contains(o, anySite) ||
		u.Scheme == "http" && u.Port() == "80" || u.Scheme == "https" && u.Port() == "443" {
		return fmt.Errorf("%w: %q is no origin; write https://shop.example, in lower case and without a path or the usual port, or * alone", ErrInvalid, o)
	}
	return nil
}

// Handler returns next with the headers of the policy added to answers. If the policy
// allows no site, it returns next itself. The methods and headers are those that the
// routes for visitors use.
func (p *Policy) Handler(next http.Handler) http.Handler {
	if len(p.origins) == 0 {
		return next
	}
	return cors.New(cors.Options{
		AllowedOrigins: p.origins,
		AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost},
		AllowedHeaders: []string{"Content-Type", "If-None-Match", "Range"},
		ExposedHeaders: []string{"ETag", "Retry-After"},
		MaxAge:         maxAgeSeconds,
	}).Handler(next)
}

// Check returns an error that wraps ErrCrossOrigin for a request that may change
// something, if a browser sent it for a page of a site that is neither allowed nor this
// server's own. Browsers say so in Sec-Fetch-Site. Older ones say the page's Origin, which
// is compared with Host. A request without both headers, as an app's, goes on.
func (p *Policy) Check(r *http.Request) error {
	if p.all() {
		return nil
	}
	if err := p.browsers.Check(r); err != nil {
		return fmt.Errorf("%w: %w", ErrCrossOrigin, err)
	}
	return nil
}
