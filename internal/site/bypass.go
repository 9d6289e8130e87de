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

// feedPath matches the paths of feeds, calendars and sitemaps, which programs fetch. The site may make them at each request: they
// are common without a query alone.
var feedPath = regexp.MustCompile(`^/feeds?(/[^./]+)*(/|\.(xml|json|rss|atom))?$|^/(wp-)?sitemap[^/]*\.xml(\.gz)?$|^/([^./]+/)*[^/]+\.ics$`)

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
	if path, ok := plainPath(q.uri); ok && isCommon &&
		(common(path) || len(path) <= maxName && !strings.Contains(q.uri, "?") && feedPath.MatchString(path)) {
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

// mostParameters bounds the query of a request that a pattern with parameters matches: PHP and others leave out those behind the
// first thousand, and would not see the one that the gate saw.
const mostParameters = 100

// matchesQuery reports whether a query has each parameter of a pattern, such as wc-api=*, and others only if the pattern ends in &*.
// Where it has one of them twice, each value must match: which one the site takes is not known. No other parameter may be one
// that a site could read by a name of the pattern.
func matchesQuery(pattern string, shown url.Values) bool {
	pattern, others := strings.CutSuffix(pattern, "&*")
	wanted, read := map[string]string{}, map[string]bool{}
	for part := range strings.SplitSeq(pattern, "&") {
		name, value, _ := strings.Cut(part, "=")
		if len(shown[name]) == 0 {
			return false
		}
		wanted[name], read[letters(name)] = value, true
	}
	count := 0
	for name, values := range shown {
		value, named := wanted[name]
		count += len(values)
		switch {
		case count > mostParameters:
			return false
		case named && slices.ContainsFunc(values, func(v string) bool { return !matchesValue(value, v) }):
			return false
		case !named && (!others || readAs(name, read)):
			return false
		}
	}
	return true
}

// readAs reports whether a site could read a parameter by one of the names, of which there are the letters alone. PHP cuts a name at
// NUL and at [, takes spaces before it away, and makes an underscore of a dot or a space; others know no capital letters, or read
// [name] and _name as name.
func readAs(name string, names map[string]bool) bool {
	return strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c > '~' }) ||
		names[letters(name)] || slices.ContainsFunc(strings.FieldsFunc(name, func(c rune) bool { return c == '[' || c == ']' }),
		func(part string) bool { return names[letters(part)] })
}

// letters returns the ASCII letters and digits of a name, small.
func letters(name string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'A' && c <= 'Z':
			return c + 'a' - 'A'
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			return c
		}
		return -1
	}, name)
}

// matchesValue is matches for a value. An empty one is none, and what a * stands for leads to no other path.
func matchesValue(pattern, value string) bool {
	if !strings.Contains(pattern, "*") {
		return pattern == value
	}
	return value != "" && !strings.ContainsAny(value, "\\\x00") && !strings.Contains(value, "..") && matches(pattern, value)
}

// fromNetwork reports whether the visitor's address, as a gateway tells it, is in a network that is never queued. Without
// that word the address would be the gateway's, for everybody.
func fromNetwork(settings *zone.Settings, q *request) bool {
	if len(settings.BypassNetworks) == 0 {
		return false
	}
	at, told := q.visitor.Told()
	return told && slices.ContainsFunc(settings.BypassNetworks, func(text string) bool {
		network, err := zone.Network(text)
		return err == nil && address.Within([]netip.Prefix{network}, at)
	})
}

// Plain reports whether no site reads the path of a URI as another one: see plainPath.
func Plain(uri string) bool {
	_, ok := plainPath(uri)
	return ok
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
