package openapi

import (
	_ "embed" // the documents
	"net/http"

	"github.com/labstack/echo/v4"
)

// Document describes one listener, in YAML. It must not be changed.
type Document []byte

// The documents of the four listeners.
var (
	//go:embed public/openapi.yaml
	Public Document
	//go:embed operators/openapi.yaml
	Operators Document
	//go:embed limits/openapi.yaml
	Limits Document
	//go:embed site/openapi.yaml
	Site Document
)

// Serve answers GET and HEAD /openapi.yaml. Clients may keep the document for five minutes.
func (d Document) Serve(c echo.Context) error {
	c.Response().Header().Set(echo.HeaderCacheControl, "public, max-age=300")
	return c.Blob(http.StatusOK, "application/yaml", d) // the media type of RFC 9512
}
