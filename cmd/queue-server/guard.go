package main

import (
	"log/slog"
	"net"
	"net/netip"
	"slices"

	"github.com/openqueue/waitingroom/internal/fallback"
	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/registry"
	"github.com/openqueue/waitingroom/internal/serve/metric"
	"github.com/openqueue/waitingroom/internal/wait"
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

// openGuard puts a guard before the lines, unless there is to be none: then everybody
// asks the lines themselves, and a nil guard lets everybody in.
func openGuard(s checked, lines *fallback.Store, zones *registry.Registry, limits guard.Limiter, meter *metric.Metrics, log *slog.Logger) (guard.Lines, wait.Guard) {
	if s.DoorLimits == guardOff {
		return lines, nil
	}
	d := guard.New(guard.Options{
		Lines: lines, Remembered: zones.Remembered, Limiter: limits, Trusted: prefixes(s.proxies), Backends: prefixes(s.backends),
		Meter: meter, Logger: log,
	})
	return d, d
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
