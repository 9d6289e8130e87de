package operator

import (
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/operate/people"
	"github.com/openqueue/waitingroom/internal/zone"
)

func (h *HTTP) audit(c echo.Context) error {
	zoneID := c.QueryParam("zoneId")
	who := people.Of(c.Request().Context())
	if zoneID != "" && !who.Sees(zoneID) {
		return people.ErrForbidden
	}
	all, err := h.changes(c.Request().Context(), zoneID, c.QueryParam("policy"), readNumber(c, "limit", 100))
	all.Zones = slices.DeleteFunc(all.Zones, func(c zone.Change) bool { return !who.Sees(c.ZoneID) })
	return send(c, all, err)
}

func (h *HTTP) verifyRecords(c echo.Context) error {
	all, err := h.verify(c.Request().Context(), c.QueryParam("record"))
	return send(c, all, err)
}

func (h *HTTP) exportRecord(c echo.Context) error {
	out, err := h.export(c.Request().Context(), c.QueryParam("record"))
	return send(c, out, err)
}
