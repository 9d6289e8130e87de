package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/openqueue/waitingroom/internal/limits/address"
	"github.com/openqueue/waitingroom/internal/limits/checkapi"
	"github.com/openqueue/waitingroom/internal/limits/identity"
)

// gatewayHeaderBytes is for the listeners of gateways, which hand the headers of their
// clients on: nginx takes up to 32 KiB of them, Envoy 60.
const gatewayHeaderBytes = 64 << 10

// listenToGateways opens the address of a listener for gateways, if it has one.
func listenToGateways(ctx context.Context, name, addr string, idle time.Duration) (*listener, error) {
	if addr == "" {
		return nil, nil
	}
	l, err := listen(ctx, name, addr, idle)
	if err != nil {
		return nil, err
	}
	// What gateways ask is a header, or little more: one time limit for all of it spares
	// each request the setting of another.
	l.headerBytes, l.readTimeout = gatewayHeaderBytes, readHeaderTimeout
	return l, nil
}

// listenLimits opens the limits' listener, if the settings have one, and warns of settings that an operator may not have meant.
func listenLimits(ctx context.Context, s checked, log *slog.Logger) (*listener, error) {
	l, err := listenToGateways(ctx, "limits'", s.LimitsAddr, s.IdleTimeout)
	if l == nil {
		return nil, err
	}
	if !isLoopback(l.address()) {
		log.Warn("the limits' listener can be reached from other machines: a program there can use up the quota of any client",
			"addr", l.address())
	}
	if len(s.proxies) == 0 {
		log.Warn("no proxy is trusted: to the limits, all clients of a gateway are one, with the gateway's address",
			"setting", "QUEUE_TRUSTED_PROXIES")
	}
	if s.LimitsAPIKeys == identity.AnyAPIKey {
		log.Warn("every X-API-Key is believed: unless a gateway checks the keys before, a client escapes its limit with invented keys")
	}
	return l, nil
}

// listenSite opens the site's listener, if the settings have one, and warns likewise.
func listenSite(ctx context.Context, s checked, log *slog.Logger) (*listener, error) {
	l, err := listenToGateways(ctx, "site's", s.SiteAddr, s.IdleTimeout)
	if l == nil {
		return nil, err
	}
	if !isLoopback(l.address()) {
		log.Warn("the site's listener can be reached from other machines: see that the public cannot", "addr", l.address())
	}
	if len(s.proxies) == 0 {
		log.Warn("no proxy is trusted: all visitors of a site have its gateway's address", "setting", "QUEUE_TRUSTED_PROXIES")
	}
	return l, nil
}

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
