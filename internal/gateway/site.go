package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/refusal"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/site"
)

// Site is a site that this server stands in front of, or a part of one.
type Site struct {
	// Host is the name by which visitors reach it, without a port; "" for any name that no other site has.
	Host string
	// Path begins its paths, such as /shop for /shop and all below it; "" or / for all that no other site of that host has.
	Path string
	// Zone is the zone of its visitors.
	Zone string
	// Upstream is where the site itself is, such as http://127.0.0.1:8000.
	Upstream string
}

// upstream reads Site.Upstream.
func (s *Site) upstream() (*url.URL, error) {
	u, err := url.Parse(s.Upstream)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" ||
		u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("upstream %q is no address such as http://127.0.0.1:8000", s.Upstream)
	}
	return u, nil
}

// Check returns what is wrong with sites, nil for nothing.
func Check(sites []Site) error {
	var faults []error
	seen := map[string]bool{}
	for i := range sites {
		s := &sites[i]
		_, err := s.upstream()
		name := strings.ToLower(s.Host + s.path())
		switch {
		case strings.ContainsAny(s.Host, "/:@[]*? "):
			err = errors.Join(err, fmt.Errorf("host %q is no name such as shop.example", s.Host))
		case !strings.HasPrefix(s.path(), "/") || !site.Plain(s.path()):
			err = errors.Join(err, fmt.Errorf("path %q is no path such as /shop", s.Path))
		case seen[name]:
			err = errors.Join(err, fmt.Errorf("%q is there twice", name))
		}
		seen[name] = true
		if wrong := answer.CheckZoneID(s.Zone); wrong != nil {
			err = errors.Join(err, fmt.Errorf("zone %q is no name of a zone", s.Zone))
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("site %d: %w", i+1, err))
		}
	}
	return errors.Join(faults...)
}

// path is Path without the / at its end, but for /.
func (s *Site) path() string { return cmp.Or(strings.TrimRight(s.Path, "/"), "/") }

// has reports whether a path is one of the site. Capital letters make no difference: to some servers, they make none either.
func (s *Site) has(path string) bool {
	mine := s.path()
	return mine == "/" || len(path) >= len(mine) && strings.EqualFold(path[:len(mine)], mine) && (len(path) == len(mine) || path[len(mine)] == '/')
}

// target is a Site, ready to be asked.
type target struct {
	Site
	url       *url.URL
	transport *http.Transport
}

// host is the sites of one host, those with the longest path first.
type host struct {
	targets []*target
	// zones: the sites have different ones, so that which site a request is of decides where its visitor waits.
	zones bool
}

// add adds a site.
func (h *host) add(t *target) {
	h.targets = append(h.targets, t)
	slices.SortStableFunc(h.targets, func(a, b *target) int { return cmp.Compare(len(b.path()), len(a.path())) })
	h.zones = slices.ContainsFunc(h.targets, func(o *target) bool { return o.Zone != t.Zone })
}

var (
	errNoSite = refusal.New("gateway: no site has this host and path", refusal.NotFound)
	// errPath: a site could read the path as another one, of a site with another zone.
	errPath error = &serve.FieldError{Field: "the path", Reason: "must not have encoded slashes, dots or semicolons: it says which zone the request is of"}
)

// find returns the site of a request by its host and its path, decoded and as it is written.
func (g *Gateway) find(name, path, written string) (*target, error) {
	if bare, _, err := net.SplitHostPort(name); err == nil {
		name = bare
	}
	h := g.hosts[strings.ToLower(strings.TrimSuffix(name, "."))]
	if h == nil {
		h = g.hosts[""]
	}
	switch {
	case h == nil:
		return nil, errNoSite
	case h.zones && !site.Plain(written):
		return nil, errPath
	}
	i := slices.IndexFunc(h.targets, func(t *target) bool { return t.has(path) })
	if i < 0 {
		return nil, errNoSite
	}
	return h.targets[i], nil
}
