package site_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// silent is a client that takes no notes.
type silent struct{ header http.Header }

func (s silent) Header() http.Header         { return s.header }
func (s silent) Write(b []byte) (int, error) { return len(b), nil }
func (s silent) WriteHeader(int)             {}

// BenchmarkSession measures a request of a visitor inside, without the listener's own part. Compare
// it with BenchmarkBareEcho.
func BenchmarkSession(b *testing.B) {
	r := newRoom(b, 600)
	req := httptest.NewRequest(http.MethodGet, "/site/SHOP", http.NoBody)
	req.Header.Set("X-Original-Uri", "/cart?item=7")
	req.Header.Set("X-Original-Proto", "https")
	req.Header.Set("Cookie", "theme=dark; __Host-waitingroom-SHOP="+r.session(zoneID, time.Hour)+"; basket=4711")
	w := silent{http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		clear(w.header)
		r.bare.ServeHTTP(w, req)
	}
	if r.counted("session") == 0 {
		b.Error("the session was not good")
	}
}
