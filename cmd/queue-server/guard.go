package main

import (
	"net"
	"net/netip"
	"slices"

	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/limits/limit"
)

// The values of the setting of the guard.
const (
	guardOn  = "on"
	guardOff = "off"
)

// guardPolicies are those of the configuration, and those of the guard that it does
// not have.
func guardPolicies(s checked, configured []limit.Policy) []limit.Policy {
	if s.DoorLimits == guardOff {
		return configured
	}
	all := slices.Clone(configured)
	for _, p := range guard.Policies() {
		if !slices.ContainsFunc(configured, func(c limit.Policy) bool { return c.Name == p.Name }) {
			all = append(all, p)
		}
	}
	return all
}

func prefixes(networks []*net.IPNet) []netip.Prefix {
	all := make([]netip.Prefix, 0, len(networks))
	for _, n := range networks {
		if a, ok := netip.AddrFromSlice(n.IP); ok {
			bits, _ := n.Mask.Size()
			all = append(all, netip.PrefixFrom(a, bits))
		}
	}
	return all
}
