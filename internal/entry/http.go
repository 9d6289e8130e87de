package entry

import (
	"fmt"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/pass"
	"github.com/openqueue/waitingroom/internal/zones"
)

// keysCaching lets a protected service keep the keys for five minutes. So a new key has to be published that long before
// it signs.
const keysCaching = "public, max-age=300"

// revokedCaching lets caches keep a list of what was revoked for pass.RevokedCached.
const revokedCaching = "public, max-age=5"

// keysType is the media type of a JWK set (RFC 7517, section 8.5.2).
const keysType = "application/jwk-set+json"

// HTTP is the room's side of the public listener.
type HTTP struct {
	service *Service
	zones   *zones.Zones
	passes  *pass.Signer
}

// NewHTTP returns the handlers of the room. passes has the keys that passes verify with.
func NewHTTP(s *Service, zones *zones.Zones, passes *pass.Signer) *HTTP {
	return &HTTP{service: s, zones: zones, passes: passes}
}

// Poll is POST /traffic/entry. The token is verified before the zone is looked up: an invented zone costs the store nothing.
func (h *HTTP) Poll(c echo.Context) error {
	var zoneID, tok string
	if err := answer.Receive(c,
		answer.Field{Name: "zoneId", Value: &zoneID},
		answer.Field{Name: "token", Value: &tok},
	); err != nil {
		return err
	}
	held, err := h.service.Verify(zoneID, tok)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	z, err := h.zones.Find(ctx, zoneID)
	if err != nil {
		h.service.Meter.Poll(zoneID, answer.Outcome(nil, err))
		return answer.InZone(zoneID, fmt.Errorf("entry: poll: %w", err))
	}
	a, err := h.service.Poll(ctx, z, held, c)
	if err != nil {
		return err
	}
	return answer.Send(c, &a)
}

// Keys is GET /.well-known/jwks.json.
func (h *HTTP) Keys(c echo.Context) error {
	c.Response().Header().Set(echo.HeaderCacheControl, keysCaching)
	return c.Blob(http.StatusOK, keysType, h.passes.JWKS())
}

// Revoked is GET /.well-known/revoked?zone=SHOP.
func (h *HTTP) Revoked(c echo.Context) error {
	z := h.zones.Known(c.QueryParam("zone"))
	if z == nil {
		return line.ErrZoneUnknown
	}
	list, err := h.passes.Revoked(*z.Settings(), time.Now())
	if err != nil {
		return fmt.Errorf("entry: %w", err)
	}
	c.Response().Header().Set(echo.HeaderCacheControl, revokedCaching)
	return c.Blob(http.StatusOK, "application/jwt", []byte(list))
}

// Discovery is GET /.well-known/openid-configuration.
func (h *HTTP) Discovery(c echo.Context) error {
	document, ok := h.passes.Discovery()
	if !ok {
		return echo.ErrNotFound
	}
	c.Response().Header().Set(echo.HeaderCacheControl, keysCaching)
	return c.JSONBlob(http.StatusOK, document)
}
