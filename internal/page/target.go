package page

import (
	"net/url"
	"strings"
)

// PassParameter is the query parameter in which a site gets the pass. The gate takes it out
// before the site sees it.
const PassParameter = "waiting_room_pass"

// target returns where a visitor goes when it is its turn. to is what the browser asks for.
// sites are the origins that the zone allows, such as https://shop.example. A path leads to the
// first of them, or without sites to the page's own origin.
//
// What is not allowed leads to the front page of the first site, and is "" without sites. No `to`
// leads to another origin. A path that browsers take for a host (//host, /\host), a user before
// the host, a space and a control character are refused. Scheme and host are compared whole.
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
		// url.URL.String may write another beginning than to has: //evil.example for /%2fevil.example/é.
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

// Leads reports whether the page, without sites, would lead to the path on its own origin.
func Leads(path string) bool { return target(path, nil) != "" }

// withPass adds the pass to the target's query. It returns "" without a target.
func withPass(target, pass string) string {
	u, err := url.Parse(target)
	if err != nil || target == "" {
		return ""
	}
	// url.Values would write the site's own query anew; a site may need it as it is.
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += PassParameter + "=" + url.QueryEscape(pass)
	return u.String()
}
