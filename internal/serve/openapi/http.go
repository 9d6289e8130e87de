package openapi

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/serve"
)

// The media types of YAML (RFC 9512) and JSON.
const (
	yamlType = "application/yaml"
	jsonType = echo.MIMEApplicationJSON
)

// caching lets clients keep a document for five minutes. They then ask again with its
// ETag, and it has not changed unless the server's version has.
const caching = "public, max-age=300"

// ServeYAML answers GET and HEAD /openapi.yaml.
func (d *Document) ServeYAML(c echo.Context) error { return send(c, d.yaml, yamlType) }

// ServeJSON answers GET and HEAD /openapi.json.
func (d *Document) ServeJSON(c echo.Context) error {
	v, err := d.json()
	if err != nil {
		return err
	}
	return send(c, v, jsonType)
}

func send(c echo.Context, v version, mediaType string) error {
	h := c.Response().Header()
	h.Set(echo.HeaderCacheControl, caching)
	h.Set("ETag", v.etag)
	if seen := serve.ConditionOf(c.Request().Header).IfNoneMatch; !(serve.Condition{IfNoneMatch: seen}).Allows(v.etag) {
		return c.NoContent(http.StatusNotModified)
	}
	return c.Blob(http.StatusOK, mediaType, v.body)
}
