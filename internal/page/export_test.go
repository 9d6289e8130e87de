package page

import (
	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/zones"
)

// Shown answers with the page of a visitor who got that answer. was is the range that the visitor sees.
func (h *HTTP) Shown(c echo.Context, z *zones.Zone, a *answer.Answer, was string) error {
	return h.show(c, h.view(c, z, a, nil, was))
}
