package site_test

import (
	"crypto/tls"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	fixture "github.com/openqueue/waitingroom/internal/check/room"
	"github.com/openqueue/waitingroom/internal/gateway"
)

// front sends a visitor's request through the gateway in the box, with headers that would have a gate which believes them let it through,
// and returns what the visitor gets. The site must see the request if it goes on, as it was sent, and only then.
func (r *room) front(method, uri string, header []string) *httptest.ResponseRecorder {
	r.t.Helper()
	var seen []*http.Request
	shop := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) { seen = append(seen, q) }))
	defer shop.Close()
	log := slog.New(slog.DiscardHandler)
	g, err := gateway.New(gateway.Options{
		Sites: []gateway.Site{{Zone: zoneID, Upstream: shop.URL}}, Gate: r.gate, Room: http.NotFoundHandler(), Meter: answers{}, Logger: log,
		AnswerTimeout: time.Minute, StallTimeout: time.Minute,
		Refuse: r.refuse,
	})
	fixture.Must(r.t, err)
	req := httptest.NewRequest(method, uri, http.NoBody)
	req.Host, req.RemoteAddr = "shop.example", "203.0.113.9:1234"
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	if req.Header.Get("X-Forwarded-Proto") == "https" {
		req.TLS = &tls.ConnectionState{}
	}
	for _, name := range []string{"X-Original-URI", "X-Original-URL", "X-Forwarded-Uri", "X_Forwarded_Uri"} {
		req.Header[http.CanonicalHeaderKey(name)] = []string{"/assets/forged"}
	}
	req.Header.Set("X-Forwarded-Method", http.MethodOptions)
	req.Header.Set("X-Forwarded-For", "192.0.2.1")
	w := httptest.NewRecorder()
	g.ServeHTTP(w, req)
	if (w.Code == http.StatusOK) != (len(seen) == 1) {
		r.t.Errorf("the visitor gets %d, and the site sees %d requests", w.Code, len(seen))
	}
	for _, q := range seen {
		cookies := q.Header.Get("Cookie")
		if q.Method != method || q.URL.RequestURI() != req.URL.RequestURI() || q.Host != "shop.example" || strings.Contains(cookies, "waitingroom") ||
			q.Header.Get("X-Forwarded-For") != "203.0.113.9" || slices.ContainsFunc([]string{"X-Original-Uri", "X-Original-Url", "X-Forwarded-Uri", "X_forwarded_uri",
			"X-Forwarded-Method", "X-Waiting-Room-Pass", "X-Waiting-Room-Session"}, func(name string) bool { return q.Header[name] != nil }) {
			r.t.Errorf("the site sees %s %s of %s: %v", q.Method, q.URL, q.Host, q.Header)
		}
	}
	w.Header().Del("Date")
	return w
}

// answers is a meter that counts nothing.
type answers struct{}

func (answers) SiteAnswer(string, string, time.Duration) {}
