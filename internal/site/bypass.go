package site

import (
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/openqueue/waitingroom/internal/limits/address"
	"github.com/openqueue/waitingroom/internal/zone"
)

// rootName and anyName match the names of files that browsers and machines fetch without cookies, and of no others: those at the
// root, and those in any folder. A name has at most maxName bytes: for the longest paths, a regular expression takes milliseconds.
var (
	rootName = regexp.MustCompile(`^(robots|ads|app-ads|humans|security|llms)\.txt$|^(browserconfig|crossdomain|opensearch)\.xml$|^apple-app-site-association$`)
	anyName  = regexp.MustCompile(`^(favicon.*\.(ico|png|svg)|apple-touch-icon.*\.png|android-chrome-.*\.png|mstile-.*\.png|.+\.webmanifest|manifest\.json)$`)
)

const (
	wellKnown = "/.well-known/"
	maxName   = 200
)

// common reports whether browsers and machines fetch what is at the path without cookies. No folder of it has a dot: PHP reads
// /index.php/favicon.ico as /index.php.
func common(path string) bool {
	i := strings.LastIndexByte(path, '/')
	folder, name := path[:i+1], path[i+1:]
	switch {
	case strings.HasPrefix(path, wellKnown):
		return path != wellKnown
	case len(name) > maxName || strings.Contains(folder, "."):
		return false
	}
	return folder == "/" && rootName.MatchString(name) || anyName.MatchString(name)
}

// bypasses reports whether the zone's settings say that the request is never queued, by what it asks for.
func bypasses(s *zone.Settings, q *request) bool {
	if len(s.BypassAgents) > 0 {
		agent := strings.ToLower(q.header.Get("User-Agent"))
		if slices.ContainsFunc(s.BypassAgents, func(part string) bool { return strings.Contains(agent, strings.ToLower(part)) }) {
			return true
		}
	}
	isCommon := s.BypassCommon != zone.CommonOff && q.reads()
	if len(s.BypassPaths) == 0 && !isCommon {
		return false
	}
	if path, ok := plainPath(q.uri); ok && isCommon && common(path) {
		return true
	}
	return fits(s.BypassPaths, q.uri)
}

// fits reports whether one of the patterns matches a URI: its path, and the parameters that the pattern names.
func fits(patterns []string, uri string) bool {
	if len(patterns) == 0 {
		return false
	}
	path, ok := plainPath(uri)
	shown := sync.OnceValues(func() (url.Values, error) {
		_, query, _ := strings.Cut(uri, "?")
		return url.ParseQuery(query)
	})
	return ok && slices.ContainsFunc(patterns, func(pattern string) bool {
		pattern, query, has := strings.Cut(pattern, "?")
		if !matches(pattern, path) {
			return false
		} else if !has {
			return true
		}
		values, err := shown()
		return err == nil && matchesQuery(query, values)
	})
}

// matchesQuery reports whether a query has each parameter of a pattern, such as wc-api=*. It may have others.
// Where it has one of them twice, each value must match: which one the site takes is not known.
func matchesQuery(pattern string, shown url.Values) bool {
	for part := range strings.SplitSeq(pattern, "&") {
		name, value, _ := strings.Cut(part, "=")
		if len(shown[name]) == 0 || slices.ContainsFunc(shown[name], func(v string) bool { return !matches(value, v) }) {
			return false
		}
	}
	return true
}

// fromNetwork reports whether the visitor's address, as a gateway tells it, is in a network that is never queued. Without
// that word the address would be the gateway's, for everybody.
func (s *Service) fromNetwork(settings zone.Settings, q *request) bool {
	if len(settings.BypassNetworks) == 0 {
		return false
	}
	at, told := address.Told(q.asked, s.Proxies)
	return told && slices.ContainsFunc(settings.BypassNetworks, func(text string) bool {
		network, err := zone.Network(text)
		return err == nil && address.Within([]netip.Prefix{network}, at)
	})
}

// plainPath returns the path of a URI, decoded. ok is false for a path that the site may read
// as another one: /assets/..;/checkout may be /checkout there.
func plainPath(uri string) (decoded string, ok bool) {
	raw, _, _ := strings.Cut(uri, "?")
	lower := strings.ToLower(raw)
	if strings.Contains(lower, "%2f") || strings.Contains(lower, "%5c") {
		return "", false
	}
	decoded, err := url.PathUnescape(raw)
	if err != nil || strings.ContainsAny(decoded, "\\%#;?\x00") || strings.Contains(decoded, "..") {
		return "", false
	}
	clean := path.Clean(decoded)
	return decoded, clean == decoded || clean+"/" == decoded
}

// matches reports whether the whole text matches the pattern. Each * stands for any text, also none.
func matches(pattern, text string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	text, ok := strings.CutPrefix(text, first)
	if !ok || !star {
		return ok && text == ""
	}
	for {
		part, more, star := strings.Cut(rest, "*")
		if !star {
			return strings.HasSuffix(text, part)
		}
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text, rest = text[i+len(part):], more
	}
}
