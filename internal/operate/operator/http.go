package operator

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/limits/policyset"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/zone"
)

// HTTP is the room's side of the operators' listener.
type HTTP struct {
	service *Service
	// policies may be nil.
	policies *policyset.Set
	notKept  func() error
}

// WarningHeader says, in an answer to a change that was made, that it may be lost and
// why: the code 199 of RFC 7234, section 5.5, the name "queue-server", and a sentence.
const WarningHeader = "Warning"

// warning is the value of a WarningHeader: ASCII, on one line.
func warning(why error) string {
	text := strings.Map(func(r rune) rune {
		switch {
		case r == '"' || r == '\\':
			return '\''
		case r == '\n':
			return ';'
		case r < ' ' || r > '~':
			return '?'
		}
		return r
	}, why.Error())
	return `199 queue-server "in force on this server, but not kept: ` + text + `"`
}

// dryRun is the key under which a request's context says that it changes nothing.
const dryRun = "dry run"

// Warn has the answer to a change that was made say if it is not kept. The change is in
// force: a pause must not wait for a disk that is full, or a store that is away. To be put
// on everything under /admin.
func (h *HTTP) Warn(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		switch c.Request().Method {
		case http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodPost:
			res := c.Response()
			res.Before(func() {
				if dry, _ := c.Get(dryRun).(bool); dry || res.Status >= http.StatusMultipleChoices {
					return
				}
				if why := h.notKept(); why != nil {
					res.Header().Set(WarningHeader, warning(why))
				}
			})
		}
		return next(c)
	}
}

// NewHTTP returns the handlers of the room. They belong behind Access.Guard. The
// record of changes shows those of policies, too, unless that is nil; and every answer
// to a change tells what notKept returns: why what is in force is lost with this
// server, or nil.
func NewHTTP(s *Service, policies *policyset.Set, notKept func() error) *HTTP {
	return &HTTP{service: s, policies: policies, notKept: notKept}
}

// Guard lets only those through who show a token, and no request that a browser
// makes for another site. To be put on everything under /admin.
func (a *Access) Guard(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if err := a.origins.Check(r); err != nil {
			return fmt.Errorf("%w: %w", ErrCrossOrigin, err)
		}
		scheme, shown, _ := strings.Cut(r.Header.Get(echo.HeaderAuthorization), " ")
		if !strings.EqualFold(scheme, "Bearer") || shown == "" {
			return ErrUnauthorized // no token is shown, so nobody guesses
		}
		if err := a.Check(r, shown, c.Path()); err != nil {
			return err
		}
		c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
		return next(c)
	}
}

// Guard lets no request through that is for another host.
func (h Hosts) Guard(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !h.own(c.Request().Host) {
			return ErrHost
		}
		return next(c)
	}
}

// List is GET /admin/zones.
func (h *HTTP) List(c echo.Context) error {
	zones, err := h.service.List(c.Request().Context())
	if zones == nil {
		zones = []zone.Settings{} // an empty list, not null
	}
	return send(c, map[string][]zone.Settings{"zones": zones}, err)
}

// Get is GET /admin/zones/:zoneId.
func (h *HTTP) Get(c echo.Context) error {
	settings, err := h.service.Get(c.Request().Context(), c.Param("zoneId"))
	return sendZone(c, http.StatusOK, settings, err)
}

// sendZone answers with settings, and with the version that they have, unless there
// was an error.
func sendZone(c echo.Context, status int, s zone.Settings, err error) error {
	if err != nil {
		return err
	}
	c.Response().Header().Set("ETag", Version(s))
	return c.JSON(status, s)
}

// send answers with v, unless there was an error.
func send(c echo.Context, v any, err error) error {
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, v)
}

// Put is PUT /admin/zones/:zoneId. 201 for a new zone, else 200.
func (h *HTTP) Put(c echo.Context) error {
	by, body, err := readChange(c)
	if err != nil {
		return err
	}
	settings, created, err := h.service.Put(c.Request().Context(), c.Param("zoneId"), body, by, serve.ConditionOf(c.Request().Header))
	status := http.StatusOK
	if created {
		status = http.StatusCreated
		c.Response().Header().Set(echo.HeaderLocation, "/admin/zones/"+settings.ZoneID)
	}
	return sendZone(c, status, settings, err)
}

