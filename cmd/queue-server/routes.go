package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/openqueue/waitingroom/internal/entry"
	"github.com/openqueue/waitingroom/internal/limits/checkapi"
	"github.com/openqueue/waitingroom/internal/limits/policyset"
	"github.com/openqueue/waitingroom/internal/openapi"
	"github.com/openqueue/waitingroom/internal/operate/operator"
	"github.com/openqueue/waitingroom/internal/operate/people"
	"github.com/openqueue/waitingroom/internal/page"
	"github.com/openqueue/waitingroom/internal/problem"
	"github.com/openqueue/waitingroom/internal/schedule"
	"github.com/openqueue/waitingroom/internal/serve/cors"
	"github.com/openqueue/waitingroom/internal/serve/route"
	"github.com/openqueue/waitingroom/internal/site"
	"github.com/openqueue/waitingroom/internal/wait"
)

// rooms are all that answer requests.
type rooms struct {
	page     *page.HTTP
	wait     *wait.HTTP
	events   *schedule.HTTP
	entry    *entry.HTTP
	operator *operator.HTTP
	limits   *policyset.HTTP
	people   *people.HTTP
	checks   *checkapi.HTTP // nil without the limits' listener
	site     *site.Service
	console  http.Handler
	entrance *entrance
	health   *health
	// secretsDiffer returns why visitors are to ask other servers, if they are.
	secretsDiffer func() error
	registry      *prometheus.Registry
	meter         problem.Meter
	// clientIP finds the visitor's address: that of the connection or, behind trusted proxies, the last that they did not write themselves.
	clientIP echo.IPExtractor
	// origins are the sites whose pages may ask.
	origins *cors.Policy
	log     *slog.Logger
}

// reading are the methods for what balancers and caches look at.
var reading = []string{http.MethodGet, http.MethodHead}

// closing asks clients, while draining, to close their connections after the
// answer: so that none is closed while a request is on its way.
func (h *health) closing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.draining.Load() && r.Header["Upgrade"] == nil {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// public are the routes of the public listener.
func (r rooms) public() http.Handler {
	e := r.newEcho()
	e.POST("/traffic/wait", r.wait.Join, r.ownSites, r.requireSharedSecret)
	e.POST("/traffic/entry", r.entry.Poll, r.ownSites, r.requireSharedSecret)
	e.POST("/traffic/leave", r.wait.Leave, r.ownSites, r.requireSharedSecret)
	e.POST("/traffic/session", r.site.Session, r.ownSites, r.requireSharedSecret)
	e.POST("/traffic/session/end", r.site.EndSession, r.ownSites, r.requireSharedSecret)
	e.GET("/wait/:zoneId", r.page.Get, route.Pack, r.requireSharedSecretPage)
	e.HEAD("/wait/:zoneId", page.Head)
	e.POST("/wait/:zoneId", r.page.Post, r.ownSites, r.requireSharedSecretPage)
	e.GET("/traffic/site.js", page.SiteScript)
	e.GET("/traffic/work.js", page.WorkScript)
	e.Match(reading, "/traffic/zones/:zoneId", r.wait.State)
	e.Match(reading, "/traffic/zones/:zoneId/events/:event/draw", r.events.Draw)
	e.Match(reading, "/traffic/zones/:zoneId/events/:event/draw/list", r.events.List)
	e.Match(reading, "/.well-known/jwks.json", r.entry.Keys)
	e.Match(reading, "/.well-known/openid-configuration", r.entry.Discovery)
	e.GET("/.well-known/revoked", r.entry.Revoked)
	e.Match(reading, "/healthz", alive)
	e.Match(reading, "/readyz", r.ready)
	e.Match(reading, "/openapi.yaml", openapi.Serve(openapi.Public))
	return e
}

// ownSites refuses what browsers send for pages of other sites.
func (r rooms) ownSites(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if err := r.origins.Check(c.Request()); err != nil {
			return err
		}
		return next(c)
	}
}

// requireSharedSecret refuses visitors while the tokens that they may have would seem invalid to
// this server: with 503 they keep their places, with 401 they would join again.
func (r rooms) requireSharedSecret(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if err := r.secretsDiffer(); err != nil {
			return err
		}
		return next(c)
	}
}

// requireSharedSecretPage is requireSharedSecret for the waiting page: it shows the refusal as a page.
func (r rooms) requireSharedSecretPage(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if err := r.secretsDiffer(); err != nil {
			return r.page.Refuse(c, err)
		}
		return next(c)
	}
}

