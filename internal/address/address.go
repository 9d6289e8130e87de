// Package address finds the address that a request came from, and makes of it the
// key that counts its requests.
package address

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// prefixIPv6 is how much of an IPv6 address is one subscriber: who has a line has
// at least 2^64 addresses (RFC 6177), and could use another for every request.
const prefixIPv6 = 64

// forwardedFor is the header in which each proxy adds whom it was asked by.
const forwardedFor = "X-Forwarded-For"

// Finder returns how to find the client's address: that of the connection or,
// where that is a trusted proxy's, the last in X-Forwarded-For that no trusted
// proxy has. What stands before it was written by the client, who can write
// anything. Where an entry is no address, the connection's counts.
func Finder(trusted []netip.Prefix) func(*http.Request) string {
	return func(r *http.Request) string {
		direct := r.RemoteAddr
		if host, _, err := net.SplitHostPort(direct); err == nil {
			direct = host
		}
		at, err := netip.ParseAddr(direct)
		if err != nil || !within(trusted, at) {
			return direct
		}
		found := direct
		for _, field := range slices.Backward(r.Header[forwardedFor]) {
			for last := false; !last; {
				at := strings.LastIndexByte(field, ',')
				entry := strings.Trim(strings.TrimSpace(field[at+1:]), "[]")
				field, last = field[:max(0, at)], at < 0
				a, err := netip.ParseAddr(entry)
				if err != nil {
					return direct
				}
				if found = entry; !within(trusted, a) {
					return found
				}
			}
		}
		return found
	}
}

func within(trusted []netip.Prefix, a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Key is the key of an address: "ip:203.0.113.9", "ip:2001:db8:0:1::/64".
// All that is no address has one key.
func Key(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return "ip:unknown"
	}
	a = a.Unmap().WithZone("")
	if a.Is4() {
		return "ip:" + a.String()
	}
	network, err := a.Prefix(prefixIPv6)
	if err != nil {
		return "ip:unknown"
	}
	return "ip:" + network.String()
}
