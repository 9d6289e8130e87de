package serve

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
)

// CheckAddr returns an error for an address that a server cannot listen on.
func CheckAddr(addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%q is no address; write host:port, or :port for all of this machine's", addr)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%q has no port between 0 and 65535", addr)
	}
	return nil
}

// LocalAddr returns the address at which a listener is reached from its own machine: a
// loopback address if it listens on all of the machine's addresses, else addr.
func LocalAddr(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case host == "", err == nil && ip.IsUnspecified() && ip.Is4():
		host = "127.0.0.1"
	case err == nil && ip.IsUnspecified():
		host = "::1"
	}
	return net.JoinHostPort(host, port)
}
