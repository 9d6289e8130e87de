package wait

import (
	"fmt"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/line"
)

// keysCaching lets a protected service keep the keys for five minutes. So a new key has to be published that long before
// it signs.
const keysCaching = "public, max-age=300"

// revokedCaching lets caches keep a list of what was revoked for pass.RevokedCached.
const revokedCaching = "public, max-age=5"

// keysType is the media type of a JWK set (RFC 7517, section 8.5.2).
const keysType = "application/jwk-set+json"

// Keys is GET /.well-known/jwks.json.
func (h *HTTP) Keys(c echo.Context) error {
	c.Response().Header().Set(echo.HeaderCacheControl, keysCaching)
	return c.Blob(http.StatusOK, keysType, h.passes.JWKS())
}

// Revoked is GET /.well-known/revoked?zone=SHOP.
func (h *HTTP) Revoked(c echo.Context) error {
	z := h.service.issuer.Zone(c.QueryParam("zone"))
	if z == nil {
		return line.ErrZoneUnknown
	}
	list, err := h.passes.Revoked(*z, time.Now())
	if err != nil {
		return fmt.Errorf("wait: %w", err)
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
