package site_test

import (
	"log/slog"
	"net/http"
	"net/netip"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/limits/address"
	"github.com/openqueue/waitingroom/internal/problem"
	"github.com/openqueue/waitingroom/internal/site"
	"github.com/openqueue/waitingroom/internal/wait"
)

// proxies have the address from which httptest's requests come.
var proxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")}

// refuse answers with the problem of an error.
func (r *room) refuse(w http.ResponseWriter, q *http.Request, _ string, err error) {
	problem.Handler(slog.New(slog.DiscardHandler), r.Meter)(err, echo.New().NewContext(q, w))
}

// server is another gate over the same store, with nothing else in common.
func (r *room) server(roomURL string) http.Handler {
	h := site.New(site.Dependencies{
		Observed: &r.observed,
		Room:     r.Wait, Zones: r.Zones, Guard: r.Guard, Keys: r.Tokens, Passes: r.Passes, Meter: r, RoomURL: roomURL, Now: r.Now,
		Proxies: proxies,
	})
	r.gate = h
	e := echo.New()
	e.HTTPErrorHandler = problem.Handler(slog.New(slog.DiscardHandler), r.Meter)
	e.IPExtractor = address.Finder(proxies)
	e.POST("/traffic/session", h.Session)
	e.POST("/traffic/session/end", h.EndSession)
	e.GET("/traffic/zones/:zoneId", wait.NewHTTP(r.Wait, r.Zones).State)
	e.POST("/site/:zoneId/done", h.Done)
	e.POST("/site/:zoneId/here", h.Here)
	for _, path := range []string{"/site/:zoneId", "/site/:zoneId/*"} {
		e.Match([]string{http.MethodGet, http.MethodHead}, path, h.Ask)
		e.RouteNotFound(path, h.Ask)
	}
	return e
}
