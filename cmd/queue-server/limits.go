package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"log/slog"
	"net/http"
	"slices"

	"github.com/openqueue/waitingroom/internal/challenge"
	"github.com/openqueue/waitingroom/internal/guard"
	"github.com/openqueue/waitingroom/internal/limits/identity"
	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/limits/limit/local"
	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/limits/policyset"
	"github.com/openqueue/waitingroom/internal/metric"
	"github.com/openqueue/waitingroom/internal/store"
	"github.com/openqueue/waitingroom/internal/ticket"
)

// limits are the limiter, and the policies that it enforces.
type limits struct {
	*limiter.Limiter
	policies *policyset.Set
}

// seedPolicies returns the policies of the configuration, and those of the guard that the configuration does not have.
func seedPolicies(s checked, configured []limit.Policy) []limit.Policy {
	var own []limit.Policy
	if s.DoorLimits != guardOff {
		own = append(own, guard.Policies()...)
	}
	return append(slices.Clip(configured), slices.DeleteFunc(own, func(p limit.Policy) bool {
		return slices.ContainsFunc(configured, func(c limit.Policy) bool { return c.Name == p.Name })
	})...)
}

// newLimits makes the limits. opened stores the policies. If opened is a limiter.Counters, it counts for all servers; else this
// server counts by itself. seeds are the policies to make when absent.
func newLimits(s checked, opened eitherStore, seeds []limit.Policy, secret []byte, metrics *metric.Metrics, log *slog.Logger) *limits {
	// Names of keys for the store, from the secret that signs; not the secret itself, which signs tokens.
	names := hmac.New(sha256.New, secret)
	names.Write([]byte("limits: the names of keys")) // a hash.Hash never returns an error
	o := limiter.Dependencies{
		Local: local.New(local.CountersOptions{}), Servers: s.Servers, Secret: names.Sum(nil), Meter: metrics, Logger: log,
	}
	if shared, ok := opened.(limiter.Counters); ok {
		o.Store = shared
	}
	l := &limits{Limiter: limiter.New(o)}
	l.policies = policyset.New(policyset.SetOptions{Store: opened, Seeds: seeds, Use: l.Use, Logger: log})
	metrics.ShowLimits(l.Limiter)
	return l
}

// openGuard returns what limits joins. Where the limits are off, it refuses nobody.
func openGuard(s checked, limits *limits, meter *metric.Metrics, log *slog.Logger) *guard.Guard {
	o := guard.Options{Limiter: limits, Trusted: s.proxies, Backends: s.backends, Within: within(s), Meter: meter, Logger: log}
	if s.DoorLimits == guardOff {
		o.Limiter = guard.Unlimited{}
	}
	return guard.New(o)
}

// newProvider returns the client of the provider that verifies tokens of challenges.
func newProvider(s checked, log *slog.Logger) *challenge.Provider {
	return &challenge.Provider{
		SiteKey: s.ChallengeSiteKey, Secret: s.challengeSecret, Hosts: s.ChallengeHosts, VerifyURL: s.ChallengeVerifyURL, Logger: log,
		Client: http.Client{Timeout: challenge.ProviderTimeout},
	}
}

// openTickets returns what checks invitations, and begins to keep the keys fresh that they are signed with; stop ends that.
func openTickets(ctx context.Context, s checked, spends store.Spender, log *slog.Logger) (tickets *ticket.Verifier, stop func(), err error) {
	if s.TicketsJWKS == "" {
		return ticket.New(nil, spends, log), func() {}, nil
	}
	keys, err := identity.New(identity.FinderOptions{JWKS: s.TicketsJWKS, Issuer: s.TicketsIssuer, Logger: log})
	if err != nil {
		return nil, nil, err
	}
	keys.Start(ctx)
	return ticket.New(keys, spends, log), keys.Stop, nil
}
