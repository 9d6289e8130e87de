package page

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// PassParameter is the query parameter in which a site gets the pass. The gate takes it out
// before the site sees it.
const PassParameter = "waiting_room_pass"

// target returns where a visitor goes when it is its turn. to is what the browser asks for.
// sites are the origins that the zone allows, such as https://shop.example. A path leads to the
// first of them, or without sites to the page's own origin.
//
// What is not allowed leads to the front page there. No `to` leads to another origin. A path that browsers take for a host
// (//host, /\host), a user before the host, a space and a control character are refused. What is allowed stays as it is
// written, byte for byte, but that bytes outside ASCII are escaped: a site may tell /a%2Fb from /a/b.
func target(to string, sites []string) string {
	origin := ""
	if len(sites) > 0 {
		origin = sites[0]
	}
	switch {
	case strings.ContainsFunc(to, func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f }):
	case strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "//"):
		return origin + escape(to)
	case Allows(to, sites):
		return escape(to)
	}
	return origin + "/"
}

// Allows reports whether an address is of one of the sites.
func Allows(to string, sites []string) bool {
	return slices.ContainsFunc(sites, func(site string) bool {
		return len(to) >= len(site) && strings.EqualFold(to[:len(site)], site) && (len(to) == len(site) || strings.ContainsAny(to[len(site):len(site)+1], "/?#"))
	})
}

// escape escapes the bytes outside ASCII.
func escape(uri string) string {
	var b strings.Builder
	for _, c := range []byte(uri) {
		if c < 0x80 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// Leads reports whether the page, without sites, would lead to the path on its own origin.
func Leads(path string) bool { return target(path, nil) == escape(path) }

// TakeOut takes a parameter out of the query of a URI. It returns what is left, and the parameter's value as it is written; ""
// if it is not there. All other parameters stay as they are written.
func TakeOut(uri, parameter string) (rest, taken string) {
	path, query, ok := strings.Cut(uri, "?")
	if !ok || !strings.Contains(query, parameter) {
		return uri, ""
	}
	kept := make([]string, 0, strings.Count(query, "&")+1)
	for part := range strings.SplitSeq(query, "&") {
		if value, ok := strings.CutPrefix(part, parameter+"="); ok {
			taken = value
		} else {
			kept = append(kept, part)
		}
	}
	switch {
	case taken == "":
		return uri, ""
	case len(kept) > 0:
		path += "?" + strings.Join(kept, "&")
	}
	return path, taken
}

// WithPass adds the pass to the target's query. Everything else stays as it is written.
func WithPass(target, pass string) string {
	address, fragment, has := strings.Cut(target, "#")
	separator := "?"
	if strings.Contains(address, "?") {
		separator = "&"
	}
	address += separator + PassParameter + "=" + url.QueryEscape(pass)
	if has {
		address += "#" + fragment
	}
	return address
}
