// Package address finds the address that a request came from, and the key under which
// requests from that address are counted.
package address

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// prefixIPv6 is how many bits of an IPv6 address stand for one subscriber. A subscriber has
// at least 2^64 addresses (RFC 6177), and could use another one for every request.
const prefixIPv6 = 64

// lineIPv6 is how many bits are common to a whole line for a home, which has at most 256
// networks of 64 bits (RFC 6177).
const lineIPv6 = 56

// forwardedFor is the header to which each proxy adds the address that it was asked from.
const forwardedFor = "X-Forwarded-For"

// Finder returns a function that finds the client's address. That is the address of the
// connection. If a trusted proxy has that one, it is the last address in X-Forwarded-For that
// no trusted proxy has, or the first if trusted proxies have all, without the port that some
// add. Entries before it do not count: the client may have written them. If an entry that
// counts is no address, the result is the connection's.
func Finder(trusted []netip.Prefix) func(*http.Request) string {
	return func(r *http.Request) string {
		found, _, _ := find(r, trusted)
		return found
	}
}

// Told returns the address that Finder finds, if a trusted proxy tells it. ok is false if it is the connection's, for want of
// another.
func Told(r *http.Request, trusted []netip.Prefix) (a netip.Addr, ok bool) {
	_, a, ok = find(r, trusted)
	return a, ok
}

func find(r *http.Request, trusted []netip.Prefix) (found string, a netip.Addr, told bool) {
	direct := r.RemoteAddr
	if host, _, err := net.SplitHostPort(direct); err == nil {
		direct = host
	}
	at, err := netip.ParseAddr(direct)
	if err != nil || !Within(trusted, at) {
		return direct, at, false
	}
	found = direct
	for _, field := range slices.Backward(r.Header[forwardedFor]) {
		for last := false; !last; {
			at := strings.LastIndexByte(field, ',')
			entry := strings.TrimSpace(field[at+1:])
			field, last = field[:max(0, at)], at < 0
			if a, found, told = parse(entry); !told {
				return direct, a, false
			}
			if !Within(trusted, a) {
				return found, a, true
			}
		}
	}
	return found, a, told
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

// Within reports whether one of the networks has the address.
func Within(networks []netip.Prefix, a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Key returns the key of an address: "ip:203.0.113.9", "ip:2001:db8:0:1::/64". All texts that
// are no address share one key.
func Key(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return "ip:unknown"
	}
	return Of(a)
}

// Of is Key for an address that was parsed already. It must be valid.
func Of(a netip.Addr) string { return key(a, prefixIPv6) }

// Line does what Of does, but takes 56 bits of an IPv6 address, "ip:2001:db8:0:100::/56". It is
// for a quota that a line must not get again with each of its networks. Up to 256 phones, each
// of which has a network, share that key.
func Line(a netip.Addr) string { return key(a, lineIPv6) }

func key(a netip.Addr, bits int) string {
	if a = Subscriber(a); a.Is4() {
		return "ip:" + a.String()
	}
	return "ip:" + netip.PrefixFrom(a, bits).Masked().String()
}

// translated is the network in which a host that has only IPv6 sees IPv4 addresses (RFC
// 6052). All of them lie in one network of 64 bits.
var translated = netip.MustParsePrefix("64:ff9b::/96")

// Subscriber returns the address without a zone; the IPv4 address if it stands for one.
func Subscriber(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if !translated.Contains(a) {
		return a
	}
	all := a.As16()
	return netip.AddrFrom4([4]byte(all[12:]))
}
