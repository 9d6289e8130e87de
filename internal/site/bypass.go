package site

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/openqueue/waitingroom/internal/zone"
)

// bypasses reports whether the zone's settings say that the request is never queued.
func bypasses(s zone.Settings, q *request) bool {
	if len(s.BypassAgents) > 0 {
		agent := strings.ToLower(q.header.Get("User-Agent"))
		if slices.ContainsFunc(s.BypassAgents, func(part string) bool { return strings.Contains(agent, strings.ToLower(part)) }) {
			return true
		}
	}
	if len(s.BypassPaths) == 0 {
		return false
	}
	path, ok := plainPath(q.uri)
	return ok && slices.ContainsFunc(s.BypassPaths, func(pattern string) bool { return matches(pattern, path) })
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
