package main

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/operate/people"
	"github.com/openqueue/waitingroom/internal/serve/route"
)

// Who may read /metrics.
const (
	metricsAuto  = "auto"
	metricsOpen  = "open"
	metricsToken = "token"
)

// entrance says which requests the operators' listener answers.
type entrance struct {
	// access opens all but the pages that say nothing.
	access *operator.Access
	// scrapers opens /metrics; nil where that wants no token.
	scrapers *operator.Access
	hosts    operator.Hosts
}

// openEntrance returns the entrance of the operators' listener at addr. from finds
// the address that a request came from.
func openEntrance(s checked, known *people.Registry, addr string, from func(*http.Request) string, log *slog.Logger) *entrance {
	loopback := isLoopback(addr)
	e := &entrance{hosts: operator.Hosts{Loopback: loopback, Names: s.AdminHosts}}
	if u, err := url.Parse(s.AdminURL); err == nil && u.Scheme == "https" {
		e.hosts.Console = strings.ToLower(u.Hostname())
	}
	e.access = operator.NewAccess(operator.AccessOptions{People: known, Proxy: s.adminProxy, From: from, Logger: log})
	if s.MetricsAccess == metricsOpen || s.MetricsAccess == metricsAuto && loopback && s.metricsToken == "" {
		return e
	}
	var scrapers []string
	if s.metricsToken != "" {
		scrapers = append(scrapers, s.metricsToken)
	} else {
		log.Info("/metrics wants an operator's token: give Prometheus one of its own with QUEUE_METRICS_TOKEN, " +
			"or let anybody read with QUEUE_METRICS_ACCESS=open")
	}
	e.scrapers = operator.NewAccess(operator.AccessOptions{People: known, Besides: scrapers, From: from, Logger: log})
	return e
}

// openPeople starts what knows the operators.
func openPeople(ctx context.Context, keys keys, store line.Keeper, log *slog.Logger) *people.Registry {
	o := people.Options{Store: store, Secrets: keys.secrets, Logger: log}
	if keys.adminToken != "" {
		o.Root = []string{keys.adminToken}
	}
	known := people.New(o)
	known.Start(ctx)
	if keys.adminToken == "" && !slices.ContainsFunc(known.Tokens(), func(t people.Issued) bool { return t.Role == route.Admin && len(t.Zones) == 0 }) {
		log.Warn("QUEUE_ADMIN_TOKEN is off, and no good token of an admin is known: nobody can make tokens. Set QUEUE_ADMIN_TOKEN again to make one")
	}
	return known
}
