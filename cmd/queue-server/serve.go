package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/openqueue/waitingroom/internal/admissionlog/writer"
	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/challenge"
	"github.com/openqueue/waitingroom/internal/entry"
	"github.com/openqueue/waitingroom/internal/gateway"
	"github.com/openqueue/waitingroom/internal/history"
	"github.com/openqueue/waitingroom/internal/limits/address"
	"github.com/openqueue/waitingroom/internal/limits/policyset"
	"github.com/openqueue/waitingroom/internal/metric"
	"github.com/openqueue/waitingroom/internal/network"
	"github.com/openqueue/waitingroom/internal/observed"
	"github.com/openqueue/waitingroom/internal/operate/cli"
	"github.com/openqueue/waitingroom/internal/operate/configfile"
	"github.com/openqueue/waitingroom/internal/operate/console"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/operate/people"
	"github.com/openqueue/waitingroom/internal/operate/webhook"
	"github.com/openqueue/waitingroom/internal/page"
	"github.com/openqueue/waitingroom/internal/refusal"
	"github.com/openqueue/waitingroom/internal/schedule"
	"github.com/openqueue/waitingroom/internal/serve/background"
	"github.com/openqueue/waitingroom/internal/site"
	"github.com/openqueue/waitingroom/internal/steer"
	"github.com/openqueue/waitingroom/internal/sweeper"
	"github.com/openqueue/waitingroom/internal/wait"
	"github.com/openqueue/waitingroom/internal/watch"
	"github.com/openqueue/waitingroom/internal/zones"
)

// shutdownTimeout is how long answers in the making may take after the drain
// delay; with that and closingTimeout, the 30 s after which orchestrators kill.
const shutdownTimeout = 20 * time.Second

