package openapi

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// Serve answers GET and HEAD /openapi.yaml. Clients may keep the document for five minutes.
func (d Document) Serve(c echo.Context) error {
	c.Response().Header().Set(echo.HeaderCacheControl, "public, max-age=300")
	return c.Blob(http.StatusOK, "application/yaml", d) // the media type of RFC 9512
}
