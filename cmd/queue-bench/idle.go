package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/watch"
	"github.com/openqueue/waitingroom/internal/zone"
	"github.com/openqueue/waitingroom/internal/zones"
	"github.com/openqueue/waitingroom/lua"
)

const (
	// idleZones are looked at by so many servers, without a visitor.
	idleZones = 100
	// idleWarm is until all zones rest, and all scripts are loaded.
	idleWarm = 10 * time.Second
)

// idle measures what servers cost Redis before anybody comes: as many as so many, in this process, without HTTP. What rests does so
// only in the second slice.
func (b *bench) idle(ctx context.Context) error {
	for _, servers := range []int{6, 20} {
		for _, rests := range []bool{false, true} {
			share, err := b.idleShare(ctx, servers, rests)
			if err != nil {
				return err
			}
			what := fmt.Sprintf("Redis's core, %d servers and %d zones without a visitor", servers, idleZones)
			if rests {
				b.table.atMost(what, share, "%", map[int]float64{6: 3, 20: 8}[servers])
			} else {
				b.table.add(what+", each looked at each second", share, "%")
			}
		}
	}
	return nil
}

// idleShare is the share of Redis's core in per cent.
func (b *bench) idleShare(ctx context.Context, servers int, rests bool) (percent float64, err error) {
	_, _ = fmt.Fprintf(b.says, "%d servers, %d zones\n", servers, idleZones)
	redis, err := startRedis(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, redis.Stop()) }()
	for i := range servers {
		store, err := lua.Open(ctx, lua.Options{URL: redis.URL()})
		if err != nil {
			return 0, err
		}
		defer func() { _ = store.Close() }()
		if i == 0 {
			for n := range idleZones {
				if _, err := store.PutZone(ctx, zone.Defaults(fmt.Sprintf("ZONE-%02d", n)), nil, audit.By{Name: "bench"}); err != nil {
					return 0, err
				}
			}
		}
		server := zones.New(zones.Options{Store: store})
		server.Start(ctx)
		defer server.Stop()
		o := watch.Options{Zones: server}
		if rests {
			o.Rests = server.Rests
		}
		seen := watch.New(o)
		seen.Start(ctx)
		defer seen.Stop()
	}
	if err := pause(ctx, idleWarm); err != nil {
		return 0, err
	}
	began := time.Now()
	used, err := rises(ctx, redis.cpu, func() error { return pause(ctx, 5*b.plan.span) })
	return 100 * used.Seconds() / time.Since(began).Seconds(), err
}