// serveCommand is queue-server serve.
func serveCommand(t *cli.Terminal) *cobra.Command {
	var s settings
	command := &cobra.Command{
		Use: "serve", Short: "Run the server. What queue-server does when no command is named.",
		Args: func(cmd *cobra.Command, args []string) error {
			if slices.Equal(args, []string{cmd.Name()}) {
				return nil // its flags stood before it
			}
			return cobra.NoArgs(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			src := newSources(t.Getenv)
			if err := src.fill(cmd.Flags()); err != nil {
				return err
			}
			checked, err := s.check(src.where, src.file)
			if err != nil {
				return err
			}
			tuneGC(t.Getenv)
			return runServer(cmd.Context(), checked, src.file, t.Stderr)
		},
	}
	addFlags(command, &s)
	return command
}

// runServer wires the server, runs it until ctx ends, and drains it. What is
// deferred here runs from the bottom up: rooms, limits, sweeper, watch, zones, store,
// listeners.
func runServer(ctx context.Context, s checked, from *configfile.File, stderr io.Writer) (err error) {
	log := newLogger(stderr, s)
	for variable, meant := range misspelt(os.Environ()) {
		log.Warn("a variable is ignored: no setting has that name", "variable", variable, "maybe", meant)
	}
	keys, err := loadKeys(s, log)
	if err != nil {
		return err
	}

	open, err := openListeners(ctx, s, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, open.close()) }()

	registry := prometheus.NewRegistry()
	var reg prometheus.Registerer = registry
	if s.Room != "" {
		reg = prometheus.WrapRegistererWith(prometheus.Labels{"room": s.Room}, reg)
	}
	build := readBuild()
	metrics := metric.New(reg, metric.Options{Version: build.version, Revision: build.revision, Codes: refusal.Codes(), SiteAnswers: gateway.Outcomes})
	opened, err := openStore(ctx, s, keys, log, reg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	limits := newLimits(s, opened, seedPolicies(s, from.Limits), keys.secrets[0], metrics, log)
	guarding := openGuard(s, limits, metrics, log)
	zones := zones.New(zones.Options{
		Store: opened, Seeds: seedZones(s, from), SeedFresh: s.Store == storeEmbedded, DrawSeeds: keys.tokens,
		Guard: guarding, AnswerEarly: s.DoorLimits != guardOff, Servers: s.Servers, Within: within(s), Meter: metrics, Logger: log,
	})
	zones.Start(ctx)
	defer zones.Stop()

	events := schedule.New(schedule.Options{Zones: zones, Seeds: keys.tokens, Meter: metrics, Logger: log})
	events.Start(ctx)
	defer events.Stop()

	seen := watch.New(watch.Options{Zones: zones, Rests: zones.Rests, Refused: metrics.Refused, Exceeded: metrics.Exceeded, Logger: log})
	metrics.Show(seen.Last, zones.Idle)
	seen.Start(ctx)
	defer seen.Stop()

	hooks := webhook.New(webhook.Options{
		Hooks: s.hooks, Watched: seen.Last, Zones: zones, Store: opened, Alone: s.Store == storeEmbedded,
		Registerer: reg, Logger: log,
	})
	hooks.Start(ctx)
	defer hooks.Stop(ctx)

	minutes := history.New(history.Options{
		Watch: seen, Store: zones, Refused: metrics.RefusedBy, Keep: time.Duration(s.HistoryDays) * 24 * time.Hour, Logger: log,
	})
	minutes.Start(ctx)
	defer minutes.Stop()

	pilots := steer.Options{Zones: zones, Keep: time.Duration(s.HistoryDays) * 24 * time.Hour, Meter: metrics, Logger: log}
	if s.PilotSignalURL != "" {
		pilots.Source = steer.FromURL(s.PilotSignalURL)
	}
	steering := steer.New(pilots)
	steering.Start(ctx)
	defer steering.Stop()

	sweeps, err := sweeper.New(sweeper.Options{Zones: zones, Registerer: reg, Every: s.SweepEvery, Logger: log})
	if err != nil {
		return err
	}
	sweeps.Start(ctx)
	defer sweeps.Stop()

	limits.policies.Start(ctx)
	defer limits.policies.Stop()
	limits.Start(ctx)
	defer limits.Stop()
	checks, stopChecks, err := openChecks(ctx, s, limits, log)
	if err != nil {
		return err
	}
	defer stopChecks()

	issuer := answer.NewIssuer(keys.tokens, keys.passes)
	tickets, stopTickets, err := openTickets(ctx, s, zones, log)
	if err != nil {
		return err
	}
	defer stopTickets()
	challenges := challenge.New(challenge.Options{Keys: keys.tokens, Spends: zones, Provider: newProvider(s, log), Meter: metrics, Now: time.Now})
	shares := network.New(s.asn, log, time.Now)
	shares.Servers = serversHere(s, opened)
	shares.Start(ctx)
	defer shares.Stop()
	var admissions *writer.Log
	if s.AdmissionsLog != "" {
		if admissions, err = openAdmissionsLog(s, keys, build.version, zones, seen, metrics, reg, log); err != nil {
			return err
		}
	}
	admissions.Start(ctx)
	defer admissions.Stop()
	waiting := wait.New(wait.Dependencies{
		Guard: guarding, Tokens: keys.tokens, Issuer: issuer, Tickets: tickets, Challenges: challenges, Shares: shares, Log: admissions, Meter: metrics,
	})
	polling := entry.New(entry.Dependencies{Issuer: issuer, Tickets: tickets, Shares: shares, Guard: guarding, Log: admissions, Meter: metrics})
	var seenByGates observed.Log
	known := openPeople(ctx, keys, opened, log)
	defer known.Stop()
	service := operator.New(operator.Options{
		Zones: zones, Watch: seen, Networks: shares, Observed: &seenByGates, Pilots: steering,
		Admissions: admissions, Keep: steering.Keep, Policies: limits.policies, People: known, Logger: log,
	})
	entrance := openEntrance(s, known, open.operators.address(), address.Finder(s.proxies), log)
	notKept := notKept(opened, zones, limits.policies, known)
	metrics.ShowKept(notKept)
	pages, err := page.New(waiting, polling, zones, site.Inside(keys.tokens, zones, time.Now))
	if err != nil {
		return err
	}
	consoles := console.New(console.Parts{
		Zones: service, Watch: seen, Policies: limits.policies, Decisions: limits, Preview: pages.Preview,
		NotKept: notKept, Access: entrance.access, People: known, Provider: newLogin(s, keys), LoginAge: s.OIDCSession,
		ProviderKeys: s.ChallengeSiteKey != "", Secure: entrance.hosts.Secure, Meter: metrics, Logger: log,
	})
	health := newHealth(zones.Ping)
	var asking background.Group
	asking.Start(ctx, health.awaitStore)
	defer asking.Stop()
	metrics.ShowServer(func() bool { _, err := health.ready(ctx); return err == nil })
	gate := site.New(site.Dependencies{
		Observed: &seenByGates,
		Room:     waiting, Zones: zones, Keys: keys.tokens, Passes: keys.passes, Meter: metrics, RoomURL: s.SiteRoomURL,
		Proxies: s.proxies, Guard: guarding, Logger: log,
	})
	r := rooms{
		page:          pages,
		wait:          wait.NewHTTP(waiting, zones),
		events:        schedule.NewHTTP(events),
		entry:         entry.NewHTTP(polling, zones, keys.passes),
		operator:      operator.NewHTTP(service, notKept),
		limits:        policyset.NewHTTP(limits.policies, limits),
		people:        people.NewHTTP(known),
		checks:        checks,
		site:          gate,
		console:       consoles.Handler(),
		entrance:      entrance,
		health:        health,
		secretsDiffer: secretsDiffer(opened),
		registry:      registry,
		meter:         metrics,
		clientIP:      address.Finder(s.proxies),
		origins:       s.origins,
		log:           log,
	}

	public := s.origins.Handler(health.closing(r.public()))
	sites, err := openSites(s, gate, zones, r, public, metrics, steering)
	if err != nil {
		return err
	}
	sites.Start(ctx)
	defer sites.Stop() // upgraded connections have no part in the drain
	metrics.ShowUpgraded(sites.Upgraded)

	boundConnections(s, reg, log, open)
	failed := make(chan error, 5)
	open.public.serve(public, writeTimeout, log, failed)
	open.sites.serve(health.closing(sites), 0, log, failed)
	open.operators.serve(r.operators(), profileTimeout, log, failed)
	open.limits.serve(health.closing(r.limitChecks()), writeTimeout, log, failed)
	open.site.serve(health.closing(r.siteGate()), writeTimeout, log, failed)
	// Streams of what is seen end when nobody can read them any more.
	open.operators.server.RegisterOnShutdown(seen.Stop)
	if open.sites != nil {
		open.sites.server.RegisterOnShutdown(sites.EndEventStreams)
	}
	log.Info("listening", "version", build.version, "public", open.public.address(), "operators", open.operators.address(),
		"limits", open.limits.address(), "site", open.site.address(), "sites", open.sites.address(), "store", s.Store)
	tellReady(log, open.public.address())

	reason := "signal"
	select {
	case <-ctx.Done():
	case err = <-failed:
		reason = "a listener failed"
	}
	health.drain()
	tellStopping(log, s.DrainDelay)
	log.Info("draining: no longer ready, still answering; another signal ends the server at once",
		"reason", reason, "for", s.DrainDelay)
	err = errors.Join(err, drain(ctx, s.DrainDelay, open.all()...))
	if err == nil {
		log.Info("drained")
	}
	return err
}

// drain stops a server that is not ready any more so that nobody notices: first
// a while of business as usual, until the load balancer has looked; then no more
// connections, and the answers in the making are finished. On all listeners at once: one
// who reads slowly leaves the others their time.
func drain(ctx context.Context, delay time.Duration, listeners ...*listener) error {
	<-time.After(delay)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	errs := make([]error, len(listeners))
	var draining sync.WaitGroup
	for i, l := range listeners {
		draining.Go(func() { errs[i] = l.drain(ctx) })
	}
	draining.Wait()
	return errors.Join(errs...)
}

// newLogger returns the log, which goes to w.
func newLogger(w io.Writer, s checked) *slog.Logger {
	options := &slog.HandlerOptions{Level: s.level}
	if s.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// checkPlaintext refuses an operators' listener that other machines can reach without TLS, unless the operator allows it: tokens and
// sessions would cross the network for everybody on it to read.
func checkPlaintext(s checked, l *listener) error {
	if l.tls != nil || s.AdminPlaintext == allow || isLoopback(l.address()) {
		return nil
	}
	return cli.UsageError{Err: fmt.Errorf("QUEUE_ADMIN_ADDR: %s can be reached from other machines, and tokens would cross the network in plain text: "+
		"set QUEUE_TLS_CERT_FILE and QUEUE_TLS_KEY_FILE, or listen on 127.0.0.1; where nobody else can listen to that network, set QUEUE_ADMIN_PLAINTEXT=allow", l.address())}
}

func isLoopback(addr string) bool {
	a, err := netip.ParseAddrPort(addr)
	return err != nil || a.Addr().IsLoopback()
}
