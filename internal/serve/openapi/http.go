package openapi

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
)

// The media types: that of RFC 9512, and JSON's.
const (
	yamlType = "application/yaml"
	jsonType = echo.MIMEApplicationJSON
)

// caching has clients ask again after five minutes, and be told that nothing
// changed: the document changes with the server's version only.
const caching = "public, max-age=300"

// ServeYAML is GET and HEAD /openapi.yaml.
func (d *Document) ServeYAML(c echo.Context) error { return send(c, d.yaml, yamlType) }

// ServeJSON is GET and HEAD /openapi.json.
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
	if names(c.Request().Header.Values("If-None-Match"), v.etag) {
		return c.NoContent(http.StatusNotModified)
	}
	return c.Blob(http.StatusOK, mediaType, v.body)
}

// names reports whether the lists of entity tags in If-None-Match have etag,
// by weak comparison (RFC 9110, section 13.1.2). No tag here has a comma.
func names(lists []string, etag string) bool {
	for _, list := range lists {
		for tag := range strings.SplitSeq(list, ",") {
			tag = strings.TrimSpace(tag)
			if tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
				return true
			}
		}
	}
	return false
}
