package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	"github.com/openqueue/waitingroom/internal/registry"
	"github.com/openqueue/waitingroom/internal/serve/metric"
	"github.com/openqueue/waitingroom/internal/site"
	"github.com/openqueue/waitingroom/internal/wait"
)

// listenSite opens the gate's listener, if there is to be one. Connections wait until serve.
func listenSite(ctx context.Context, s checked, log *slog.Logger) (*listener, error) {
	l, err := listenOptional(ctx, "site's", s.SiteAddr, gatewayHeaderBytes)
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

// newSite is what answers there.
func newSite(s checked, room *wait.Service, zones *registry.Registry, k keys, l *limits, metrics *metric.Metrics, log *slog.Logger) *site.Service {
	return site.New(site.Dependencies{
		Room: room, Zones: zones, Keys: k.tokens, Passes: k.passes, Limits: l, Meter: metrics, RoomURL: s.SiteRoomURL, Logger: log,
	})
}

// checkRoomURL returns what is wrong with where the waiting page is.
func checkRoomURL(text string) error {
	u, err := url.Parse(text)
	if text != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.String() != text ||
		u.User != nil || u.RawQuery != "" || u.Fragment != "") {
		return fmt.Errorf("%q is no address such as https://queue.shop.example", text)
	}
	if strings.Trim(u.Path, "/") != "" {
		return fmt.Errorf("%q has a path, below which the waiting page does not work: give the room a name of its own, such as https://queue.shop.example", text)
	}
	return nil
}
