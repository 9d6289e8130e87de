package main

import (
	"context"
	"log/slog"

	"github.com/openqueue/waitingroom/internal/limits/address"
	"github.com/openqueue/waitingroom/internal/limits/checkapi"
	"github.com/openqueue/waitingroom/internal/limits/identity"
)

// gatewayHeaderBytes is for the limits' listener: gateways hand the headers of their
// clients on, of which nginx takes up to 32 KiB and Envoy 60.
const gatewayHeaderBytes = 64 << 10

// gateway is the limits' listener.
type gateway struct {
	*listener
	identities *identity.Finder // nil without it
}

// openGateway opens the address, if there is one. Connections wait until serve.
func openGateway(ctx context.Context, s checked, log *slog.Logger) (gateway, error) {
	if s.LimitsAddr == "" {
		return gateway{}, nil
	}
	identities, err := identity.New(identity.FinderOptions{
		Address: address.Finder(s.proxies), APIKeys: s.LimitsAPIKeys, JWKS: s.LimitsJWKS,
		Issuer: s.LimitsIssuer, Audience: s.LimitsAudience, Claim: s.LimitsClaim, TierClaim: s.LimitsTier, Logger: log,
	})
	if err != nil {
		return gateway{}, err
	}
	l, err := listenOptional(ctx, "limits'", s.LimitsAddr, gatewayHeaderBytes)
	if err != nil {
		return gateway{}, err
	}
	warnOfGateway(log, s, l.address())
	return gateway{l, identities}, nil
}

// warnOfGateway warns of what an operator may not have meant.
func warnOfGateway(log *slog.Logger, s checked, addr string) {
	if !isLoopback(addr) {
		log.Warn("the limits' listener can be reached from other machines: whoever reaches it can use anybody's quota up",
			"addr", addr)
	}
	if len(s.proxies) == 0 {
		log.Warn("no proxy is trusted: to the limits, all clients of a gateway are one, with the gateway's address",
			"setting", "QUEUE_TRUSTED_PROXIES")
	}
	if s.LimitsAPIKeys == identity.AnyAPIKey {
		log.Warn("every X-API-Key is believed: a client that nobody checks before has no limit")
	}
}

// room is what answers there.
func (g gateway) room(l *limits) *checkapi.HTTP {
	return checkapi.NewHTTP(checkapi.New(l, g.identities))
}

// start begins to keep the keys fresh; stop ends it.
func (g gateway) start(ctx context.Context) {
	if g.identities != nil {
		g.identities.Start(ctx)
	}
}

func (g gateway) stop() {
	if g.identities != nil {
		g.identities.Stop()
	}
}
