package entry

import (
	"fmt"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/pass"
	"github.com/openqueue/waitingroom/internal/zone"
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
	passes  *pass.Signer
	// settings returns those of a zone, nil if there is none.
	settings func(zoneID string) *zone.Settings
}

// NewHTTP returns the handlers of the room. passes has the keys that passes verify with, settings what is known of a zone; nil for
// one that there is not.
func NewHTTP(s *Service, passes *pass.Signer, settings func(zoneID string) *zone.Settings) *HTTP {
	return &HTTP{service: s, passes: passes, settings: settings}
}

// Poll is POST /traffic/entry.
func (h *HTTP) Poll(c echo.Context) error {
	var zoneID, tok string
	if err := answer.Receive(c,
		answer.Field{Name: "zoneId", Value: &zoneID},
		answer.Field{Name: "token", Value: &tok},
	); err != nil {
		return err
	}
	a, err := h.service.Poll(c.Request().Context(), zoneID, tok, c)
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
	z := h.settings(c.QueryParam("zone"))
	if z == nil {
		return line.ErrZoneUnknown
	}
	list, err := h.passes.Revoked(*z, time.Now())
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
