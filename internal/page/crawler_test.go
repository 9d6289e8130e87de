package page_test

import (
	"net/http"
	"testing"
)

// TestFetchedInAdvance: a browser that guesses where its visitor goes next takes no place, nor does a crawler, which is told when
// to come again.
func TestFetchedInAdvance(t *testing.T) {
	t.Parallel()
	r := newServer(t, 10)
	const crawler = "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)"
	for value, name := range map[string]string{
		"prefetch;prerender": "Sec-Purpose", "prefetch": "Purpose", "preview": "X-Purpose", "image": "Sec-Fetch-Dest", crawler: "User-Agent", "WhatsApp/2.23.20.0 A": "User-Agent",
	} {
		b := r.browser()
		b.header.Set(name, value)
		w := b.get("")
		if again := w.Header().Get("Retry-After"); (again != "") != (name == "User-Agent") || w.Header().Get("X-Robots-Tag") != "" {
			t.Errorf("%s: %v", value, w.Header())
		}
		if w.Code != http.StatusServiceUnavailable || len(w.Result().Cookies()) > 0 {
			t.Errorf("%s: status %d, cookies %v", value, w.Code, w.Result().Cookies())
		} else if caching := w.Header().Get("Cache-Control"); caching != "no-store" { // a CDN would answer visitors with it
			t.Errorf("%s: Cache-Control %q", value, caching)
		}
	}
	fetched := r.browser()
	fetched.header.Set("Sec-Fetch-Dest", "empty")
	fetched.header.Set("Sec-Fetch-Mode", "cors")
	shows(t, fetched.get(""), http.StatusServiceUnavailable)
	if s, err := r.Store.Observe(t.Context(), zoneID, 0); err != nil || s.Totals.Joined != 0 {
		t.Errorf("%d joined, %v", s.Totals.Joined, err)
	}
	fetched.header.Set("Sec-Fetch-Mode", "navigate") // by a service worker, for one who opens the page
	shows(t, fetched.get("?to=/x"), http.StatusSeeOther)
}
