package main

import (
	"log/slog"
	"net/http"

	"github.com/openqueue/waitingroom/internal/operate/operator"
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
func openEntrance(s checked, keys keys, addr string, from func(*http.Request) string, log *slog.Logger) (*entrance, error) {
	loopback := isLoopback(addr)
	e := &entrance{hosts: operator.Hosts{Loopback: loopback, Names: s.AdminHosts}}
	tokens := []string{keys.adminToken}
	var err error
	if e.access, err = operator.NewAccess(operator.AccessOptions{Tokens: tokens, From: from, Logger: log}); err != nil {
		return nil, err
	}
	if s.MetricsAccess == metricsOpen || s.MetricsAccess == metricsAuto && loopback && s.metricsToken == "" {
		return e, nil
	}
	if s.metricsToken != "" {
		tokens = append(tokens, s.metricsToken)
	} else {
		log.Info("/metrics wants the operators' token: give Prometheus one of its own with QUEUE_METRICS_TOKEN, " +
			"or let anybody read with QUEUE_METRICS_ACCESS=open")
	}
	e.scrapers, err = operator.NewAccess(operator.AccessOptions{Tokens: tokens, From: from, Logger: log})
	return e, err
}
