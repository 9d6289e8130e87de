package operator

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// ErrHost: the request is for another host. Compare with errors.Is.
var ErrHost = errors.New("operator: request for another host")

// Hosts are the names under which the operators' listener answers. A page of the
// internet can have its own name lead to 127.0.0.1, and then ask there as its own
// site (DNS rebinding); what it cannot do is to send another name than its own.
//
// The port is not looked at: a tunnel (ssh -L, kubectl port-forward) may have
// another at its other end, and who is sent a wrong name by a browser is sent it with
// any port.
type Hosts struct {
	// Loopback tells that only this machine reaches the listener. It answers
	// then as localhost, 127.0.0.1 and [::1]. Elsewhere it answers to any name if
	// Names is empty, else to addresses and these.
	Loopback bool
	// Names are those of proxies in front, without a port.
	Names []string
}

// own reports whether the Host of a request is one of these.
func (h Hosts) own(host string) bool {
	if !h.Loopback && len(h.Names) == 0 {
		return true
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback() || !h.Loopback || slices.Contains(h.Names, host)
	}
	return host == "localhost" || slices.ContainsFunc(h.Names, func(name string) bool {
		return strings.EqualFold(name, host)
	})
}
