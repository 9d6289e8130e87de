package entry

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/answer"
	"github.com/openqueue/waitingroom/internal/pass"
)

// keysCaching lets a protected service keep the keys for five minutes. So a new key has to be published that long before
// it signs.
const keysCaching = "public, max-age=300"

// keysType is the media type of a JWK set (RFC 7517, section 8.5.2).
const keysType = "application/jwk-set+json"

// HTTP is the room's side of the public listener.
type HTTP struct {
	service *Service
	passes  *pass.Signer
}

// NewHTTP returns the handlers of the room. passes has the keys that passes verify with.
func NewHTTP(s *Service, passes *pass.Signer) *HTTP { return &HTTP{service: s, passes: passes} }

// Poll is POST /traffic/entry.
func (h *HTTP) Poll(c echo.Context) error {
	var zoneID, tok string
	if err := answer.Receive(c,
		answer.Field{Name: "zoneId", Value: &zoneID},
		answer.Field{Name: "token", Value: &tok},
	); err != nil {
		return err
	}
	a, err := h.service.Poll(c.Request().Context(), zoneID, tok)
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

// Discovery is GET /.well-known/openid-configuration.
func (h *HTTP) Discovery(c echo.Context) error {
	document, ok := h.passes.Discovery()
	if !ok {
		return echo.ErrNotFound
	}
	c.Response().Header().Set(echo.HeaderCacheControl, keysCaching)
	return c.JSONBlob(http.StatusOK, document)
}
