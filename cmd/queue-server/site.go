package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"slices"

	"github.com/openqueue/waitingroom/internal/limits/limit"
	"github.com/openqueue/waitingroom/internal/registry"
	"github.com/openqueue/waitingroom/internal/serve/metric"
	"github.com/openqueue/waitingroom/internal/site"
	"github.com/openqueue/waitingroom/internal/wait"
)

// listenSite opens the gate's listener, if there is to be one. Connections wait until serve.
func listenSite(ctx context.Context, s checked, log *slog.Logger) (optional, error) {
	l, err := listenOptional(ctx, "site's", s.SiteAddr, gatewayHeaderBytes)
	if err != nil || l.listener == nil {
		return l, err
	}
	if !isLoopback(l.address()) {
		log.Warn("the site's listener can be reached from other machines: see that the public cannot", "addr", l.address())
	}
	if len(s.proxies) == 0 {
		log.Warn("no proxy is trusted: all visitors of a site have its gateway's address", "setting", "QUEUE_TRUSTED_PROXIES")
	}
	return l, nil
}

// newSite is what answers there.
func newSite(s checked, room *wait.Service, zones *registry.Registry, k keys, l *limits, metrics *metric.Metrics, log *slog.Logger) *site.HTTP {
	return site.NewHTTP(site.New(site.Dependencies{
		Room: room, Zones: zones, Keys: k.tokens, Passes: k.passes, Limits: l, Meter: metrics, RoomURL: s.SiteRoomURL, Logger: log,
	}))
}

// sitePolicies are those, and the gate's where it is on and they do not have it.
func sitePolicies(s checked, all []limit.Policy) []limit.Policy {
	if s.SiteAddr == "" {
		return all
	}
	return withPolicies(all, site.Policies())
}

// withPolicies adds those of which there is none of that name.
func withPolicies(all, more []limit.Policy) []limit.Policy {
	for _, p := range more {
		if !slices.ContainsFunc(all, func(c limit.Policy) bool { return c.Name == p.Name }) {
			all = append(slices.Clip(all), p)
		}
	}
	return all
}

// checkRoomURL returns what is wrong with where the waiting page is.
func checkRoomURL(text string) error {
	u, err := url.Parse(text)
	if text != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.String() != text ||
		u.User != nil || u.RawQuery != "" || u.Fragment != "") {
		return fmt.Errorf("%q is no address such as https://queue.shop.example", text)
	}
	return nil
}
