package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/openqueue/waitingroom/internal/audit"
	"github.com/openqueue/waitingroom/internal/embedded"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve/secret"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/zones"
	"github.com/openqueue/waitingroom/lua"
)

// eitherStore is either of the two stores.
type eitherStore interface {
	store.Store
	line.Keeper
	store.Webhooks
	Close() error
}

// notKept returns a function that asks each part that has a method NotKept why its state would be lost with this server: the
// embedded store, whose disk is full; the zones and the policies, while Redis is away.
func notKept(parts ...any) func() error {
	return func() error {
		var errs []error
		for _, p := range parts {
			if part, tells := p.(interface{ NotKept() error }); tells {
				errs = append(errs, part.NotKept())
			}
		}
		return errors.Join(errs...)
	}
}

// secretsDiffer returns why this server must not answer visitors, if other servers of its
// store have other secrets: it would refuse good tokens. A store in this process has no
// other servers.
func secretsDiffer(opened eitherStore) func() error {
	if redis, is := opened.(*lua.Store); is {
		return redis.SecretsDiffer
	}
	return func() error { return nil }
}

// serversHere returns how many servers share the store: as many as it knows, else as many as there may be at most.
func serversHere(s checked, opened eitherStore) func() int64 {
	redis, is := opened.(*lua.Store)
	return func() int64 {
		if is && redis.Servers() > 0 {
			return redis.Servers()
		}
		return s.Servers
	}
}

// The Redis store counts what clients take, too, for all servers; the embedded one
// leaves it to internal/limits/limit/local.
var _ limiter.Counters = (*lua.Store)(nil)

// within is how long a visitor's call may wait for the store. The embedded one
// has no waiting, and is spared the timer.
func within(s checked) time.Duration {
	if s.Store == storeEmbedded {
		return 0
	}
	return zones.Within
}

// openStore opens the store that the settings name.
func openStore(ctx context.Context, s checked, k keys, log *slog.Logger, reg prometheus.Registerer) (eitherStore, error) {
	sealing := audit.Options{Secrets: k.secrets, Keep: time.Duration(s.RecordDays) * 24 * time.Hour}
	if s.RecordLog == guardOn {
		sealing.Log = log
	}
	sealer := audit.NewSealer(sealing)
	if s.Store == storeEmbedded {
		opened, err := embedded.Open(embedded.Options{Dir: s.DataDir, Sealer: sealer, Logger: log})
		if err != nil {
			return nil, fmt.Errorf("embedded store: %w", err)
		}
		return opened, nil
	}
	fingerprints, err := secret.Fingerprints(k.secrets)
	if err != nil {
		return nil, err
	}
	opened, err := lua.Open(ctx, lua.Options{
		URL: s.RedisURL, Access: s.redisAccess, NoEviction: s.RedisEviction == refuse, Secrets: fingerprints, Visitors: k.tokens, Sealer: sealer,
		Logger: log, Registerer: reg,
	})
	if err != nil {
		return nil, fmt.Errorf("redis store: %w", err)
	}
	return opened, nil
}
