package openapi

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// Serve returns the handler of GET and HEAD /openapi.yaml. Clients may keep the document for five minutes.
func Serve(document func() Document) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Response().Header().Set(echo.HeaderCacheControl, "public, max-age=300")
		return c.Blob(http.StatusOK, "application/yaml", document()) // the media type of RFC 9512
	}
}
