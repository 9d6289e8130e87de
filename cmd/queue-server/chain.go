package main

import (
	"context"
	"log/slog"

	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/serve/metric"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/wait"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
)

// chain is what a visitor's call passes on its way from a room to the store, in the order of
// these fields. Each link offers wait.Lines to the rooms, and asks the next.
// Operators, the watch and the sweeper look at zones from the registry on.
type chain struct {
	guard    *guard.Guard    // answers polls before their time, limits joins; nil where it is off
	registry *zones.Registry // deadlines, outages, what is remembered of zones; measures each call
	store    store.Store     // embedded or Redis
}

// newChain puts the links together, from the last to the first.
func newChain(s checked, opened store.Store, seeds []zone.Settings, draws zones.DrawSeeds, limits guard.Limiter, meter *metric.Metrics, log *slog.Logger) *chain {
	c := &chain{store: opened}
	c.registry = zones.New(zones.Options{
		Store: c.store, Seeds: seeds, SeedFresh: s.Store == storeEmbedded, DrawSeeds: draws,
		Servers: s.Servers, Within: within(s), Meter: meter, Logger: log,
	})
	if s.DoorLimits != guardOff {
		c.guard = guard.New(guard.Options{
			Lines: c.registry, Limiter: limits,
			Trusted: s.proxies, Backends: s.backends, Meter: meter, Logger: log,
		})
	}
	return c
}

// first returns the link that the rooms ask, and the guard of joins: nil where the guard is off. Then nobody is refused.
func (c *chain) first() (wait.Lines, wait.Guard) {
	if c.guard == nil {
		return c.registry, nil
	}
	return c.guard, c.guard
}

// exchange asks the guard whether a pass may be shown to the store once more. Where the guard is off, it may.
func (c *chain) exchange(ctx context.Context, admission [16]byte) error {
	if c.guard == nil {
		return nil
	}
	return c.guard.Exchange(ctx, admission)
}
