package main

import (
	"context"
	"log/slog"

	"github.com/openqueue/waitingroom/internal/limits/address"
	"github.com/openqueue/waitingroom/internal/limits/checkapi"
	"github.com/openqueue/waitingroom/internal/limits/identity"
)

// openChecks returns what answers at the limits' listener, nil without it, and begins to keep the keys of clients fresh;
// stop ends that.
func openChecks(ctx context.Context, s checked, l *limits, log *slog.Logger) (checks *checkapi.HTTP, stop func(), err error) {
	if s.LimitsAddr == "" {
		return nil, func() {}, nil
	}
	identities, err := identity.New(identity.FinderOptions{
		Address: address.Finder(s.proxies), APIKeys: s.LimitsAPIKeys, JWKS: s.LimitsJWKS,
		Issuer: s.LimitsIssuer, Audience: s.LimitsAudience, Claim: s.LimitsClaim, TierClaim: s.LimitsTier, Logger: log,
	})
	if err != nil {
		return nil, nil, err
	}
	identities.Start(ctx)
	return checkapi.NewHTTP(l, identities), identities.Stop, nil
}
