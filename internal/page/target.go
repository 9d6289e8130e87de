package page

import (
	"net/url"
	"strings"
)

// PassParameter is the query parameter that the pass arrives in. The gate takes it out
// again before the site sees it.
const PassParameter = "waiting_room_pass"

// target is where a visitor goes when it is its turn. to is what the browser asks for;
// sites are the origins that the zone allows, such as https://shop.example, the first of
// which is where paths lead. It returns "" where there is no site and no path of the
// page's own origin.
//
// What is not allowed leads to the first site's front page. No `to` leads to another
// origin: a path that browsers take for a host (//host, /\host), a name with a user, a
// control character or another scheme are all refused by comparing what is left whole.
func target(to string, sites []string) string {
	front := ""
	if len(sites) > 0 {
		front = sites[0] + "/"
	}
	u, err := url.Parse(to)
	if to == "" || err != nil || strings.ContainsFunc(to, func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f }) {
		return front
	}
	if u.Scheme == "" && u.Host == "" && u.User == nil && strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "//") {
		// Written anew, a path may have another beginning: /%2fevil.example/é.
		if path := u.String(); !strings.HasPrefix(path, "//") {
			return strings.TrimSuffix(front, "/") + path
		}
		return front
	}
	for _, site := range sites {
		if u.User == nil && u.Host != "" && strings.EqualFold(u.Scheme+"://"+u.Host, site) {
			return u.String()
		}
	}
	return front
}

// Leads reports whether the page leads to a path of its own origin.
func Leads(path string) bool { return target(path, nil) != "" }

// withPass adds the pass to the target's query.
func withPass(target, pass string) string {
	u, err := url.Parse(target)
	if err != nil || target == "" {
		return ""
	}
	// The site's own query stays as it is written.
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += PassParameter + "=" + url.QueryEscape(pass)
	return u.String()
}
