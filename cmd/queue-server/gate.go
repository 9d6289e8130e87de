package main

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/openqueue/waitingroom/internal/limits/address"
	"github.com/openqueue/waitingroom/internal/limits/checkapi"
	"github.com/openqueue/waitingroom/internal/limits/identity"
)

// gatewayHeaderBytes is for the limits' listener: gateways hand the headers of their
// clients on, of which nginx takes up to 32 KiB and Envoy 60.
const gatewayHeaderBytes = 64 << 10

// gateway is the limits' listener. Where the operator has named no address, it is
// nil, and all that it does is nothing.
type gateway struct {
	*listener
	identities *identity.Finder
}

// openGateway opens the address, if there is one. Connections wait until serve.
func openGateway(ctx context.Context, s checked, log *slog.Logger) (*gateway, error) {
	if s.LimitsAddr == "" {
		return nil, nil
	}
	identities, err := identity.New(identity.FinderOptions{
		Address: address.Finder(prefixes(s.proxies)), APIKeys: s.LimitsAPIKeys, JWKS: s.LimitsJWKS,
		Issuer: s.LimitsIssuer, Audience: s.LimitsAudience, Claim: s.LimitsClaim, TierClaim: s.LimitsTier, Logger: log,
	})
	if err != nil {
		return nil, err
	}
	l, err := listen(ctx, "limits'", s.LimitsAddr)
	if err != nil {
		return nil, err
	}
	l.headerBytes = gatewayHeaderBytes
	warnOfGateway(log, s, l.Addr().String())
	return &gateway{l, identities}, nil
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

// address is where it listens, for the log: "none" without it.
func (g *gateway) address() string {
	if g == nil {
		return "none"
	}
	return g.Addr().String()
}

// room is what answers there.
func (g *gateway) room(l *limits) *checkapi.HTTP {
	if g == nil {
		return nil
	}
	return checkapi.NewHTTP(checkapi.New(l, g.identities))
}

// start begins to keep the keys fresh; stop ends it.
func (g *gateway) start(ctx context.Context) {
	if g != nil {
		g.identities.Start(ctx)
	}
}

func (g *gateway) stop() {
	if g != nil {
		g.identities.Stop()
	}
}

// close gives the address back, if that has not happened yet.
func (g *gateway) close() error {
	if g == nil {
		return nil
	}
	return g.listener.close()
}

// serve begins to answer, and returns what is to be drained.
func (g *gateway) serve(h func() http.Handler, log *slog.Logger, failed chan<- error) []*listener {
	if g == nil {
		return nil
	}
	g.listener.serve(h(), writeTimeout, log, failed)
	return []*listener{g.listener}
}
