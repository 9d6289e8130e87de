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

// lineIPv6 is how much of it a line has at most that somebody rents for a home: 256
// networks of 64 bits (RFC 6177).
const lineIPv6 = 56

// forwardedFor is the header in which each proxy adds whom it was asked by.
const forwardedFor = "X-Forwarded-For"

// Finder returns how to find the client's address: that of the connection or,
// where that is a trusted proxy's, the last in X-Forwarded-For that no trusted
// proxy has, without the port that some add. What stands before it was written by the
// client, who can write anything. Where an entry is no address, the connection's counts.
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
				entry := strings.TrimSpace(field[at+1:])
				field, last = field[:max(0, at)], at < 0
				a, text, ok := parse(entry)
				if !ok {
					return direct
				}
				if found = text; !within(trusted, a) {
					return found
				}
			}
		}
		return found
	}
}

// parse reads an entry: 203.0.113.9, 203.0.113.9:49152, 2001:db8::9, [2001:db8::9] or
// [2001:db8::9]:49152.
func parse(entry string) (a netip.Addr, text string, ok bool) {
	text = strings.Trim(entry, "[]")
	if a, err := netip.ParseAddr(text); err == nil {
		return a, text, true
	}
	with, err := netip.ParseAddrPort(entry)
	return with.Addr(), with.Addr().String(), err == nil
}

func within(trusted []netip.Prefix, a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Key is the key of an address: "ip:203.0.113.9", "ip:2001:db8:0:1::/64".
// All that is no address has one key.
func Key(address string) string { return key(address, prefixIPv6) }

// Line is Key for what must not be had once more for each network of a line: of an IPv6
// address it counts 56 bits, "ip:2001:db8:0:100::/56". To that, 256 phones are one.
func Line(address string) string { return key(address, lineIPv6) }

func key(address string, bits int) string {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return "ip:unknown"
	}
	a = subscriber(a)
	if a.Is4() {
		return "ip:" + a.String()
	}
	network, err := a.Prefix(bits)
	if err != nil {
		return "ip:unknown"
	}
	return "ip:" + network.String()
}

// translated is where IPv4 addresses are seen by who has IPv6 alone (RFC 6052): all
// of them lie in one network of 64 bits.
var translated = netip.MustParsePrefix("64:ff9b::/96")

// subscriber is the address without a zone and, where it stands for one of IPv4, that.
func subscriber(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if !translated.Contains(a) {
		return a
	}
	all := a.As16()
	return netip.AddrFrom4([4]byte(all[12:]))
}
