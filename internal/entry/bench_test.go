package entry_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// BenchmarkPoll measures a poll from the request to the embedded store and back.
func BenchmarkPoll(b *testing.B) {
	r := newServer(b)
	r.place(b)
	_, tok := r.place(b)
	body := fmt.Sprintf(`{"zoneId":%q,"token":%q}`, zoneID, tok)
	h := r.Echo
	in := strings.NewReader(body)
	req := httptest.NewRequest(http.MethodPost, "/traffic/entry", in)
	req.Header.Set("Content-Type", "application/json")
	w := &discard{header: make(http.Header)}
	b.ReportAllocs()
	for b.Loop() {
		in.Reset(body)
		req.Body = io.NopCloser(in)
		clear(w.header)
		w.status, w.bytes = 0, 0
		h.ServeHTTP(w, req)
		if w.status != http.StatusOK || w.bytes < 200 {
			b.Fatalf("answered %d with %d bytes", w.status, w.bytes)
		}
		r.Meter.Seen()
	}
}

// discard is a ResponseWriter that keeps the header only.
type discard struct {
	header        http.Header
	status, bytes int
}

func (d *discard) Header() http.Header    { return d.header }
func (d *discard) WriteHeader(status int) { d.status = status }
func (d *discard) Write(b []byte) (int, error) {
	d.bytes += len(b)
	return len(b), nil
}