// Patch is PATCH /admin/zones/:zoneId.
func (h *HTTP) Patch(c echo.Context) error {
	by, body, err := readChange(c)
	if err != nil {
		return err
	}
	settings, err := h.service.Patch(c.Request().Context(), c.Param("zoneId"), body, by, serve.ConditionOf(c.Request().Header))
	return sendZone(c, http.StatusOK, settings, err)
}

// readChange reads who makes a change, and what it is.
func readChange(c echo.Context) (by string, body []byte, err error) {
	if by, err = serve.ReadBy(c.Request()); err != nil {
		return "", nil, err
	}
	body, err = serve.ReadBody(c)
	return by, body, err
}

// Act is POST /admin/zones/:zoneId/events/:event/:do.
func (h *HTTP) Act(c echo.Context) error {
	by, body, err := readChange(c)
	if err != nil {
		return err
	}
	settings, err := h.service.Act(c.Request().Context(), c.Param("zoneId"), c.Param("event"), Verb(c.Param("do")), body, by)
	return sendZone(c, http.StatusOK, settings, err)
}

// Sessions is GET /admin/zones/:zoneId/inside?limit=100.
func (h *HTTP) Sessions(c echo.Context) error {
	sessions, err := h.service.Sessions(c.Request().Context(), c.Param("zoneId"), readLimit(c))
	return send(c, sessions, err)
}

// Networks is GET /admin/zones/:zoneId/networks?limit=100.
func (h *HTTP) Networks(c echo.Context) error {
	networks, err := h.service.Networks(c.Request().Context(), c.Param("zoneId"), readLimit(c))
	return send(c, networks, err)
}

// readLimit reads how many a list may have.
func readLimit(c echo.Context) int {
	most, err := strconv.Atoi(cmp.Or(c.QueryParam("limit"), "100"))
	if err != nil {
		return 0 // out of range, which the service refuses
	}
	return most
}

// ActInside is POST /admin/zones/:zoneId/inside/:do.
func (h *HTTP) ActInside(c echo.Context) error {
	by, body, err := readChange(c)
	if err != nil {
		return err
	}
	act := InsideAct{Do: InsideVerb(c.Param("do"))}
	if err := readFields(body, "a change of those inside", &act.Whom); err != nil {
		return err
	}
	c.Set(dryRun, act.DryRun)
	done, err := h.service.ActInside(c.Request().Context(), c.Param("zoneId"), act, by)
	return send(c, done, err)
}

// Delete is DELETE /admin/zones/:zoneId.
func (h *HTTP) Delete(c echo.Context) error {
	by, err := serve.ReadBy(c.Request())
	if err != nil {
		return err
	}
	if err := h.service.Delete(c.Request().Context(), c.Param("zoneId"), by, serve.ConditionOf(c.Request().Header)); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// Changes is GET /admin/audit.
func (h *HTTP) Changes(c echo.Context) error {
	all, err := h.changes(c.Request().Context(), c.QueryParam("zoneId"), c.QueryParam("policy"), readLimit(c))
	return send(c, all, err)
}

// Stats is GET /admin/zones/:zoneId/stats.
func (h *HTTP) Stats(c echo.Context) error {
	stats, err := h.service.Stats(c.Request().Context(), c.Param("zoneId"))
	return send(c, stats, err)
}

// History is GET /admin/zones/:zoneId/history?seconds=3600.
func (h *HTTP) History(c echo.Context) error {
	seconds, err := strconv.Atoi(cmp.Or(c.QueryParam("seconds"), strconv.Itoa(MaxHistorySeconds)))
	if err != nil {
		seconds = 0 // out of range, which the service refuses
	}
	history, err := h.service.History(c.Request().Context(), c.Param("zoneId"), seconds)
	return send(c, history, err)
}