// operators are the routes of the operators' listener.
func (r rooms) operators() http.Handler {
	e := r.newEcho()
	e.Use(r.entrance.hosts.Guard, below("/admin", r.entrance.access.Guard), below("/debug", r.entrance.access.Guard), below("/debug", r.people.Permit(route.Route{Role: route.Admin})), below("/admin", r.operator.Warn))
	route.Mount(e, slices.Concat(r.operator.Routes(), r.limits.Routes(), r.people.Routes()), r.people.Permit)
	e.Match(reading, "/openapi.yaml", openapi.Serve(openapi.Operators))
	e.GET("/", echo.WrapHandler(r.console))
	e.GET("/favicon.ico", echo.WrapHandler(r.console))
	e.Any("/console", echo.WrapHandler(r.console))
	e.Any("/console/*", echo.WrapHandler(r.console))
	e.GET("/metrics", echo.WrapHandler(r.metrics()), r.entrance.toMetrics()...)
	e.GET("/debug/pprof/*", wrap(pprof.Index))
	e.GET("/debug/pprof/cmdline", wrap(pprof.Cmdline))
	e.GET("/debug/pprof/profile", wrap(pprof.Profile))
	e.GET("/debug/pprof/trace", wrap(pprof.Trace))
	e.Match([]string{http.MethodGet, http.MethodPost}, "/debug/pprof/symbol", wrap(pprof.Symbol))
	return e
}

// limitChecks are the routes of the limits' listener. Gateways ask with the method of
// their client's request, which can be any word: a route that is not found is one
// with another method.
func (r rooms) limitChecks() http.Handler {
	e := r.newEcho()
	route.Mount(e, r.checks.Routes(nil))
	e.Match(reading, "/healthz", alive)
	e.Match(reading, "/readyz", r.standing)
	e.Match(reading, "/openapi.yaml", openapi.Serve(openapi.Limits))
	return e
}

// siteGate are the routes of the site's listener. Gateways ask with any method there, too. Where secrets differ, those
// inside would seem to have no session.
func (r rooms) siteGate() http.Handler {
	e := r.newEcho()
	e.POST("/site/:zoneId/done", r.site.Done, r.requireSharedSecret)
	e.POST("/site/:zoneId/here", r.site.Here, r.requireSharedSecret)
	for _, path := range []string{"/site/:zoneId", "/site/:zoneId/*"} {
		e.Match(reading, path, r.site.Ask, r.requireSharedSecret)
		e.RouteNotFound(path, r.site.Ask, r.requireSharedSecret)
	}
	e.Match(reading, "/healthz", alive)
	e.Match(reading, "/readyz", r.standing, r.requireSharedSecret)
	e.Match(reading, "/openapi.yaml", openapi.Serve(openapi.Site))
	return e
}

// toMetrics is what stands before /metrics.
func (e *entrance) toMetrics() []echo.MiddlewareFunc {
	if e.scrapers == nil {
		return nil
	}
	return []echo.MiddlewareFunc{e.scrapers.Guard}
}

// below puts a guard before all routes that begin with prefix, and before the refusals there: 404 for an unknown path, and 405
// for a method that the path does not take. A guard of echo's group would turn each 405 into a 404.
func below(prefix string, guard echo.MiddlewareFunc) echo.MiddlewareFunc {
	within := func(path string) bool { return path == prefix || strings.HasPrefix(path, prefix+"/") }
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		guarded := guard(next)
		return func(c echo.Context) error {
			// The route's own path, whatever the request's looks like, and the
			// request's where there is no route.
			if within(c.Path()) || within(c.Request().URL.Path) {
				return guarded(c)
			}
			return next(c)
		}
	}
}

func (r rooms) newEcho() *echo.Echo {
	e := echo.New()
	e.HTTPErrorHandler = problem.Handler(r.log, r.meter)
	e.IPExtractor = r.clientIP
	e.Use(recovered)
	return e
}

// recovered turns a panic into an error, which the problem handler answers and
// logs once, as everything that it does not know.
func recovered(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			switch r := recover(); r {
			case nil:
			case http.ErrAbortHandler: // how a handler hangs up
				panic(r)
			default:
				err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
			}
		}()
		return next(c)
	}
}

// alive is GET /healthz: the process runs. It asks nothing of anybody, so that
// a store that is away does not get the servers restarted.
func alive(c echo.Context) error { return c.String(http.StatusOK, "ok\n") }

// ready is GET /readyz: send traffic here. It says so while the store is away, too, once that has answered this server.
func (r rooms) ready(c echo.Context) error {
	away, err := r.health.ready(c.Request().Context())
	switch {
	case errors.Is(err, errDraining):
		return echo.ErrServiceUnavailable
	case err != nil:
		return fmt.Errorf("not ready: %w", err)
	case away != nil:
		return c.String(http.StatusOK, "ready, without the store\n")
	}
	return c.String(http.StatusOK, "ready\n")
}

// standing is GET /readyz of the limits' and the site's listeners: they answer without the store, too.
func (r rooms) standing(c echo.Context) error {
	if r.health.draining.Load() {
		return echo.ErrServiceUnavailable
	}
	return c.String(http.StatusOK, "ready\n")
}

func (r rooms) metrics() http.Handler {
	return promhttp.HandlerFor(r.registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(r.log.Handler(), slog.LevelError),
		// One collector that fails must not blind the operator to the rest.
		ErrorHandling:     promhttp.ContinueOnError,
		EnableOpenMetrics: true,
	})
}

func wrap(h http.HandlerFunc) echo.HandlerFunc { return echo.WrapHandler(h) }
