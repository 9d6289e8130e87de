package wait

import (
	"fmt"
	"net/http"
	"net/netip"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/serve"
	"github.com/openqueue/waitingroom/internal/zones"
)

// stateCaching lets caches hold a zone's state for StateMaxAge.
const stateCaching = "public, max-age=1"

// HTTP is the room's side of the public listener.
type HTTP struct {
	service *Service
	zones   *zones.Zones
}

// NewHTTP returns the handlers of the room.
func NewHTTP(s *Service, zones *zones.Zones) *HTTP { return &HTTP{s, zones} }

// Join is POST /traffic/wait.
func (h *HTTP) Join(c echo.Context) error {
	var n Newcomer
	var zoneID, clientIP string
	if err := answer.Receive(c,
		answer.Field{Name: "zoneId", Value: &zoneID},
		answer.Field{Name: "clientId", Value: &n.ClientID},
		answer.Field{Name: "clientIp", Value: &clientIP},
		answer.Field{Name: "clientAgent", Value: &n.ClientAgent},
		answer.Field{Name: "ticket", Value: &n.Ticket},
		answer.Field{Name: "challenge", Value: &n.Challenge},
	); err != nil {
		return err
	}
	if err := answer.CheckZoneID(zoneID); err != nil {
		return err
	}
	if clientIP != "" {
		var err error
		if n.ClientIP, err = netip.ParseAddr(clientIP); err != nil {
			return &serve.FieldError{Field: "clientIp", Reason: "must be an IPv4 or IPv6 address"}
		}
	}
	ctx := c.Request().Context()
	z, err := h.zones.Find(ctx, zoneID)
	if err != nil {
		h.service.Meter.Join(zoneID, answer.Outcome(nil, err))
		return answer.InZone(zoneID, fmt.Errorf("wait: join: %w", err))
	}
	a, err := h.service.Join(ctx, z, n.From(c.RealIP(), c.Request().Header))
	if err != nil {
		return err
	}
	return answer.Send(c, &a)
}

// From adds what the request shows: the address that it came from, and whether its header says that it was forwarded.
// Every join goes through here: that of the API, of the waiting page and of the gate.
func (n Newcomer) From(address string, h http.Header) Newcomer {
	if from, err := netip.ParseAddr(address); err == nil {
		n.Address = from
	}
	n.Forwarded = len(h[echo.HeaderXForwardedFor]) > 0 || len(h["Forwarded"]) > 0 || len(h[echo.HeaderXRealIP]) > 0
	return n
}

// Leave is POST /traffic/leave.
func (h *HTTP) Leave(c echo.Context) error {
	var zoneID, tok string
	if err := answer.Receive(c,
		answer.Field{Name: "zoneId", Value: &zoneID},
		answer.Field{Name: "token", Value: &tok},
	); err != nil {
		return err
	}
	held, err := h.service.Issuer.Verify(zoneID, tok)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	z, err := h.zones.Find(ctx, zoneID)
	if err != nil {
		return answer.InZone(zoneID, fmt.Errorf("wait: leave: %w", err))
	}
	if err := h.service.Leave(ctx, z, held); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// State is GET /traffic/zones/:zoneId.
func (h *HTTP) State(c echo.Context) error {
	ctx, zoneID := c.Request().Context(), c.Param("zoneId")
	if err := answer.CheckZoneID(zoneID); err != nil {
		return err
	}
	z, err := h.zones.Find(ctx, zoneID)
	if err != nil {
		return answer.InZone(zoneID, fmt.Errorf("wait: state: %w", err))
	}
	state, err := h.service.State(ctx, z)
	if err != nil {
		return err
	}
	header := c.Response().Header()
	header.Set(echo.HeaderCacheControl, stateCaching)
	state, alike := state.in(c.Request().Header.Get("Accept-Language"))
	if !alike {
		header.Add(echo.HeaderVary, "Accept-Language")
	}
	return c.JSON(http.StatusOK, state)
}
