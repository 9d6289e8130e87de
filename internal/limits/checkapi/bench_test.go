package checkapi_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// silent is a client that takes no notes.
type silent struct{ header http.Header }

func (s silent) Header() http.Header         { return s.header }
func (s silent) Write(b []byte) (int, error) { return len(b), nil }
func (s silent) WriteHeader(int)             {}

// BenchmarkRefusedFromMemory measures a request of a flood, without the listener's own part.
// Compare it with BenchmarkBareEcho.
func BenchmarkRefusedFromMemory(b *testing.B) {
	r, err := makeRoom(keyFile(b))
	must(b, err)
	defer r.close()
	for name, ask := range map[string]func() *http.Request{
		"auth": func() *http.Request {
			req := httptest.NewRequest(http.MethodGet, "/limits/api/auth", http.NoBody)
			req.Header.Set("X-Forwarded-For", "203.0.113.9")
			return req
		},
		"check": func() *http.Request {
			return httptest.NewRequest(http.MethodPost, "/limits/api/check", strings.NewReader(`{"key":"ip:203.0.113.9"}`))
		},
	} {
		b.Run(name, func(b *testing.B) {
			for range 6 {
				r.bare.ServeHTTP(httptest.NewRecorder(), ask())
			}
			w, req := silent{http.Header{}}, ask()
			again := ask().Body
			text, err := io.ReadAll(again)
			must(b, err)
			body := bytes.NewReader(text)
			b.ReportAllocs()
			for b.Loop() {
				clear(w.header)
				body.Reset(text)
				req.Body = io.NopCloser(body)
				r.bare.ServeHTTP(w, req)
			}
		})
	}
}
