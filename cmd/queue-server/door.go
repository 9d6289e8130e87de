package main

import (
	"log/slog"
	"net"
	"net/netip"
	"slices"

	"github.com/openqueue/waitingroom/internal/door"
	"github.com/openqueue/waitingroom/internal/fallback"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/registry"
	"github.com/openqueue/waitingroom/internal/serve/metric"
	"github.com/openqueue/waitingroom/internal/wait"
)

// The values of the door's setting.
const (
	doorOn  = "on"
	doorOff = "off"
)

// doorPolicies are those of the configuration, and those of the door that it does
// not have.
func doorPolicies(s checked, configured []limit.Policy) []limit.Policy {
	if s.DoorLimits == doorOff {
		return configured
	}
	all := slices.Clone(configured)
	for _, p := range door.Policies() {
		if !slices.ContainsFunc(configured, func(c limit.Policy) bool { return c.Name == p.Name }) {
			all = append(all, p)
		}
	}
	return all
}

// openDoor puts a door before the lines, unless there is to be none: then everybody
// asks the lines themselves, and a nil guard lets everybody in.
func openDoor(s checked, lines *fallback.Store, zones *registry.Registry, limits door.Limiter, meter *metric.Metrics, log *slog.Logger) (door.Lines, wait.Guard) {
	if s.DoorLimits == doorOff {
		return lines, nil
	}
	d := door.New(door.Options{
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
