package site_test

import (
	"log/slog"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/serve/problem"
	"github.com/openqueue/waitingroom/internal/site"
)

// server is another gate over the same store, with nothing else in common.
func (r *room) server(roomURL string) http.Handler {
	h := site.New(site.Dependencies{
		Room: r.wait, Zones: r, Keys: r.keys, Passes: r.passes, Spends: r, Meter: r, RoomURL: roomURL, Now: r.clock,
	})
	e := echo.New()
	e.HTTPErrorHandler = problem.Handler(slog.New(slog.DiscardHandler), r)
	e.IPExtractor = echo.ExtractIPFromXFFHeader()
	for _, path := range []string{"/site/:zoneId", "/site/:zoneId/*"} {
		e.Match([]string{http.MethodGet, http.MethodHead}, path, h.Ask)
		e.RouteNotFound(path, h.Ask)
	}
	return e
}
