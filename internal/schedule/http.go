package schedule

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// caching lets caches hold a draw for a second, a part of its list for an hour: that does not
// change.
const (
	drawCaching = "public, max-age=1"
	partCaching = "public, max-age=3600"
)

// HTTP is the schedule's side of the public listener.
type HTTP struct{ schedule *Schedule }

// NewHTTP returns the handlers.
func NewHTTP(s *Schedule) *HTTP { return &HTTP{schedule: s} }

// Draw is GET /traffic/zones/:zoneId/events/:event/draw.
func (h *HTTP) Draw(c echo.Context) error {
	d, err := h.schedule.Draw(c.Request().Context(), c.Param("zoneId"), c.Param("event"))
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderCacheControl, drawCaching)
	return c.JSON(http.StatusOK, d)
}

// Part is GET /traffic/zones/:zoneId/events/:event/draw/tickets/:part.
func (h *HTTP) Part(c echo.Context) error {
	p, err := h.schedule.Part(c.Request().Context(), c.Param("zoneId"), c.Param("event"), c.Param("part"))
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderCacheControl, partCaching)
	return c.JSON(http.StatusOK, p)
}
