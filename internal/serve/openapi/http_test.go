package openapi_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/openqueue/waitingroom/internal/check/openapitest"
	"github.com/openqueue/waitingroom/internal/serve/openapi"
)

// listeners are handlers that serve the documents, with every answer checked.
func listeners(t *testing.T) map[string]http.Handler {
	t.Helper()
	all := make(map[string]http.Handler)
	for name, served := range map[string]struct {
		document *openapi.Document
		check    *openapitest.Document
	}{
		"public": {openapi.Public, openapitest.Public}, "operators": {openapi.Operators, openapitest.Operators},
		"limits": {openapi.Limits, openapitest.Limits}, "site": {openapi.Site, openapitest.Site},
	} {
		e := echo.New()
		for path, h := range map[string]echo.HandlerFunc{
			"/openapi.yaml": served.document.ServeYAML, "/openapi.json": served.document.ServeJSON,
		} {
			e.Match([]string{http.MethodGet, http.MethodHead}, path, h)
		}
		all[name] = served.check.Handler(t, e)
	}
	return all
}

func get(h http.Handler, method, path, ifNoneMatch string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(method, path, http.NoBody)
	if ifNoneMatch != "" {
		req.Header.Set("If-None-Match", ifNoneMatch)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w
}

func TestServe(t *testing.T) {
	t.Parallel()
	etags := map[string]string{}
	for name, h := range listeners(t) {
		for path, mediaType := range map[string]string{
			"/openapi.yaml": "application/yaml", "/openapi.json": "application/json",
		} {
			w := get(h, http.MethodGet, path, "")
			if w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), mediaType) || w.Body.Len() < 10_000 {
				t.Errorf("%s%s: got %d %v, %d bytes", name, path, w.Code, w.Header(), w.Body.Len())
			}
			etag := w.Header().Get("ETag")
			if other, taken := etags[etag]; taken {
				t.Errorf("%s%s has the ETag of %s", name, path, other)
			}
			etags[etag] = name + path
			for ifNoneMatch, want := range map[string]int{
				"": 200, `"other"`: 200, strings.Trim(etag, `"`): 200,
				etag: 304, "W/" + etag: 304, `"other", ` + etag: 304, "*": 304,
			} {
				for _, method := range []string{http.MethodGet, http.MethodHead} {
					w := get(h, method, path, ifNoneMatch)
					if w.Code != want || w.Header().Get("ETag") != etag || w.Header().Get("Cache-Control") != "public, max-age=300" {
						t.Errorf("%s %s%s, If-None-Match %s: got %d %v", method, name, path, ifNoneMatch, w.Code, w.Header())
					}
				}
			}
		}
	}
}

// The documents are served as they are written, and the public one tells nothing of
// the operators' routes.
func TestServeToThePublic(t *testing.T) {
	t.Parallel()
	all := listeners(t)
	for name, document := range documents {
		if w := get(all[name], http.MethodGet, "/openapi.yaml", ""); !bytes.Equal(w.Body.Bytes(), document.YAML()) {
			t.Errorf("%s: what is served is not what was written", name)
		}
	}
	for _, path := range []string{"/openapi.yaml", "/openapi.json"} {
		text := strings.ToLower(get(all["public"], http.MethodGet, path, "").Body.String())
		for _, word := range []string{"/admin", "/metrics", "/debug", "/console", "8081", "bearerformat", "unauthorized"} {
			if strings.Contains(text, word) {
				t.Errorf("%s tells the public of %q", path, word)
			}
		}
	}
}
