package schedule

import (
	"bytes"
	"mime"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// caching lets caches hold a draw for a second, and its list for an hour: that does not change.
const (
	drawCaching = "public, max-age=1"
	listCaching = "public, max-age=3600"
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

// List is GET /traffic/zones/:zoneId/events/:event/draw/list. A range of it may be asked for.
func (h *HTTP) List(c echo.Context) error {
	d, tickets, err := h.schedule.List(c.Request().Context(), c.Param("zoneId"), c.Param("event"))
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderCacheControl, listCaching)
	d.ServeList(c.Response(), c.Request(), tickets)
	return nil
}

// ServeList answers a request for the list, or for a range of it.
func (d *Draw) ServeList(w http.ResponseWriter, r *http.Request, tickets []byte) {
	w.Header().Set("Content-Type", echo.MIMEOctetStream)
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": d.ZoneID + "-" + d.Event + ".list"}))
	w.Header().Set("ETag", `"`+d.ListHash+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(tickets))
}
